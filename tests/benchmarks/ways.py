"""Who scores an ensemble's rows: all callers, how each is started, and how many rows it gets.

Programs in other languages and other engines are built, or installed in environments of their own, once; then each
scores the same rows, in runs of any length. A way whose programs this machine lacks is left out.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import multiprocessing
import os
import secrets
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from scripts import servers
from scripts.environments import locked_environment
from scripts.flink.cluster import Options, cluster
from scripts.flink.install import install
from scripts.flink.stream import as_stream
from scripts.flink.workers import worker_pool
from scripts.layout import PYTHON, ROOT, TOOLS
from scripts.pipelines import Servers, portable
from scripts.shell import Command, CommandFailed, Missing, log_path
from scripts.toolchains import go, java, maven
from tests.benchmarks import pipelines
from tests.benchmarks.programs import run_program, started
from tests.benchmarks.sampling import Run, Way
from tests.benchmarks.stock_service import running_stock_service
from tests.benchmarks.workload import ARROW_BATCH, Workload

Result = TypeVar("Result")
Score = Callable[[int], Run]
Say = Callable[[str], None]

_ROWS: Final[Mapping[str, Mapping[str, int]]] = {
    "bare loop": {"light": 524_288, "digits": 131_072, "text": 2_048, "image": 4_096},
    "bare loop, large batches": {"light": 1_048_576, "digits": 131_072},
    "python": {"light": 393_216, "digits": 131_072, "text": 36_864, "image": 81_920},
    "python arrow": {"light": 12_582_912, "digits": 4_718_592},
    "python-prism": {"light": 1_310_720, "digits": 1_572_864},
    "go-prism": {"light": 8_388_608, "digits": 2_621_440, "text": 32_768, "image": 73_728},
    "java-prism": {"light": 14_680_064, "digits": 4_194_304, "text": 30_720, "image": 73_728},
    "python-flink": {"light": 6_291_456},
    "go-flink": {"light": 26_214_400},
    "java-flink": {"light": 44_040_192},
    "python hand-wired": {"light": 32_768, "digits": 16_384, "text": 2_048, "image": 4_096},
    "go-prism hand-wired": {"light": 65_536, "digits": 32_768},
    "go-flink hand-wired": {"light": 3_276_800},
    "spark": {"light": 6_291_456, "digits": 3_145_728, "text": 8_192, "image": 36_864},
    "ray": {"light": 25_165_824, "digits": 6_291_456, "text": 28_672, "image": 98_304},
    "ensemble of one node": {"light": 524_288, "digits": 262_144},
    "bare RunInference": {"light": 262_144, "digits": 131_072},
}
"""Rows of the first long run by caller and ensemble: seconds of work; about eight starts if a start takes seconds."""

_BUNDLE_ROWS: Final = {"image": 8_192}
"""Rows after which a source in Go or Java ends its bundle on Prism, as readers of files and queues do: Prism sends a
bundle in one message, and a step begins with what the step before has ended. Those of pictures have 57 MB."""
_MANY_ROWS: Final = 65_536

SLOTS: Final = 2
"""Flink has one task manager with so many; each job is cut in as many parts."""
_PART_ROWS: Final = 16_384
"""Rows of a part of a job on Flink that is a stream."""
_BUNDLE: Final = 64
"""After so many parts, or batches of rows, a bundle of such a job ends."""


def isolated(stack: contextlib.ExitStack, run: Callable[[int], Result]) -> Callable[[int], Result]:
    """Returns what runs in a process of its own, which ends with the stack."""
    spawn = multiprocessing.get_context("spawn")
    process = stack.enter_context(ProcessPoolExecutor(1, mp_context=spawn))
    return lambda count: process.submit(run, count).result()


def on_go(workload: Workload, mode: str, service: str, runner: str, *flags: str) -> Score:
    """Returns what scores rows from Go.

    Args:
        workload: The rows.
        mode: ``ensemble`` or ``handwired``.
        service: Address of the expansion service.
        runner: Address of the runner's job service.
        flags: Others of the program; without any, bundles end as on Prism.
    """
    command: Command = [
        TOOLS / "bench",
        *_for_client(workload),
        f"--mode={mode}",
        f"--models={workload.models}",
        f"--expansion_addr={service}",
        f"--endpoint={runner}",
        *(flags or [f"--bundle_rows={_BUNDLE_ROWS.get(workload.name, _MANY_ROWS)}"]),
    ]
    return lambda rows: run_program("go", [*command, f"--rows={rows}"])


def _for_client(workload: Workload) -> list[str]:
    files = {"workload": workload.name, "values": workload.file_for_clients, "ensemble": workload.ensemble}
    return [f"--{name}={value}" for name, value in files.items()]


def _on_java(
    stack: contextlib.ExitStack, workload: Workload, service: str, runner: str, *flags: str
) -> tuple[Score, float]:
    """Starts the program in Java, which makes all runs."""
    target = [f"--expansionService={service}", "--runner=PortableRunner", f"--jobEndpoint={runner}"]
    command: Command = ["java", "-jar", maven.BENCH_JAR, *_for_client(workload), *target, *flags]
    return stack.enter_context(started("java", command, java.environment()))


def _on_python(workload: Workload, at: Servers, *flags: str) -> Score:
    """Starts a program for each run: so it is what Go's is, and can be ended if it waits forever."""
    code = "from tests.benchmarks import pipelines; pipelines.main()"
    command: Command = [PYTHON, "-c", code, f"--workload={workload.name}", *portable(at), *flags]
    return lambda rows: run_program("python", [*command, f"--rows={rows}"])


def _python(workload: Workload, stack: contextlib.ExitStack, callers: Collection[str]) -> dict[str, Any]:
    return {
        caller: isolated(stack, functools.partial(run, workload.name))
        for caller, run in pipelines.RUNS.items()
        if caller in callers
    }


def _prism(workload: Workload, stack: contextlib.ExitStack, _: object) -> dict[str, Any]:
    prism = stack.enter_context(servers.prism())
    return {"python-prism": _on_python(workload, Servers("", prism))}


def _go(workload: Workload, stack: contextlib.ExitStack, callers: Collection[str]) -> dict[str, Any]:
    ours = stack.enter_context(servers.service(workload.models))
    stock = stack.enter_context(running_stock_service())
    prism = stack.enter_context(servers.prism())
    both = {"go-prism": ("ensemble", ours), "go-prism hand-wired": ("handwired", stock)}
    return {caller: on_go(workload, *both[caller], prism) for caller in callers}


def _java(workload: Workload, stack: contextlib.ExitStack, _: object) -> dict[str, Any]:
    ours = stack.enter_context(servers.service(workload.models))
    prism = stack.enter_context(servers.prism())
    bundles = f"--bundleRows={_BUNDLE_ROWS.get(workload.name, _MANY_ROWS)}"
    return {"java-prism": _on_java(stack, workload, ours, prism, bundles)}


def _flink(workload: Workload, stack: contextlib.ExitStack, _: object) -> dict[str, Any]:
    """Starts a cluster. Python's steps run in a pool of workers, one process for both slots.

    Jobs of the ensemble are streams, whose bundles end by themselves: in a batch job a bundle has all rows of a slot,
    and one with large results waits forever (docs/deploy/flink.md). Pipelines wired by hand are batch jobs: as streams
    they take half as long again.
    """
    options = Options(task_managers=1, slots=SLOTS, logs="flink-bench")
    workers = stack.enter_context(worker_pool(log_path(f"{options.logs}-workers")))
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    runner = stack.enter_context(cluster(install(), folder, options)).job_server
    ours = stack.enter_context(servers.service(workload.models, workers=workers))
    stock = stack.enter_context(running_stock_service(workers))
    parallel, at = f"--parallelism={SLOTS}", Servers(ours, runner, workers)

    def streamed(scoring: Callable[..., Score], language: str) -> Score:
        flags = as_stream(language, _BUNDLE)
        return lambda rows: scoring(parallel, f"--parts={rows // _PART_ROWS}", *flags)(rows)

    java_flags = (parallel, f"--partRows={_PART_ROWS}", *as_stream("Java", _BUNDLE))
    return {
        "go-flink": streamed(functools.partial(on_go, workload, "ensemble", ours, runner), "Go"),
        "go-flink hand-wired": on_go(workload, "handwired", stock, runner, parallel, f"--parts={SLOTS}"),
        "java-flink": _on_java(stack, workload, ours, runner, *java_flags),
        "python-flink": streamed(functools.partial(_on_python, workload, at), "Python"),
    }


def _peer(workload: Workload, stack: contextlib.ExitStack, callers: Collection[str]) -> dict[str, Any]:
    """Starts Spark or Ray Data in its own environment, once for all runs."""
    (peer,) = callers
    python = locked_environment(f"bench_{peer}", compiled=True) / "bin" / "python"
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=peer, ignore_cleanup_errors=True))
    code = "from tests.benchmarks import peers; peers.main()"
    command: Command = [python, "-c", code, peer, workload.name, folder]
    env = {
        **(java.environment() if peer == "spark" else os.environ),
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
        "PYSPARK_PYTHON": str(python),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(),  # or Ray keeps one in the home folder
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    return {peer: stack.enter_context(started(peer, command, env))}


def build_go() -> None:
    """Builds the program in Go, and Prism."""
    go.build("./cmd/bench", TOOLS / "bench")
    go.build_prism()


def _build_java() -> None:
    java.require()
    maven.package()
    go.build_prism()


def _build_flink() -> None:
    build_go()
    _build_java()
    install()


def _build_spark() -> None:
    java.require()
    locked_environment("bench_spark", compiled=True)


@dataclasses.dataclass(frozen=True)
class Provider:
    """Starts some callers.

    Attributes:
        callers: Which.
        start: Starts what they need until the stack ends; returns what scores rows, by caller, with the seconds that it
            needed once if it keeps running.
        build: Builds their programs, once. Raises ``Missing`` if this machine lacks something.
        busy: Whether its servers keep a core busy between jobs: it is measured after the others, alone.
    """

    callers: tuple[str, ...]
    start: Callable[[Workload, contextlib.ExitStack, Collection[str]], Mapping[str, Any]]
    build: Callable[[], object] = str
    busy: bool = False


PROVIDERS: Final[Mapping[str, Provider]] = {
    "python": Provider(("bare loop", "python", "python hand-wired"), _python),
    "arrow": Provider(("bare loop, large batches", "python arrow"), _python),
    "prism": Provider(("python-prism",), _prism, go.build_prism),
    "go": Provider(("go-prism", "go-prism hand-wired"), _go, build_go),
    "java": Provider(("java-prism",), _java, _build_java),
    "flink": Provider(
        ("go-flink", "go-flink hand-wired", "java-flink", "python-flink"), _flink, _build_flink, busy=True
    ),
    "spark": Provider(("spark",), _peer, _build_spark),
    "ray": Provider(("ray",), _peer, lambda: locked_environment("bench_ray", compiled=True), busy=True),
}
"""By the name with which the command line picks them."""
ONE_NODE: Final = Provider(("ensemble of one node", "bare RunInference"), _python)
"""Those compare one model alone; their rows have no id."""


def built(names: Collection[str], say: Say) -> list[Provider]:
    """Builds what callers need; leaves those out that are unavailable here, and says why."""
    found = []
    for name in names:
        try:
            PROVIDERS[name].build()
        except (Missing, CommandFailed) as exc:
            say(f"{name} is left out: {exc}")
        else:
            found.append(PROVIDERS[name])
    return found


def in_turns(providers: Collection[Provider]) -> Iterator[list[Provider]]:
    """Splits providers into those that are measured in turns."""
    yield [provider for provider in providers if not provider.busy]
    yield from ([provider] for provider in providers if provider.busy)


@contextlib.contextmanager
def ways(workload: Workload, providers: Collection[Provider], say: Say) -> Iterator[dict[str, Way]]:
    """Starts what scores an ensemble's rows, by caller; leaves out what does not start."""
    found: dict[str, Way] = {}
    with contextlib.ExitStack() as stack:
        for provider in providers:
            callers = [caller for caller in provider.callers if workload.name in _ROWS[caller]]
            try:
                scores = provider.start(workload, stack, callers) if callers else {}
            except CommandFailed as exc:
                say(f"{' and '.join(callers)} left out for {workload.name}: {exc}")
                continue
            for caller, score in scores.items():
                run, seconds = score if isinstance(score, tuple) else (score, 0.0)
                found[caller] = Way(run, _ROWS[caller][workload.name], _step(workload, caller), seconds)
        yield found


def _step(workload: Workload, caller: str) -> int:
    """Returns of which number the rows of runs are a multiple: all different rows, in whole batches or parts."""
    if caller == "bare loop, large batches":
        return max(workload.different, ARROW_BATCH)
    return math.lcm(workload.different, _PART_ROWS) if caller.endswith("-flink") else workload.different
