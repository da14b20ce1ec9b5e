"""Values of the right type that are wrong: what a class of options inherits is checked without a line of its kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.options import Mistake, option
from beam_ensembles.graph.shared_options import LabelOptions
from beam_ensembles.handlers.support.beam_config import AttemptOptions, CallOptions
from beam_ensembles.registry import KINDS
from tests.unit.graph.conftest import FakeKind


class OwnOptions(CallOptions, LabelOptions, AttemptOptions):
    """All that kinds share, and an option of one's own."""

    drop: list[str] | None = option(None, "What it leaves out.")

    def mistakes(self) -> Iterator[Mistake]:
        """Finds nothing to leave out."""
        yield from super().mistakes()
        if self.drop == []:
            yield Mistake("drop", "bad_value", "'drop' is empty")


def problems(kinds: Mapping[tuple[str, str], Any], nodes: Mapping[str, Any]) -> list[tuple[str, str]]:
    text = json.dumps({"ensemble": "test", "inputs": {"x": "array<double>[2]"}, "nodes": nodes})
    try:
        check_text(text, kinds, Files("/"))
    except InvalidEnsemble as exc:
        return [(problem.code, problem.path) for problem in exc.problems]
    return []


@pytest.mark.parametrize(
    ("options", "code", "place"),
    [
        ({"batch": {"max": 0}}, "bad_value", "batch.max"),
        ({"batch": {"maximum": 1}}, "unknown_option", "batch.maximum"),
        ({"batch": {"min": 3, "max": 2}}, "bad_value", "batch.min"),
        ({"samples": 0}, "bad_value", "samples"),
        ({"samples": 2, "per_row": True}, "bad_value", "samples"),
        ({"timeout": 0}, "bad_value", "timeout"),
        ({"retries": -1}, "bad_value", "retries"),
        ({"labels": []}, "bad_labels", "labels"),
        ({"labels": ["a", "a"]}, "bad_labels", "labels"),
        ({"drop": []}, "bad_value", "drop"),
    ],
)  # fmt: skip
def test_a_kind_that_checks_nothing(options: dict[str, Any], code: str, place: str) -> None:
    kind = FakeKind("model", "own", OwnOptions)
    node = {"model": "own", "inputs": ["x"], "outputs": {"y": "double"}}
    kinds = {("model", "own"): kind}
    assert problems(kinds, {"n": node}) == []
    assert problems(kinds, {"n": node | options}) == [(code, f"nodes.n.{place}")]
    (name,) = {*options} - {"per_row"}
    is_whole = name == place
    assert kind.asked[-1].wrong == {place}
    assert getattr(kind.asked[-1].options, name) == (
        getattr(OwnOptions(), name) if is_whole else options[name]
    )


@pytest.mark.parametrize("labels", [[], ["a", "a"], "a, b", [1, "a"]])
def test_wrong_labels_of_a_vote_are_all_that_is_said(labels: Any) -> None:
    """Without labels a vote gives positions, so that the declared text looked wrong, too."""
    members = {
        f"m{at}": {
            "model": "own", "inputs": ["x"], "outputs": {f"y{at}": "array<double>[2]"},
        }
        for at in range(2)
    }  # fmt: skip
    vote = {"combine": "soft_vote", "inputs": ["y0", "y1"], "outputs": {"label": "string"}, "labels": labels}
    kinds = {**KINDS, ("model", "own"): FakeKind("model", "own", OwnOptions)}
    code = "wrong_type" if isinstance(labels, str) else "bad_labels"
    assert problems(kinds, members | {"vote": vote}) == [(code, "nodes.vote.labels")]
