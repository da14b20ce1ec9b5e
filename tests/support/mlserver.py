"""A real MLServer with its scikit-learn runtime, in an environment of its own, on free ports."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import joblib

from beam_ensembles.handlers.open_inference.address import parse_address
from beam_ensembles.handlers.open_inference.failures import CallError
from beam_ensembles.handlers.open_inference.metadata import ask
from scripts.environments import locked_environment
from scripts.shell import log_path, stop, tail
from tests.support.patience import SECONDS, wait_until
from tests.support.ports import free_ports


def write_model(folder: Path, name: str, model: Any, **settings: Any) -> None:
    """Writes a model as MLServer wants it: a folder with the file and its settings.

    Args:
        folder: The folder of all models.
        name: The model's name.
        model: A scikit-learn model.
        settings: More of ``model-settings.json``, such as ``inputs`` and ``outputs``.
    """
    place = folder / name
    place.mkdir(parents=True)
    joblib.dump(model, place / "model.joblib")
    own = {
        "name": name,
        "implementation": "mlserver_sklearn.SKLearnModel",
        "parameters": {"uri": "./model.joblib"},
    }
    (place / "model-settings.json").write_text(json.dumps(own | settings), encoding="utf-8")


class MLServer:
    """One server, which may be killed and started again on the same ports.

    Args:
        folder: Its models, as ``write_model`` writes them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = locked_environment("mlserver") / "bin" / "mlserver"
        self._http, self._grpc, self._metrics = free_ports(3)
        self._process: subprocess.Popen[bytes] | None = None

    def uri(self, model: str) -> str:
        """Returns the address of a model."""
        return f"grpc://localhost:{self._grpc}/{model}"

    def start(self) -> None:
        """Starts it, and waits until all its models answer."""
        settings = {"host": "127.0.0.1", "debug": False, "parallel_workers": 0}
        ports = {"http_port": self._http, "grpc_port": self._grpc, "metrics_port": self._metrics}
        (self._folder / "settings.json").write_text(json.dumps(settings | ports), encoding="utf-8")
        log = log_path("mlserver")
        with log.open("ab") as out:
            process = self._process = subprocess.Popen(
                [self._program, "start", self._folder],
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                start_new_session=True,
            )
        wait_until(lambda: self._is_ready() or process.poll() is not None, lambda: tail(log))
        assert process.poll() is None, tail(log)

    def _is_ready(self) -> bool:
        models = [path.parent.name for path in self._folder.glob("*/model-settings.json")]
        try:
            for model in models:
                ask(parse_address(self.uri(model)), {}, 1.0)
        except CallError:
            return False
        return True

    def kill(self) -> None:
        """Ends it without a word to anybody."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Ends it, if it runs."""
        if self._process is not None:
            stop(self._process)

    def answered(self, model: str) -> int:
        """Returns how many calls of a model it has answered well since it was started."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics}/metrics", timeout=SECONDS) as page:
            text = page.read().decode()
        name = rf'^model_infer_request_success_total{{model="{model}",version=""}} (\S+)$'
        found = re.search(name, text, re.MULTILINE)
        return 0 if found is None else int(float(found[1]))


@contextlib.contextmanager
def running_mlserver(folder: Path, models: Mapping[str, tuple[Any, Mapping[str, Any]]]) -> Iterator[MLServer]:
    """Runs a server, and ends it.

    Args:
        folder: An empty folder.
        models: Each model by name, with its settings.
    """
    for name, (model, settings) in models.items():
        write_model(folder, name, model, **settings)
    server = MLServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.end()
