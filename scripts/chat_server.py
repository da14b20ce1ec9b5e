"""``python -m scripts.chat_server FOLDER``: serves a language model with OpenAI's interface, until Ctrl-C.

The server is ``transformers serve``. What it needs beside ``.venv`` is installed in a folder of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from scripts.environments import locked_packages
from scripts.layout import PYTHON
from scripts.processes import READY_SECONDS, free_ports, running
from scripts.shell import Command, CommandFailed, log_path, tail

HOST = "127.0.0.1"


@contextlib.contextmanager
def serving_chat(model: Path, port: int | None = None) -> Iterator[str]:
    """Serves a model on this machine, for as long as the block lasts. Calls name it by its folder's name.

    Args:
        model: The folder of the model and its tokenizer.
        port: The port; None: a free one.

    Yields:
        The base address, ``http://HOST:PORT/v1``.

    Raises:
        CommandFailed: it ended, or did not get ready in time.
    """
    if port is None:
        (port,) = free_ports(1)
    packages = os.pathsep.join(
        filter(None, [str(locked_packages("chat_server").resolve()), os.environ.get("PYTHONPATH")])
    )
    address = ["--host", HOST, "--port", str(port), "--device", "cpu"]
    command: Command = [PYTHON, "-m", "transformers.cli.transformers", "serve", model.name, *address]
    log = log_path("chat-server")
    env = {**os.environ, "PYTHONPATH": packages, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with running(command, log=log, env=env, cwd=model.resolve().parent) as server:
        deadline = time.monotonic() + READY_SECONDS
        while not _answers(port):
            if server.poll() is not None or time.monotonic() > deadline:
                raise CommandFailed(f"transformers serve is not ready; the end of its log:\n{tail(log)}")
            time.sleep(0.2)
        yield f"http://{HOST}:{port}/v1"


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/health", timeout=5):
            return True
    except OSError:
        return False


def main() -> None:
    """Serves until it is interrupted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the model's folder")
    parser.add_argument("--port", type=int, default=8000, help="(%(default)s)")
    flags = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the server ends with us
    with serving_chat(flags.folder, flags.port) as url, contextlib.suppress(KeyboardInterrupt):
        print(f"serving the model '{flags.folder.name}' at {url}", flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
