"""An ensemble with everything that a picture shows, drawn without any framework."""

from __future__ import annotations

import dataclasses

import pytest

from beam_ensembles.drawing import Picture, picture_of_names
from beam_ensembles.drawing.picture import StageBox
from beam_ensembles.graph.kinds import options_of
from beam_ensembles.registry import KINDS
from beam_ensembles.spec import examine_text
from tests.unit.graph.conftest import check as check
from tests.unit.graph.conftest import kinds as kinds
from tests.unit.graph.conftest import mean as mean
from tests.unit.graph.conftest import model as model

OPTIONS = options_of(KINDS)

TEXT = """\
ensemble: review
description: A cheap model answers; where it doubts, an arm's <expert> is asked & both are compared.
inputs: {user: string, x: "array<double>[4]", note: string?}
nodes:
  cheap: {model: sklearn, uri: cheap.joblib, inputs: [x], outputs: {p: double, q: double, spare: double}}
  next: {model: xgboost, uri: next.json, shadow_of: cheap, inputs: [x], outputs: {np: double, nq: double, ns: double}}
  arm: {route: split, arms: {a: 90, b: 10}, inputs: [user], outputs: {arm: string}}
  expert:
    model: pytorch
    uri: expert.pt2
    when: "p < 0.7 AND arm = 'a'"
    on_error: nullify
    retries: 2
    inputs: [x]
    outputs: {e: double}
  answer: {combine: first, inputs: [e, p], outputs: {answer: double}}
  nice: {apply: softmax, inputs: [answer], outputs: {nice: double}}
outputs: [nice, arm, q]
"""
STAGES = (
    StageBox("review", "the rows are read", ("cheap", "next", "arm")),
    StageBox(
        "review/expert", "the rows on which 'expert' runs are put together", ("expert", "answer", "nice")
    ),
)


def drawn(text: str, note: str = "") -> Picture:
    """Returns what there is to draw of a text whose names are right."""
    spec, _ = examine_text(text, OPTIONS)
    assert spec is not None
    return picture_of_names(spec, note)


@pytest.fixture
def review() -> Picture:
    return dataclasses.replace(drawn(TEXT), stages=STAGES)
