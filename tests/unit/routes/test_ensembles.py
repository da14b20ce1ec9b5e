"""Whole ensembles of routes, conditions and expressions against plain Python that takes one row at a time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.utils.timestamp import Timestamp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler, InferenceError
from tests.support.rendezvous import assign

GOLDEN = Path(__file__).parents[2] / "golden" / "specs" / "routes.yaml"
ARMS = """
ensemble: arms
inputs: {user: string, x: "double?"}
nodes:
  arm: {route: split, arms: {a: 1, b: 1}, inputs: [user], outputs: {arm: string}}
  old: {apply: sql, when: "arm = 'a'", select: {from_a: "x * 2"}}
  new: {apply: sql, when: "arm = 'b' AND x > 0", select: {from_b: "x * 3", root: "CAST(SQRT(x) AS INT)"}}
  rest: {apply: sql, when: "from_a IS NULL AND from_b IS NULL", select: {neither: "user || '!'"}}
outputs: [arm, from_a, from_b, root, neither]
"""


def answers(handler: EnsembleModelHandler, rows: list[dict[str, Any]]) -> list[Any]:
    model = handler.load_model()
    return [result.inference for result in handler.run_inference([beam.Row(**row) for row in rows], model)]


def plain_routes(row: dict[str, Any]) -> dict[str, Any]:
    """What ``routes.yaml`` says, in Python."""
    user, amount, history, seen = row["user"], row["amount"], row["history"], row["seen"]
    arm = assign([None if user is None else user.encode()], "spring", {"a": 90, "b": 10})
    hour = None if seen is None else seen.micros // 3_600_000_000 % 24
    is_large = not math.isnan(amount) and amount > 2 * history[2]
    decision = "pass"
    if is_large and arm == "b":
        decision = "block"
    elif (not math.isnan(amount) and amount > sum(history)) or hour is None:
        decision = "review"
    return {
        "arm": arm, "last": history[2], "total": sum(history), "hour": hour, "is_large": is_large,
        "initial": None if user is None else user[:1].upper(), "decision": decision,
    }  # fmt: skip


ROUTES = st.fixed_dictionaries(
    {
        "user": st.none() | st.text(st.characters(codec="ascii"), max_size=3),
        "amount": st.sampled_from([0.0, 1.0, 5.0, 10.0, math.nan]),
        "history": st.lists(st.sampled_from([0.0, 1.0, 2.0, 4.0]), min_size=3, max_size=3),
        "seen": st.none() | st.integers(0, 10**15).map(lambda micros: Timestamp(micros=micros)),
    }
)


@settings(max_examples=20, deadline=None)
@given(rows=st.lists(ROUTES, min_size=1, max_size=6))
def test_the_golden_ensemble(rows: list[dict[str, Any]]) -> None:
    found = answers(EnsembleModelHandler(GOLDEN), rows)
    assert [vars(one) for one in found] == [plain_routes(row) for row in rows]


def plain_arms(row: dict[str, Any]) -> dict[str, Any]:
    user, x = row["user"], row["x"]
    arm = assign([user.encode()], "arm", {"a": 1, "b": 1})
    from_a = x * 2 if arm == "a" and x is not None else None
    runs = arm == "b" and x is not None and x > 0
    from_b, root = (x * 3, int(math.sqrt(x))) if runs else (None, None)
    neither = f"{user}!" if from_a is None and from_b is None else None
    return {"arm": arm, "from_a": from_a, "from_b": from_b, "root": root, "neither": neither}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"user": st.sampled_from("pqrstuvw"), "x": st.none() | st.sampled_from([-1.0, 4.0, 9.5])}
        ),
        min_size=1,
        max_size=8,
    )
)
def test_nodes_run_on_their_arm_s_rows(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    file = tmp_path / "arms.yaml"
    file.write_text(ARMS)
    assert [vars(one) for one in answers(EnsembleModelHandler(file), rows)] == [
        plain_arms(row) for row in rows
    ]


@pytest.mark.parametrize("default", [None, "none"])
def test_a_row_that_no_case_takes_fails_alone(tmp_path: Path, default: str | None) -> None:
    file = tmp_path / "cases.yaml"
    last = "" if default is None else f", default: {default}"
    file.write_text(
        "ensemble: cases\ninputs: {t: string}\nnodes:\n"
        '  size: {route: switch, cases: [{when: "CAST(t AS INT) > 9", arm: large}]'
        f"{last}, outputs: {{size: string}}}}\n"
    )
    large, small, broken = answers(EnsembleModelHandler(file), [{"t": "10"}, {"t": "3"}, {"t": "x"}])
    assert large.size == "large"
    assert isinstance(broken, InferenceError)
    assert broken.code == "expression_failed"
    if default is None:
        assert small.code == "no_case"
    else:
        assert small.size == "none"
