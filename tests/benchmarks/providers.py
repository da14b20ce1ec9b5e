"""Who scores an ensemble's rows: the ways of all callers, by the name with which the command line picks them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from scripts.shell import CommandFailed
from scripts.steps import Missing
from tests.benchmarks import arrow_ways, flink_ways, go_ways, java_ways, peer_ways, portable_ways, python_ways
from tests.benchmarks.pipelines import ENSEMBLE, HAND_WIRED
from tests.benchmarks.sampling import Way
from tests.benchmarks.workload import NAMES, Workload

Ways = Callable[[Workload], contextlib.AbstractContextManager[Mapping[str, Way]]]


def _nothing() -> None:
    """What is to be built where nothing is."""


@dataclasses.dataclass(frozen=True)
class Provider:
    """Gives the ways of some callers.

    Attributes:
        ways: Starts what they need; gives them by caller.
        build: Builds their programs, once. Raises ``Missing`` where this machine lacks something.
        ensembles: Those whose rows they score.
        servers: The name of servers that keep a core busy while nobody asks them. Ways with such are measured after the
            others, those of one name in turns.
    """

    ways: Ways
    build: Callable[[], object] = _nothing
    ensembles: tuple[str, ...] = NAMES
    servers: str = ""


def _called(ways: Ways, callers: Mapping[str, str]) -> Ways:
    """Gives the same ways by caller."""

    @contextlib.contextmanager
    def called(workload: Workload) -> Iterator[Mapping[str, Way]]:
        with ways(workload) as found:
            yield {callers.get(name, name): way for name, way in found.items()}

    return called


_GO: Final = _called(go_ways.go_ways, {ENSEMBLE: "go-prism", HAND_WIRED: "go-prism hand-wired"})
_JAVA: Final = _called(java_ways.java_ways, {ENSEMBLE: "java-prism"})
_PRISM: Final = _called(portable_ways.portable_ways, {ENSEMBLE: "python-prism"})
PROVIDERS: Final[Mapping[str, Provider]] = {
    "python": Provider(python_ways.python_ways),
    "arrow": Provider(arrow_ways.arrow_ways, ensembles=tuple(arrow_ways.ROWS)),
    "prism": Provider(_PRISM, portable_ways.build, tuple(portable_ways.ROWS)),
    "go": Provider(_GO, go_ways.build),
    "java": Provider(_JAVA, java_ways.build),
    "flink": Provider(flink_ways.flink_ways, flink_ways.build, ("light",), servers="flink"),
    "spark": Provider(peer_ways.spark_ways, peer_ways.build_spark),
    "ray": Provider(peer_ways.ray_ways, peer_ways.build_ray, servers="ray"),
}


def build(names: Iterable[str], say: Callable[[str], None]) -> dict[str, Provider]:
    """Builds what some callers need; leaves those out that cannot be had here, and says why."""
    found = {}
    for name in names:
        try:
            PROVIDERS[name].build()
        except (Missing, CommandFailed) as exc:
            say(f"{name} is left out: {exc}")
        else:
            found[name] = PROVIDERS[name]
    return found


def in_turns(providers: Mapping[str, Provider]) -> Iterator[dict[str, Provider]]:
    """Parts providers to those that are measured in turns."""
    for servers in dict.fromkeys(sorted(provider.servers for provider in providers.values())):
        yield {name: provider for name, provider in providers.items() if provider.servers == servers}


@contextlib.contextmanager
def all_ways(
    workload: Workload, providers: Mapping[str, Provider], say: Callable[[str], None]
) -> Iterator[dict[str, Way]]:
    """Starts all that scores an ensemble's rows; gives the ways by caller. What does not start is left out."""
    ways: dict[str, Way] = {}
    with contextlib.ExitStack() as started:
        for name, provider in providers.items():
            if workload.name in provider.ensembles:
                try:
                    ways |= started.enter_context(provider.ways(workload))
                except CommandFailed as exc:
                    say(f"{name} is left out for {workload.name}: {exc}")
        yield ways
