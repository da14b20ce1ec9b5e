"""The policies for rows that a node fails on: errors, nulls, defaults, a failed bundle; and shadows."""

from __future__ import annotations

import dataclasses
import math
import pickle
import sys
from pathlib import Path
from typing import Any

import apache_beam as beam
import joblib
import numpy as np
import pytest
from apache_beam.testing.util import assert_that
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression

from beam_ensembles import ensemble_metrics
from beam_ensembles.errors import InvalidEnsemble, NodeFailed
from beam_ensembles.execution.shadows import Comparison, compare
from beam_ensembles.graph import plan
from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler, InferenceError
from beam_ensembles.runtime.loading import graph_of_file
from beam_ensembles.transforms import RunEnsemble

FLOWERS = load_iris()
MODEL = LinearRegression().fit(FLOWERS.data, FLOWERS.target)
GOOD, BAD = FLOWERS.data[0].tolist(), [math.nan] * 4
"""scikit-learn refuses rows with a NaN."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    joblib.dump(MODEL, tmp_path / "line.joblib")
    return tmp_path


def handler(folder: Path, nodes: str, more: str = "") -> EnsembleModelHandler:
    file = folder / "ensemble.yaml"
    file.write_text(
        f'ensemble: policies\ninputs: {{x: "array<double>[4]", y: "double?"}}\nnodes:\n{nodes}{more}'
    )
    return EnsembleModelHandler(file)


def line(policy: str = "", name: str = "line", column: str = "made") -> str:
    return f"  {name}: {{model: sklearn, uri: line.joblib, inputs: [x], outputs: {{{column}: double}}{policy}}}\n"


def answers(made: EnsembleModelHandler, *rows: Any) -> list[Any]:
    model = made.load_model()
    return [result.inference for result in made.run_inference([beam.Row(**row) for row in rows], model)]


def test_a_row_fails_by_default(folder: Path) -> None:
    good, bad = answers(handler(folder, line()), {"x": GOOD, "y": 1.0}, {"x": BAD, "y": 1.0})
    assert good.made == MODEL.predict([GOOD])[0]
    assert isinstance(bad, InferenceError)
    assert (bad.node, bad.code) == ("line", "model_error")


def test_nullify_gives_nulls_in_their_place(folder: Path) -> None:
    made = handler(folder, line(", on_error: nullify"))
    assert [str(type_) for _, type_ in graph_of_file(folder / "ensemble.yaml").outputs] == ["double?"]
    found = answers(made, {"x": BAD, "y": 1.0}, {"x": GOOD, "y": None}, {"x": BAD, "y": None})
    assert [row.made for row in found] == [None, MODEL.predict([GOOD])[0], None]


def test_nulls_stand_also_where_no_row_has_an_answer(folder: Path) -> None:
    made = handler(folder, line(", on_error: nullify"))
    assert [row.made for row in answers(made, {"x": BAD, "y": 1.0}, {"x": BAD, "y": 1.0})] == [None, None]


def test_defaults_stand_in(folder: Path) -> None:
    made = handler(folder, line(", on_error: {default: {made: -1}}"))
    assert [str(type_) for _, type_ in graph_of_file(folder / "ensemble.yaml").outputs] == ["double"]
    found = answers(made, {"x": BAD, "y": 1.0}, {"x": GOOD, "y": 1.0})
    assert [row.made for row in found] == [-1.0, MODEL.predict([GOOD])[0]]


def test_the_defaults_of_all_rows(folder: Path) -> None:
    made = handler(folder, line(", on_error: {default: {made: -1}}"))
    assert [row.made for row in answers(made, {"x": BAD, "y": 1.0})] == [-1.0]


def test_a_default_may_be_null(folder: Path) -> None:
    policy = ", on_error: {default: {made: null}}}"
    made = handler(folder, line().replace("double}}", '"double?"}' + policy))
    found = answers(made, {"x": BAD, "y": 1.0}, {"x": GOOD, "y": 1.0})
    assert [row.made for row in found] == [None, MODEL.predict([GOOD])[0]]


def test_fail_fails_the_bundle_also_where_errors_are_taken(folder: Path) -> None:
    made = handler(folder, line(", on_error: fail"))
    with pytest.raises(NodeFailed, match=r"nodes.line: .*its 'on_error' is 'fail'"):
        answers(made, {"x": GOOD, "y": 1.0}, {"x": BAD, "y": 1.0})


def test_a_member_without_a_value_is_missed(folder: Path) -> None:
    nodes = (
        line(", on_error: nullify") + "  both: {combine: mean, inputs: [made, y], outputs: {both: double}}\n"
    )
    found = answers(
        handler(folder, nodes), {"x": GOOD, "y": 2.0}, {"x": BAD, "y": 2.0}, {"x": GOOD, "y": None}
    )
    assert found[0].both == pytest.approx((MODEL.predict([GOOD])[0] + 2.0) / 2)
    assert [(row.node, row.code) for row in found[1:]] == [("both", "member_missing")] * 2
    assert "'made'" in found[1].message
    assert "'y'" in found[2].message


def test_a_null_is_no_input_of_a_model(folder: Path) -> None:
    nodes = (
        "  line: {model: sklearn, uri: line.joblib, inputs: [x], outputs: {made: double}, on_error: nullify}\n"
        "  soft: {apply: softmax, inputs: [z], outputs: {soft: 'array<double>'}}\n"
    )
    file = folder / "ensemble.yaml"
    file.write_text(f'ensemble: e\ninputs: {{x: "array<double>[4]", z: "array<double>?"}}\nnodes:\n{nodes}')
    found = answers(EnsembleModelHandler(file), {"x": GOOD, "z": [1.0, 1.0]}, {"x": BAD, "z": None})
    assert found[0].soft == [0.5, 0.5]
    assert (found[1].node, found[1].code) == ("soft", "null_value")
    assert "z IS NOT NULL" in found[1].message


def test_a_shadow_hurts_nobody(folder: Path) -> None:
    other = LinearRegression().fit(FLOWERS.data, FLOWERS.target + 1)
    other.coef_ = other.coef_[:3]
    other.n_features_in_ = 4
    joblib.dump(other, folder / "broken.joblib")
    nodes = line() + (
        "  next: {model: sklearn, uri: broken.joblib, shadow_of: line, inputs: [x], outputs: {next: double}}\n"
    )
    made = handler(folder, nodes)
    assert [name for name, _ in graph_of_file(folder / "ensemble.yaml").outputs] == ["made"]
    (good,) = answers(made, {"x": GOOD, "y": 1.0})
    assert good.made == MODEL.predict([GOOD])[0]


class Leaves:
    """A model whose code ends the program that loads it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return sys.exit, ("no more",)


@pytest.mark.parametrize("model", [b"no model", pickle.dumps(Leaves())])
def test_a_shadow_that_cannot_be_loaded_is_out(
    model: bytes, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "nothing.joblib").write_bytes(model)
    nodes = line() + (
        "  next: {model: sklearn, uri: nothing.joblib, shadow_of: line, inputs: [x], outputs: {next: double}}\n"
    )
    made = handler(folder, nodes, "outputs: [made, next]\n")
    (good,) = answers(made, {"x": GOOD, "y": 1.0})
    assert (good.made, good.next) == (MODEL.predict([GOOD])[0], None)
    assert "the shadow 'next' of ensemble 'policies' is out" in caplog.text


def test_how_often_a_shadow_agrees_is_a_metric(folder: Path) -> None:
    other = LinearRegression().fit(FLOWERS.data, FLOWERS.target)
    other.coef_ = np.where(np.arange(4) == 0, other.coef_, other.coef_)
    other.intercept_ += 0.0
    joblib.dump(other, folder / "same.joblib")
    moved = LinearRegression().fit(FLOWERS.data, FLOWERS.target)
    moved.intercept_ += 1.0
    joblib.dump(moved, folder / "moved.joblib")
    nodes = line() + "".join(
        f"  {name}: {{model: sklearn, uri: {name}.joblib, shadow_of: line, inputs: [x], outputs: {{{name}: double}}}}\n"
        for name in ("same", "moved")
    )
    handler(folder, nodes)
    pipeline = beam.Pipeline()
    rows = pipeline | beam.Create([beam.Row(x=values, y=1.0) for values in FLOWERS.data[:50].tolist()])
    assert_that(rows | RunEnsemble(folder / "ensemble.yaml") | beam.combiners.Count.Globally(), _equal_to(50))
    result = pipeline.run()
    result.wait_until_finish()
    counters = {
        (found.key.metric.namespace, found.key.metric.name): found.committed
        for found in result.metrics().query()["counters"]
    }
    assert counters["policies/same", "agreements"] == 50
    assert counters["policies/moved", "disagreements"] == 50
    assert counters.get(("policies/moved", "agreements"), 0) == 0


@pytest.mark.parametrize(
    ("own", "other", "tolerance", "wanted"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.0, (1, 1, 0.5, 0.5)),
        ([1.0, 2.0], [1.25, 2.5], 0.5, (2, 0, 0.75, 0.5)),
        ([[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]], 0.25, (2, 0, 0.25, 0.25)),
        ([1.0, np.nan], [1.0, 2.0], 0.5, (1, 1, 0.0, 0.0)),
        ([np.nan, np.inf], [np.nan, np.inf], 0.0, (2, 0, 0.0, 0.0)),
        (["a", "b"], ["a", "c"], 9.0, (1, 1, None, None)),
        ([[0.5, [1.0]], [0.5, 2]], [[0.75, [1.0]], [0.5, 4]], 0.25, (1, 1, None, None)),
        ([True, False], [True, True], 1.0, (1, 1, None, None)),
    ],
)
def test_how_far_a_shadow_is_off(own: Any, other: Any, tolerance: float, wanted: tuple[Any, ...]) -> None:
    def column(values: Any) -> Any:
        if isinstance(values[0], list) and isinstance(values[0][-1], list):
            return np.fromiter(values, dtype=object, count=len(values))
        return np.array(values, dtype=object if isinstance(values[0], str) else None)

    found = compare([("own", "other")], {"own": column(own), "other": column(other)}, tolerance)
    assert dataclasses.astuple(found) == wanted


def test_a_shadow_without_rows() -> None:
    columns = {"own": np.empty((0, 3)), "other": np.empty((0, 3))}
    assert compare([("own", "other")], columns) == Comparison(0, 0)
    columns = {"own": np.empty((2, 0)), "other": np.empty((2, 0))}
    assert compare([("own", "other")], columns) == Comparison(2, 0, 0.0, 0.0)


def test_a_shadow_of_unsigned_numbers() -> None:
    columns = {"own": np.array([1], np.uint8), "other": np.array([3], np.uint8)}
    assert compare([("own", "other")], columns, 2.0) == Comparison(1, 0, 2.0, 2.0)


def test_tolerance_and_differences_are_counted(folder: Path) -> None:
    moved = LinearRegression().fit(FLOWERS.data, FLOWERS.target)
    moved.intercept_ += 0.25
    joblib.dump(moved, folder / "moved.joblib")
    nodes = line() + "".join(
        f"  {name}: {{model: sklearn, uri: moved.joblib, shadow_of: line{more}, inputs: [x], "
        f"outputs: {{{name}: double}}}}\n"
        for name, more in (("strict", ""), ("near", ", tolerance: 0.26"))
    )
    handler(folder, nodes)
    pipeline = beam.Pipeline()
    rows = pipeline | beam.Create([beam.Row(x=values, y=1.0) for values in FLOWERS.data[:50].tolist()])
    assert_that(rows | RunEnsemble(folder / "ensemble.yaml") | beam.combiners.Count.Globally(), _equal_to(50))
    result = pipeline.run()
    result.wait_until_finish()
    (metrics,) = ensemble_metrics(result)
    assert (metrics.node("strict").agreements, metrics.node("near").agreements) == (0, 50)
    for name in ("strict", "near"):
        assert metrics.node(name).mean_difference == pytest.approx(0.25, abs=1e-6)
        assert metrics.node(name).greatest_difference == pytest.approx(0.25, abs=1e-6)
    assert metrics.node("line").mean_difference is None


def _equal_to(count: int) -> Any:
    def check(found: list[int]) -> None:
        assert found == [count]

    return check


def test_a_node_that_is_not_enabled_is_no_part_of_the_graph(folder: Path) -> None:
    nodes = line() + line(", enabled: false", "other", "more").replace("line.joblib", "'${missing}'")
    made = handler(folder, nodes, "outputs: [made, more]\n")
    (found,) = answers(made, {"x": GOOD, "y": 1.0})
    assert found == beam.Row(made=MODEL.predict([GOOD])[0])
    assert [
        node.spec.name
        for stage in plan(graph_of_file(folder / "ensemble.yaml")).stages
        for node in stage.nodes
    ] == ["line"]


def test_what_reads_a_node_that_is_not_enabled(folder: Path) -> None:
    nodes = line(", enabled: false") + "  both: {combine: mean, inputs: [made, y], outputs: {both: double}}\n"
    with pytest.raises(InvalidEnsemble, match=r"not_enabled.*'made' is made by the node 'line'"):
        handler(folder, nodes)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("shape", ["number", "tensor", "list", "row"])
@pytest.mark.parametrize("number", [1_000_000, 1_999_999_999, 2**53, 2**62])
def test_whole_numbers_next_to_each_other_are_not_the_same(number: int, shape: str, dtype: str) -> None:
    """Neighbours agreed from 1,000,000 on: a relative tolerance is for fractions."""
    if number > np.iinfo(dtype).max:
        pytest.skip("the type has no such number")

    def column(one: int) -> np.ndarray:
        if shape == "number":
            return np.array([one], dtype)
        if shape == "tensor":
            return np.array([[one, 2]], dtype)
        values = np.empty(1, object)
        values[0] = [one] if shape == "list" else {"id": one}
        return values

    for apart, tolerance, agree in ((0, 0.0, 1), (1, 0.0, 0), (1, 1.0, 1), (3, 2.0, 0)):
        columns = {"a": column(number), "b": column(number + apart)}
        found = compare([("a", "b")], columns, tolerance)
        assert (found.agreements, found.disagreements) == (agree, 1 - agree)
        assert found.difference == (apart if shape in ("number", "tensor") else None)
