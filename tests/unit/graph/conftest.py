"""Kinds that need no model: what the graph's checks do is seen without any framework."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import FileProblem, Files
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.graph.kinds import CheckedNode, Kind, Kinds, Member, NodeView, Option
from beam_ensembles.types import Type

Check = Callable[[str], EnsembleGraph]
Problems = Callable[[str], list[tuple[str, str]]]


@dataclasses.dataclass
class FakeKind(Kind):
    """Gives what is declared; remembers what it was asked about."""

    kind: str
    name: str
    options: tuple[Option, ...] = ()
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
                node.files.check(node.option("uri"))
            except FileProblem as problem:
                node.problem(problem.code, "uri", str(problem))
        if self.doubted:
            node.warning("server_unreachable", "uri", self.doubted)
        return {output.column: None if self.undetermined else output.type for output in node.spec.outputs}

    def load(self, node: CheckedNode) -> Member:
        raise NotImplementedError


OPTIONS = (
    Option("uri", "string", "The model's file.", required=True),
    Option("method", "string", "What is called.", choices=("predict", "predict_proba")),
    Option("copies", "integer", "How many."),
    Option("share", "number", "How much."),
    Option("loud", "boolean", "Whether."),
    Option("weights", "list", "Which."),
    Option("config", "mapping", "What else."),
)


@pytest.fixture
def model() -> FakeKind:
    return FakeKind("model", "sklearn", OPTIONS)


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
    """Gives code and path of everything that is wrong with a text."""

    def found(text: str) -> list[tuple[str, str]]:
        try:
            check(text)
        except InvalidEnsemble as invalid:
            return [(problem.code, problem.path) for problem in invalid.problems]
        return []

    return found
