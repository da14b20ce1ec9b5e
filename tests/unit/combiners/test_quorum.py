"""With a quorum a row's answer is that of the members that have a value on it, as if there were no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import validity
from tests.support.nodes import load_node, problems_of, types_of

HERE = Path(__file__).parent
Values = np.ndarray[Any, np.dtype[Any]]
WEIGHT = st.sampled_from([0.1, 0.2, 0.3, 0.5, 1.0, 2.0])
NUMBERS = st.floats(-1e6, 1e6)


@st.composite
def members(draw: st.DrawFn, elements: st.SearchStrategy[Any]) -> tuple[Values, Values, list[float] | None]:
    """What some members have on some rows, on which rows they have it (one at least has), and weights or none."""
    count, rows = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    values = draw(arrays(np.float64, (count, rows, 3), elements=elements))
    present = draw(arrays(np.bool_, (count, rows)))
    present[draw(st.integers(0, count - 1))] |= ~present.any(axis=0)
    weights = draw(st.none() | st.lists(WEIGHT, min_size=count, max_size=count))
    return values, present, weights


def answers(
    kind: str,
    type_: str,
    values: Values,
    present: Values,
    weights: list[float] | None,
    outputs: dict[str, Any],
    **more: Any,
) -> Any:
    """Runs a combiner with a quorum of 1 on columns with nulls."""
    columns = {f"m{at}": one for at, one in enumerate(values)}
    node = {"combine": kind, "inputs": list(columns), "quorum": 1, "outputs": outputs} | more
    node |= {"weights": weights} if weights else {}
    inputs = dict.fromkeys(columns, f"{type_}?")
    assert not any(found.endswith("?") for found in types_of(HERE, inputs, node).values())
    companions = {validity(name): mask for name, mask in zip(columns, present, strict=True) if not mask.all()}
    return load_node(HERE, inputs, node)(columns | companions)


def those_present(weights: list[float] | None, present: Values, row: int) -> list[float] | None:
    return None if weights is None else np.asarray(weights)[present[:, row]].tolist()


@given(members(NUMBERS))
def test_averages(drawn: tuple[Values, Values, list[float] | None]) -> None:
    values, present, weights = drawn
    kind = "mean" if weights is None else "weighted_mean"
    found = answers(kind, "array<double>[3]", values, present, weights, {"y": None})["y"]
    for row in range(values.shape[1]):
        there = values[present[:, row], row]
        wanted = np.average(there, axis=0, weights=those_present(weights, present, row))
        np.testing.assert_allclose(found[row], wanted, rtol=1e-12, atol=1e-9)


REDUCED: list[tuple[str, Callable[..., Any]]] = [("median", np.median), ("max", np.max), ("min", np.min)]


@pytest.mark.parametrize(("kind", "wanted"), REDUCED, ids=[kind for kind, _ in REDUCED])
@given(members(st.floats(-1e300, 1e300) | st.sampled_from([np.nan, np.inf, -np.inf])))
def test_order(
    kind: str, wanted: Callable[..., Any], drawn: tuple[Values, Values, list[float] | None]
) -> None:
    values, present, _ = drawn
    found = answers(kind, "array<double>[3]", values, present, None, {"y": None})["y"]
    with np.errstate(invalid="ignore"):
        for row in range(values.shape[1]):
            np.testing.assert_array_equal(found[row], wanted(values[present[:, row], row], axis=0))


@given(members(st.sampled_from([0.0, 0.25, 0.5, 1.0])), st.booleans())
def test_soft_votes(drawn: tuple[Values, Values, list[float] | None], single: bool) -> None:
    values, present, weights = drawn
    values = values.astype(np.float32 if single else np.float64)
    type_ = "array<float>[3]" if single else "array<double>[3]"
    outputs = {"label": None, "shares": {"from": "probabilities"}, "confidence": None}
    found = answers("soft_vote", type_, values, present, weights, outputs, check_probabilities=False)
    for row in range(values.shape[1]):
        wanted = np.average(
            values[present[:, row], row], axis=0, weights=those_present(weights, present, row)
        )
        np.testing.assert_allclose(found["shares"][row], wanted, rtol=1e-6)
        assert found["label"][row] == np.argmax(found["shares"][row])
        assert found["confidence"][row] == found["shares"][row].max()


@pytest.mark.parametrize("labels", [None, ["2", "0", "1"]], ids=str)
@pytest.mark.parametrize("is_text", [True, False])
@given(members(st.integers(0, 2)))
def test_hard_votes(
    is_text: bool, labels: list[str] | None, drawn: tuple[Values, Values, list[float] | None]
) -> None:
    values, present, weights = drawn
    to_label: Any = str if is_text else int
    votes = [[to_label(int(vote)) for vote in member] for member in values[:, :, 0]]
    order = ["0", "1", "2"] if labels is None else labels
    dtype = object if is_text else np.int64
    columns = np.asarray([np.array(vote, dtype=dtype) for vote in votes])
    columns[~present] = None if is_text else 77  # these values mean nothing, and are not labels
    more = {} if labels is None else {"labels": [to_label(label) for label in labels]}
    outputs = {"label": None, "confidence": None} | ({"probabilities": None} if labels else {})
    found = answers("hard_vote", "string" if is_text else "int64", columns, present, weights, outputs, **more)
    for row in range(values.shape[1]):
        got = dict.fromkeys(map(to_label, order), 0.0)
        for member in np.flatnonzero(present[:, row]):
            got[votes[member][row]] += 1 if weights is None else weights[member]
        shares = {label: one / sum(got.values()) for label, one in got.items()}
        best = max(got, key=lambda label: got[label])  # the first of equals, as a dict keeps its order
        assert found["label"][row] == best
        assert found["confidence"][row] == pytest.approx(shares[best], rel=1e-12)
        if labels:
            assert found["probabilities"][row].tolist() == pytest.approx(list(shares.values()), rel=1e-12)


@given(members(NUMBERS), st.data())
def test_no_answer_depends_on_the_batch(
    drawn: tuple[Values, Values, list[float] | None], data: st.DataObject
) -> None:
    values, present, weights = drawn
    row = data.draw(st.integers(0, values.shape[1] - 1))
    for kind in ("mean", "median", "max", "min") if weights is None else ("weighted_mean",):
        whole = answers(kind, "array<double>[3]", values, present, weights, {"y": None})["y"]
        alone = answers(
            kind,
            "array<double>[3]",
            values[:, row : row + 1],
            present[:, row : row + 1],
            weights,
            {"y": None},
        )["y"]
        np.testing.assert_array_equal(whole[row], alone[0])


def test_whole_numbers_that_are_not_there_do_not_count() -> None:
    values, present = np.array([[5, 1], [7, 9]], np.int32), np.array([[True, True], [True, False]])
    for kind, wanted in {"max": [7, 1], "min": [5, 1]}.items():
        found = answers(kind, "int32", values, present, None, {"y": None})["y"]
        np.testing.assert_array_equal(found, np.array(wanted, np.int32), strict=True)


def test_a_label_that_is_not_listed_is_found_also_beside_nulls() -> None:
    votes = np.array([["a", "b"], ["c", "a"]], dtype=object)
    present = np.array([[True, False], [True, True]])
    with pytest.raises(NodeError, match="'c'") as caught:
        answers("hard_vote", "string", votes, present, None, {"label": None}, labels=["a", "b"])
    assert caught.value.code == "unknown_label"


@pytest.mark.parametrize("quorum", [0, 3, -1])
@pytest.mark.parametrize("kind", ["mean", "median", "max", "min", "hard_vote", "soft_vote", "agree"])
def test_a_quorum_is_of_some_members(kind: str, quorum: int) -> None:
    type_ = {"hard_vote": "string", "agree": "string", "soft_vote": "array<double>[2]"}.get(kind, "double")
    outputs = {"label": None} if kind in ("hard_vote", "soft_vote", "agree") else {"y": None}
    node = {"combine": kind, "inputs": ["a", "b"], "quorum": quorum, "outputs": outputs}
    assert problems_of(HERE, {"a": type_, "b": type_}, node) == [("bad_value", "quorum")]


def test_members_of_no_weight_make_no_quorum() -> None:
    node = {"combine": "weighted_mean", "inputs": ["a", "b", "c"], "outputs": {"y": None}}
    inputs = dict.fromkeys("abc", "double?")
    wrong = node | {"weights": [0, 0, 1], "quorum": 2}
    assert problems_of(HERE, inputs, wrong) == [("bad_weights", "weights")]
    assert types_of(HERE, inputs, wrong | {"quorum": 3}) == {"y": "double"}
