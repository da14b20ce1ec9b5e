"""The service: how soon it is ready, how long an Expand takes, and what it does under load."""

from __future__ import annotations

import contextlib
import json
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import grpc
from apache_beam.portability.api import beam_expansion_api_pb2_grpc, beam_runner_api_pb2
from apache_beam.transforms.fully_qualified_named_transform import FullyQualifiedNamedTransform
from apache_beam.utils.python_callable import PythonCallableWithSource

from beam_ensembles_service.callers.listeners import process_on
from scripts import servers
from scripts.layout import PYTHON
from scripts.members import MODELS
from tests.benchmarks.memory import resident
from tests.benchmarks.report import Line
from tests.benchmarks.stock_service import running_stock_service
from tests.benchmarks.workload import BENCH
from tests.support import service
from tests.support.expansion_requests import like_java, schema

Say = Callable[[str], None]

CALLS: Final = 200
"""Expands at one time."""
TOGETHER: Final = 4
"""Expands at one time while memory is looked at."""
READY_AT_MOST: Final = 1.5
"""Seconds more than importing Beam and RunInference."""
EXPAND_AT_MOST: Final = 1.5
"""Times Beam's own Expand of one RunInference."""
_IMPORT: Final = (
    "import apache_beam\n"
    "from apache_beam.ml.inference.base import RunInference\n"
    "print('imported', flush=True)"
)
_WARM_UP: Final = 5
_MEMBERS: Final = 18
_TWENTY: Final = BENCH / "twenty"


def measure(starts: int, expansions: int, say: Say) -> Iterator[Line]:
    """Measures the time until the service is ready, and that of one Expand."""
    ours, beam = _ready(starts, say)
    against = "importing Beam and RunInference"
    yield Line("-", "service", "ready", ours, "s", against, beam, more_at_most=READY_AT_MOST)
    ours, beam = _expand(expansions, say)
    against = "Beam's Expand of one RunInference"
    yield Line("twenty nodes", "service", "Expand", ours, "s", against, beam, at_most=EXPAND_AT_MOST)


def _ready(rounds: int, say: Say) -> tuple[float, float]:
    """Times from the start of a process: until the service listens, and until Beam and RunInference are imported."""
    ours, beam = [], []
    for turn in range(rounds + 1):
        say(f"{turn} of {rounds}" if turn else "warming up")
        start = time.perf_counter()
        with subprocess.Popen(
            [PYTHON, "-c", _IMPORT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise RuntimeError("Beam cannot be imported")
            beam.append(time.perf_counter() - start)
        start = time.perf_counter()
        with service.running_service("--serve-loopback-worker"):
            ours.append(time.perf_counter() - start)
    return statistics.median(ours[1:]), statistics.median(beam[1:])


def _expand(rounds: int, say: Say) -> tuple[float, float]:
    """Times Expand over gRPC: a file of twenty nodes here, a single RunInference in Beam's own service."""
    times: tuple[list[float], list[float]] = [], []
    with (
        _serving_twenty_nodes() as ours,
        running_stock_service() as beam,
        _stub(ours) as own,
        _stub(beam) as stock,
    ):
        calls = ((own, _twenty_nodes()), (stock, _run_inference()))
        for turn in range(_WARM_UP + rounds):
            say(f"{turn} of {_WARM_UP + rounds}")
            for (stub, request), seconds in zip(calls, times, strict=True):
                start = time.perf_counter()
                response = stub.Expand(request)
                seconds.append(time.perf_counter() - start)
                if response.error:
                    raise RuntimeError(response.error)
    return statistics.median(times[0][_WARM_UP:]), statistics.median(times[1][_WARM_UP:])


def measure_load(expansions: int, say: Say) -> Iterator[Line]:
    """Measures two hundred Expands at one time, and the service's memory after thousands of them."""
    request = _twenty_nodes()
    with _serving_twenty_nodes() as address, _stub(address) as stub:
        process = process_on(address)
        if process is None:
            raise RuntimeError(f"nobody listens on {address}")
        say(f"{CALLS} Expands at one time")
        start = time.perf_counter()
        answered = _call(stub, request, CALLS, CALLS)
        seconds = time.perf_counter() - start
        memory, done = {}, CALLS
        for part in range(1, 11):
            wanted = max(part * expansions // 10, done)
            say(f"{wanted} of {expansions} Expands")
            _call(stub, request, wanted - done, TOGETHER)
            done = wanted
            memory[done] = resident(process, "VmRSS")
    (first, before), *_, (last, after) = memory.items()
    together = f"{CALLS} Expands at one time"
    yield Line(
        "twenty nodes", "service", f"{together}, answered", answered, "calls", "all", CALLS, at_least=1.0
    )
    yield Line("twenty nodes", "service", together, seconds, "s")
    what, against = f"memory after {last:,} Expands", f"memory after {first:,} Expands"
    yield Line("twenty nodes", "service", what, after, "bytes", against, before)


def _call(stub: Any, request: Any, calls: int, together: int) -> int:
    """Creates calls, some at one time; returns how many were answered without an error."""
    with ThreadPoolExecutor(together) as threads:
        return sum(threads.map(lambda _: not stub.Expand(request).error, range(calls)))


@contextlib.contextmanager
def _serving_twenty_nodes() -> Iterator[str]:
    _TWENTY.mkdir(parents=True, exist_ok=True)  # a service trusts only folders that are there
    with servers.service(_TWENTY) as address:
        yield address


@contextlib.contextmanager
def _stub(address: str) -> Iterator[Any]:
    with grpc.insecure_channel(address) as channel:
        yield beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)


def _request(config: dict[str, Any]) -> Any:
    return like_java(config, schema("images", id="int64", pixels="array<double>[64]"))


def _run_inference() -> Any:
    handler = PythonCallableWithSource("apache_beam.ml.inference.sklearn_inference.SklearnModelHandlerNumpy")
    arguments = {"model_handler_provider": handler, "model_uri": str(MODELS / "forest.joblib")}
    transform = FullyQualifiedNamedTransform(
        "apache_beam.ml.inference.base.RunInference.from_callable", (), arguments
    )
    urn, payload = transform.to_runner_api_parameter(None)
    request = _request({"spec": ""})
    spec = beam_runner_api_pb2.FunctionSpec(urn=urn, payload=payload.SerializeToString())
    request.transform.spec.CopyFrom(spec)
    return request


def _twenty_nodes() -> Any:
    """Requests eighteen models of three kinds, each in a file of its own, and two votes on them."""
    _TWENTY.mkdir(parents=True, exist_ok=True)
    kinds: list[tuple[str, str, dict[str, Any], Any]] = [
        ("sklearn", "forest.joblib", {"method": "predict_proba", "inputs": ["pixels"]}, "array<double>[10]"),
        ("xgboost", "boost.json", {"inputs": ["pixels"]}, {}),
        ("onnx", "network.onnx", {"inputs": {"X": "pixels"}}, {"from": "probabilities"}),
    ]
    nodes: dict[str, Any] = {}
    for index in range(_MEMBERS):
        kind, file, options, type_ = kinds[index % len(kinds)]
        uri = f"{index}-{file}"
        shutil.copyfile(MODELS / file, _TWENTY / uri)
        nodes[f"m{index}"] = {"model": kind, "uri": uri, **options, "outputs": {f"p{index}": type_}}
    votes, labels = [f"p{index}" for index in range(_MEMBERS)], [str(digit) for digit in range(10)]
    for name, members in (("half", votes[: _MEMBERS // 2]), ("all", votes)):
        outputs = {f"{name}_label": {"from": "label"}, f"{name}_confidence": {"from": "confidence"}}
        nodes[name] = {"combine": "soft_vote", "inputs": members, "labels": labels, "outputs": outputs}
    text = json.dumps({"ensemble": "twenty", "inputs": {"pixels": "array<double>[64]"}, "nodes": nodes})
    return _request({"spec": text, "base_uri": str(_TWENTY)})
