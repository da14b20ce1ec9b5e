"""The service: how soon it is ready, against what importing Beam takes; one Expand, against one of Beam's own."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import grpc
from apache_beam.portability.api import beam_expansion_api_pb2_grpc, beam_runner_api_pb2
from apache_beam.transforms.fully_qualified_named_transform import FullyQualifiedNamedTransform
from apache_beam.utils.python_callable import PythonCallableWithSource

from scripts import servers
from scripts.layout import PYTHON
from scripts.members import MODELS
from tests.benchmarks.stock_service import running_stock_service
from tests.benchmarks.workload import BENCH
from tests.support import service
from tests.support.expansion_requests import like_java, schema

_IMPORT: Final = (
    "import apache_beam\n"
    "from apache_beam.ml.inference.base import RunInference\n"
    "print('imported', flush=True)"
)
_WARM_UP: Final = 5
_MEMBERS: Final = 18
_TWENTY: Final = BENCH / "twenty"
_LABELS: Final = [str(digit) for digit in range(10)]


@dataclasses.dataclass(frozen=True)
class Times:
    """Medians, in seconds.

    Attributes:
        ours: Of the service.
        beam: Of what it is compared with.
    """

    ours: float
    beam: float


def ready(rounds: int, progress: Callable[[str], None]) -> Times:
    """Times from the start of a process: until the service listens, and until Beam and RunInference are imported."""
    ours, beam = [], []
    for turn in range(rounds + 1):
        progress(f"{turn} of {rounds}" if turn else "warming up")
        beam.append(_seconds_until_line([str(PYTHON), "-c", _IMPORT]))
        start = time.perf_counter()
        with service.running_service("--serve-loopback-worker"):
            ours.append(time.perf_counter() - start)
    return Times(statistics.median(ours[1:]), statistics.median(beam[1:]))


def _seconds_until_line(command: list[str]) -> float:
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - start
    if not line:
        raise RuntimeError(f"{command[0]} printed nothing")
    return seconds


def expand(rounds: int, progress: Callable[[str], None]) -> Times:
    """Times Expand over gRPC: a file of twenty nodes here, a single RunInference in Beam's own service."""
    times: dict[str, list[float]] = {"ours": [], "beam": []}
    with serving_twenty_nodes() as ours, running_stock_service() as beam:
        calls = {"ours": (ours, of_twenty_nodes()), "beam": (beam, _run_inference())}
        with contextlib.ExitStack() as channels:
            stubs = {name: channels.enter_context(stub(address)) for name, (address, _) in calls.items()}
            for turn in range(_WARM_UP + rounds):
                progress(f"{turn} of {_WARM_UP + rounds}")
                for name, (_, request) in calls.items():
                    start = time.perf_counter()
                    response = stubs[name].Expand(request)
                    times[name].append(time.perf_counter() - start)
                    if response.error:
                        raise RuntimeError(f"{name}: {response.error}")
    return Times(*(statistics.median(times[name][_WARM_UP:]) for name in ("ours", "beam")))


@contextlib.contextmanager
def serving_twenty_nodes() -> Iterator[str]:
    """Gives the address of a service that may load what the file of twenty nodes names."""
    _TWENTY.mkdir(parents=True, exist_ok=True)  # a service trusts only folders that are there
    with servers.service(_TWENTY) as address:
        yield address


def of_twenty_nodes() -> Any:
    """Gives the request to expand a file of twenty nodes."""
    return like_java({"spec": _twenty_nodes(), "base_uri": str(_TWENTY)}, _images())


@contextlib.contextmanager
def stub(address: str) -> Iterator[Any]:
    """Connects to an expansion service."""
    with grpc.insecure_channel(address) as channel:
        yield beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)


def _images() -> Any:
    return schema("images", id="int64", pixels="array<double>[64]")


def _run_inference() -> Any:
    handler = PythonCallableWithSource("apache_beam.ml.inference.sklearn_inference.SklearnModelHandlerNumpy")
    arguments = {"model_handler_provider": handler, "model_uri": str(MODELS / "forest.joblib")}
    transform = FullyQualifiedNamedTransform(
        "apache_beam.ml.inference.base.RunInference.from_callable", (), arguments
    )
    urn, payload = transform.to_runner_api_parameter(None)
    request = like_java({"spec": ""}, _images())
    spec = beam_runner_api_pb2.FunctionSpec(urn=urn, payload=payload.SerializeToString())
    request.transform.spec.CopyFrom(spec)
    return request


def _twenty_nodes() -> str:
    """Gives a file of eighteen models of three kinds, each in a file of its own, and two votes on them."""
    _TWENTY.mkdir(parents=True, exist_ok=True)
    kinds: list[tuple[str, str, dict[str, Any], Any]] = [
        ("sklearn", "forest.joblib", {"method": "predict_proba", "inputs": ["pixels"]}, "array<double>[10]"),
        ("xgboost", "boost.json", {"inputs": ["pixels"]}, {}),
        ("onnx", "network.onnx", {"inputs": {"X": "pixels"}}, {"from": "probabilities"}),
    ]
    nodes: dict[str, Any] = {}
    for index in range(_MEMBERS):
        kind, file, options, type_ = kinds[index % len(kinds)]
        shutil.copyfile(MODELS / file, _TWENTY / f"{index}-{file}")
        nodes[f"m{index}"] = {
            "model": kind, "uri": f"{index}-{file}", **options, "outputs": {f"p{index}": type_}
        }  # fmt: skip
    votes = [f"p{index}" for index in range(_MEMBERS)]
    for name, members in (("half", votes[: _MEMBERS // 2]), ("all", votes)):
        outputs = {f"{name}_label": {"from": "label"}, f"{name}_confidence": {"from": "confidence"}}
        nodes[name] = {"combine": "soft_vote", "inputs": members, "labels": _LABELS, "outputs": outputs}
    return json.dumps({"ensemble": "twenty", "inputs": {"pixels": "array<double>[64]"}, "nodes": nodes})
