"""Kinds that need no model: what the graph's checks do is seen without any framework."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import FileProblem, Files
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.graph.kinds import CheckedNode, Kind, Kinds, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.types import Type

Check = Callable[[str], EnsembleGraph]
Problems = Callable[[str], list[tuple[str, str]]]


@dataclasses.dataclass
class FakeKind(Kind):
    """Returns what is declared; remembers what it was asked about."""

    kind: str
    name: str
    options: type[Options] = Options
    summary: str = "A fake."
    takes: str = "Anything."
    gives: str = "What is declared."
    asked: list[NodeView] = dataclasses.field(default_factory=list)
    undetermined: bool = False
    doubted: str = ""

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        self.asked.append(node)
        if "uri" in node.spec.options:
            try:
                node.files.check(node.spec.options["uri"])
            except FileProblem as problem:
                node.problem(problem.code, "uri", str(problem))
        if self.doubted:
            node.warning("server_unreachable", "uri", self.doubted)
        return {output.column: None if self.undetermined else output.type for output in node.spec.outputs}

    def load(self, node: CheckedNode) -> Member:
        raise NotImplementedError


class FakeOptions(Options):
    uri: str = option("", "The model's file.", required=True)
    method: str | None = option(None, "What is called.", choices=("predict", "predict_proba"))
    copies: int | None = option(None, "How many.")
    share: float = option(0.5, "How much.")
    loud: bool = option(False, "Whether.")
    weights: list[float] | None = option(None, "Which.")
    config: Mapping[str, Any] = option({}, "What else.")
    samples: int = option(1, "How many more.", least=1, most=9)
    k: int | None = option(None, "How many at most.", most=5_000)


@pytest.fixture
def model() -> FakeKind:
    return FakeKind("model", "sklearn", FakeOptions)


@pytest.fixture
def mean() -> FakeKind:
    return FakeKind("combine", "mean")


@pytest.fixture
def kinds(model: FakeKind, mean: FakeKind) -> Kinds:
    return {("model", "sklearn"): model, ("combine", "mean"): mean}


@pytest.fixture
def check(kinds: Kinds) -> Check:
    """Checks a text with the fake kinds."""
    return lambda text: check_text(text, kinds, Files("/", is_own=True))


@pytest.fixture
def problems(check: Check) -> Problems:
    """Returns code and path of everything that is wrong with a text."""

    def found(text: str) -> list[tuple[str, str]]:
        try:
            check(text)
        except InvalidEnsemble as invalid:
            return [(problem.code, problem.path) for problem in invalid.problems]
        return []

    return found
