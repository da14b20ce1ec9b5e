"""``Ensemble``: rows of every kind come back as that kind, with the answers of ``beam-ensembles run``."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression

from beam_ensembles import Ensemble
from beam_ensembles.errors import EnsembleError, InvalidEnsemble, InvalidRows, RowFailed

NAMES = ("a", "b", "c", "d")
FILE = """\
ensemble: flowers
inputs: {a: double, b: double, c: double, d: double}
nodes:
  linear:
    model: sklearn
    uri: linear.joblib
    method: predict_proba
    inputs: [a, b, c, d]
    outputs: {one: "array<double>[3]"}
  forest:
    model: sklearn
    uri: forest.joblib
    method: predict_proba
    inputs: [a, b, c, d]
    outputs: {two: "array<double>[3]"}
  vote:
    combine: soft_vote
    inputs: [one, two]
    labels: [setosa, versicolor, virginica]
    outputs: {species: {from: label}, confidence: double}
outputs: [species, confidence]
"""
X, Y = load_iris(return_X_y=True)
NULL_AND_COUNT = """\
ensemble: counts
inputs: {n: "int64?", text: "string?"}
nodes:
  more:
    apply: sql
    inputs: [n, text]
    select: {more: "n + 1", size: "LENGTH(text)"}
    outputs: {more: "int64?", size: "int64?"}
"""


@pytest.fixture(scope="module")
def expected() -> VotingClassifier:
    members = [
        ("linear", LogisticRegression(max_iter=500)),
        ("forest", RandomForestClassifier(random_state=0)),
    ]
    return VotingClassifier(members, voting="soft").fit(X, Y)


@pytest.fixture(scope="module")
def flowers(expected: VotingClassifier, tmp_path_factory: pytest.TempPathFactory) -> Ensemble:
    folder = tmp_path_factory.mktemp("flowers")
    for name, model in expected.named_estimators_.items():
        joblib.dump(model, folder / f"{name}.joblib")
    (folder / "flowers.yaml").write_text(FILE)
    return Ensemble(folder / "flowers.yaml")


def table() -> pa.Table:
    columns = {name: X[:, at] for at, name in enumerate(NAMES)}
    return pa.table({"id": np.arange(len(X)), **columns, "note": [f"n{at}" for at in range(len(X))]})


def kinds() -> dict[str, Any]:
    rows = table()
    return {
        "arrow": rows,
        "batch": rows.combine_chunks().to_batches()[0],
        "pandas": rows.to_pandas(),
        "polars": pl.from_arrow(rows),
        "mappings": rows.to_pylist(),
    }


def column(rows: Any, name: str) -> list[Any]:
    if isinstance(rows, list):
        return [row[name] for row in rows]
    found = rows[name]
    return list(found.to_pylist() if isinstance(rows, pa.Table) else found.to_list())


@pytest.mark.parametrize("kind", ["arrow", "batch", "pandas", "polars", "mappings"])
def test_each_kind_of_rows(kind: str, flowers: Ensemble, expected: VotingClassifier) -> None:
    rows = kinds()[kind]
    scored = flowers.predict(rows)
    assert type(scored) is (pa.Table if kind == "batch" else type(rows))
    names = list(scored[0] if kind == "mappings" else getattr(scored, "column_names", None) or scored.columns)
    assert names == ["id", *NAMES, "note", "species", "confidence"]
    assert column(scored, "id") == list(range(len(X)))
    classes = load_iris().target_names[expected.predict(X)]
    assert column(scored, "species") == classes.tolist()
    np.testing.assert_allclose(
        column(scored, "confidence"), expected.predict_proba(X).max(axis=1), rtol=1e-12
    )


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "mappings"])
def test_rows_that_fail_are_a_part_of_their_own(kind: str, flowers: Ensemble) -> None:
    rows: Any = table().slice(0, 4)
    b = pa.array([X[0, 1], None, X[2, 1], X[3, 1]], pa.float64())
    rows = rows.set_column(2, "b", b)
    given = {
        "arrow": rows, "pandas": rows.to_pandas(types_mapper={pa.float64(): pd.Float64Dtype()}.get),
        "polars": pl.from_arrow(rows), "mappings": rows.to_pylist(),
    }[kind]  # fmt: skip
    scored, failed = flowers.predict(given, errors="split")
    assert column(scored, "id") == [0, 2, 3]
    assert column(failed, "id") == [1]
    assert column(failed, "error_code") == ["null_value"]
    assert "'b'" in column(failed, "error_msg")[0]
    with pytest.raises(RowFailed, match=r"'b'.*errors='split'"):
        flowers.predict(given)


def test_a_dataframe_keeps_its_index_and_dtypes(flowers: Ensemble) -> None:
    frame = table().to_pandas().assign(kind=pd.Categorical(["x"] * len(X)))
    frame.index = pd.Index([f"row {at}" for at in range(len(X))], name="key")
    scored = flowers.predict(frame)
    assert scored.index.equals(frame.index)
    pd.testing.assert_frame_equal(scored[frame.columns], frame)
    assert "species" not in frame


def test_nan_reaches_the_model_and_none_does_not(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(
        "ensemble: e\ninputs: {x: double}\nnodes:\n"
        "  n: {apply: sql, inputs: [x], select: {y: 'x + 1'}, outputs: {y: double}}\n"
    )
    one = Ensemble(tmp_path / "e.yaml")
    (first, second) = one.predict(pd.DataFrame({"x": [1.0, np.nan]}))["y"]
    assert (first, np.isnan(second)) == (2.0, True)
    scored, failed = one.predict(pd.DataFrame({"x": [1.0, None]}, dtype=object), errors="split")
    assert (len(scored), list(failed["error_code"])) == (1, ["null_value"])


def test_whole_numbers_stay_exact_beside_nulls(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(NULL_AND_COUNT)
    counts = Ensemble(tmp_path / "e.yaml")
    large = 2**53
    frame = pd.DataFrame({"n": pd.array([large, None], "Int64"), "text": ["abc", None]})
    scored = counts.predict(frame)
    assert scored["more"].tolist() == [large + 1, pd.NA]
    assert counts.predict([{"n": large, "text": None}]) == [
        {"n": large, "text": None, "more": large + 1, "size": None}
    ]


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "mappings"])
def test_no_rows(kind: str, flowers: Ensemble) -> None:
    rows = kinds()[kind][:0] if kind != "arrow" else table().slice(0, 0)
    scored, failed = flowers.predict(rows, errors="split")
    assert (len(scored), len(failed)) == (0, 0)


def test_more_rows_than_at_once(flowers: Ensemble) -> None:
    many = pa.concat_tables([table()] * 220)  # in chunks of 150
    scored = flowers.predict(many)
    assert column(scored, "species")[150:300] == column(scored, "species")[:150]
    assert column(flowers.predict(many.combine_chunks()), "id") == column(many, "id")


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (pd.DataFrame({"a": [1.0]}), "the rows do not fit ensemble 'flowers': (.|\\n)*reads 'b'"),
        (pd.DataFrame({name: ["x"] for name in NAMES}), "'a'"),
        ([{"a": 1.0}], "the rows do not fit ensemble 'flowers': (.|\\n)*reads 'b'"),
        (table().append_column("species", pa.array(["x"] * len(X))), "species"),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "the rows do not fit .*(.|\\n)*are named 'a'"),
    ],
)
def test_wrong_fields(flowers: Ensemble, rows: Any, text: str) -> None:
    with pytest.raises(InvalidRows, match=text):
        flowers.predict(rows)


@pytest.mark.parametrize("rows", [3, "rows", [1, 2], {"a": 1.0}, None])
def test_what_are_not_rows(flowers: Ensemble, rows: Any) -> None:
    with pytest.raises(
        TypeError, match="a pandas or polars DataFrame, an Arrow table, or a list of mappings"
    ):
        flowers.predict(rows)


def test_names_that_cannot_be(flowers: Ensemble) -> None:
    with pytest.raises(TypeError, match="the keys of rows are texts; found: 1"):
        flowers.predict([{1: 2.0}])
    with pytest.raises(ValueError, match="'error_code' already"):
        flowers.predict(table().append_column("error_code", pa.array(["x"] * len(X))), errors="split")


def test_errors_has_two_values(flowers: Ensemble) -> None:
    with pytest.raises(ValueError, match="allowed: 'raise', 'split'"):
        flowers.predict(table(), errors="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [[1, "a"], ["a", "\ud800"]])
def test_a_column_that_cannot_be_read_is_one_sentence(flowers: Ensemble, values: list[Any]) -> None:
    frame = table().to_pandas().assign(note=values * 75)
    with pytest.raises(EnsembleError, match="column 'note' of the DataFrame cannot be read: "):
        flowers.predict(frame)


@pytest.mark.parametrize("rows", [pd.DataFrame(index=[1, 2]), pl.DataFrame(), pa.table({})])
def test_a_frame_without_columns_lacks_them(flowers: Ensemble, rows: Any) -> None:
    with pytest.raises(InvalidRows, match="reads 'a', which the incoming rows lack"):
        flowers.predict(rows)
    assert flowers.predict([]) == []


def of_one(folder: Path, type_: str, select: str = "x") -> Ensemble:
    (folder / "e.yaml").write_text(
        f'ensemble: e\ninputs: {{x: "{type_}"}}\nnodes:\n  n: {{apply: sql, select: {{y: "{select}"}}}}\n'
    )
    return Ensemble(folder / "e.yaml")


TENSORS = np.arange(12.0).reshape(2, 3, 2)
PHYSICAL = pa.FixedSizeListArray.from_arrays(pa.array(TENSORS.transpose(0, 2, 1).ravel()), 6)
TENSOR = pa.fixed_shape_tensor(pa.float64(), [2, 3], permutation=[1, 0])


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame({"x": list(TENSORS)}),
        pd.DataFrame({"x": [[list(row) for row in one] for one in TENSORS]}),
        pd.DataFrame({"x": list(TENSORS.astype(np.int32))}),
        pl.DataFrame({"x": TENSORS}),
        pa.table({"x": pa.FixedShapeTensorArray.from_numpy_ndarray(TENSORS)}),
        pa.table({"x": pa.ExtensionArray.from_storage(TENSOR, PHYSICAL)}),
        [{"x": one} for one in TENSORS],
        [{"x": one.tolist()} for one in TENSORS],
    ],
    ids=[
        "arrays",
        "lists",
        "integers",
        "polars",
        "tensors",
        "transposed tensors",
        "mappings",
        "mappings of lists",
    ],
)
def test_tensors_in_cells(tmp_path: Path, rows: Any) -> None:
    (tmp_path / "e.yaml").write_text(
        "ensemble: e\ninputs: {x: 'array<double>[3,2]'}\nnodes:\n"
        "  n: {combine: stack, drop: none, inputs: [x], outputs: {y: {}}}\n"
    )
    scored = Ensemble(tmp_path / "e.yaml").predict(rows)
    assert [list(one) for one in column(scored, "y")] == TENSORS.reshape(2, 6).tolist()


def test_tensors_of_another_shape_fail(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(
        "ensemble: e\ninputs: {x: 'array<double>[2,3]'}\nnodes:\n"
        "  n: {combine: stack, drop: none, inputs: [x], outputs: {y: {}}}\n"
    )
    other = Ensemble(tmp_path / "e.yaml")
    for rows in (
        pa.table({"x": pa.FixedShapeTensorArray.from_numpy_ndarray(TENSORS)}),
        pd.DataFrame({"x": list(TENSORS)}),
    ):
        scored, failed = other.predict(rows, errors="split")
        assert (len(scored), column(failed, "error_code")) == (0, ["wrong_length"] * 2)
    cubes = np.arange(24.0).reshape(1, 2, 3, 4).transpose(0, 2, 3, 1)  # pyarrow does not read it back itself
    with pytest.raises(EnsembleError, match="which programs read in different ways"):
        other.predict(pa.table({"x": pa.FixedShapeTensorArray.from_numpy_ndarray(cubes)}))


@pytest.mark.parametrize("cell", [[1.0, np.nan], (1, np.nan), np.array([1, np.nan]), np.float32([1, np.nan])])
def test_nan_in_a_list_stays_one(tmp_path: Path, cell: Any) -> None:
    one = of_one(tmp_path, "array<double>[2]?")
    for rows in (pd.DataFrame({"x": [cell, None, np.nan]}), [{"x": cell}, {"x": None}, {"x": None}]):
        first, *others = column(one.predict(rows), "y")
        assert (first[0], np.isnan(first[1]), others) == (1.0, True, [None, None])


@pytest.mark.parametrize("type_", ["double?", "timestamp?", "string?", "int64?"])
def test_missing_values_of_pandas_in_mappings(tmp_path: Path, type_: str) -> None:
    rows = [{"x": pd.NA}, {"x": pd.NaT}, {"x": None}]
    assert column(of_one(tmp_path, type_).predict(rows), "y") == [None] * 3


def test_numpy_arrays_in_mappings(tmp_path: Path) -> None:
    rows = [{"x": np.float32([1, 2])}, {"x": np.array([])}, {"x": np.array([3])}]
    assert column(of_one(tmp_path, "array<float>").predict(rows), "y") == [[1.0, 2.0], [], [3.0]]


def test_sparse_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": pd.arrays.SparseArray([0, 3, 0])})
    scored = of_one(tmp_path, "int64", "x + 1").predict(frame)
    assert scored["y"].tolist() == [1, 4, 1]
    assert scored["x"].dtype == frame["x"].dtype


def test_a_column_that_pandas_cannot_take_rows_of(tmp_path: Path) -> None:
    """Arrow has no kernel that takes some rows of views of text."""
    views = pd.array(["a", "b" * 20, "c", None], dtype=pd.ArrowDtype(pa.string_view()))
    frame = pd.DataFrame({"x": pd.array([1, None, 3, 4], "Int64"), "t": views}, index=[9, 8, 7, 6])
    scored, failed = of_one(tmp_path, "int64", "x + 1").predict(frame, errors="split")
    assert (scored.index.tolist(), scored["t"].tolist(), scored["y"].tolist()) == (
        [9, 7, 6],
        ["a", "c", pd.NA],
        [2, 4, 5],
    )
    assert (failed.index.tolist(), failed["t"].tolist()) == ([8], ["b" * 20])


def test_times_beyond_what_rows_hold_fail(tmp_path: Path) -> None:
    """Milliseconds that were taken for seconds are far away; written to a file they were no point in time."""
    rows = [{"x": "1700000000"}, {"x": "1700000000000"}, {"x": "-99999999999"}]
    scored, failed = of_one(tmp_path, "string", "STRPTIME(x, '%s')").predict(rows, errors="split")
    assert [row["y"].year for row in scored] == [2023]
    assert column(failed, "error_code") == ["expression_failed"] * 2
    assert "outside of the years 1 to 9999" in failed[0]["error_msg"]


def test_threads_share_it(flowers: Ensemble) -> None:
    flowers.close()
    found: list[list[Any]] = []
    threads = [
        threading.Thread(target=lambda: found.append(column(flowers.predict(table()), "species")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(one == found[0] for one in found)


def test_it_tells_what_it_is(flowers: Ensemble) -> None:
    assert flowers.inputs == dict.fromkeys(NAMES, "double")
    assert flowers.outputs == {"species": "string", "confidence": "double"}
    assert repr(flowers).startswith("<Ensemble flowers: a: double")
    assert flowers._repr_html_().lstrip().startswith("<svg")
    with flowers as same:
        assert same is flowers


def test_a_wrong_file_is_refused_when_it_is_made(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text("ensemble: e\n")
    with pytest.raises(InvalidEnsemble):
        Ensemble(tmp_path / "e.yaml")
