"""Trials of loaded models with made-up rows: what is an error, what a warning, what is nothing."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.handlers.support import isolated_members
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.handlers.support.trial_rows import made_up, trial_of
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.registry import KINDS
from beam_ensembles.types import parse_type
from tests.support import tried_models
from tests.support.models import write_graph
from tests.support.nodes import check_node, load_node

INPUT = {"x": "array<double>[3]"}
ENDS: dict[str, Any] = {"inputs": ["x"], "outputs": {"y": "double"}}


@pytest.fixture(autouse=True)
def calls() -> Iterator[list[int]]:
    tried_models.CALLS.clear()
    yield tried_models.CALLS
    tried_models.CALLS.clear()


def sklearn(folder: Path, way: str, **more: Any) -> dict[str, Any]:
    joblib.dump(tried_models.Estimator(way), folder / "model.joblib")
    return {"model": "sklearn", "uri": "model.joblib", **ENDS, **more}


def python(_: Path, way: str, **more: Any) -> dict[str, Any]:
    return {
        "model": "python",
        "handler": f"{tried_models.HERE}.Handler",
        "config": {"way": way},
        **ENDS,
        **more,
    }


BOTH = pytest.mark.parametrize("make", [sklearn, python])


def load(folder: Path, described: dict[str, Any]) -> Any:
    node = check_node(folder, INPUT, described)
    return load_member(node, this_machine())


@BOTH
def test_a_good_model_is_asked_one_two_and_five_rows(
    tmp_path: Path, calls: list[int], caplog: pytest.LogCaptureFixture, make: Any
) -> None:
    load(tmp_path, make(tmp_path, "good"))
    assert calls == [1, 2, 1, 1, 5]
    assert not caplog.records


@BOTH
@pytest.mark.parametrize(
    ("way", "code", "text"),
    [
        (
            "pairs_only",
            "signature_mismatch",
            "answers two rows at once, but not one: ValueError: Expected more than 1",
        ),
        (
            "old",
            "load_failed",
            "'Estimator' object has no attribute 'monotonic_cst'; that is so where .* versions",
        ),
        ("module", "load_failed", "ModuleNotFoundError: No module named 'a_module_that_is_gone'"),
        ("numpy", "load_failed", "module 'numpy' has no attribute 'a_name_that_is_gone'"),
    ],
)
def test_what_no_row_can_cure_is_an_error(tmp_path: Path, make: Any, way: str, code: str, text: str) -> None:
    with pytest.raises(InvalidEnsemble, match=text) as caught:
        load(tmp_path, make(tmp_path, way))
    assert [problem.code for problem in caught.value.problems] == [code]


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("loss", r"answers one row, but not two at once: 'y': the model gave a single value for 2 rows"),
        ("wide", r"'y' is declared double, but the model gave an array of shape \[N, 3\].*'trial: false'"),
    ],
)
def test_so_are_answers_that_are_not_as_declared(tmp_path: Path, way: str, text: str) -> None:
    with pytest.raises(InvalidEnsemble, match=text) as caught:
        load(tmp_path, sklearn(tmp_path, way))
    assert [problem.path for problem in caught.value.problems] == ["nodes.node.outputs"]


@BOTH
@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("mixing", r"depends on the rows beside it \('y' of a made-up row is 0 alone, .* among 2\)"),
        ("running", r"depends on the rows beside it \('y' of a made-up row is .* alone"),
        ("random", "answers to the same row differ from call to call"),
        ("singles_only", r"not both at once.*set 'batch: \{max: 1\}'.*batch must be 1"),
    ],
)
def test_what_may_be_meant_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, make: Any, way: str, text: str
) -> None:
    load(tmp_path, make(tmp_path, way))
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("node 'node': ")
    assert re.search(text, record.getMessage())


@BOTH
@pytest.mark.parametrize("way", ["picky", "nothing_found", "exits", "rounding"])
def test_made_up_rows_alone_stop_no_model(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, make: Any, way: str
) -> None:
    load(tmp_path, make(tmp_path, way))
    assert not caplog.records


def test_an_own_handler_may_answer_made_up_rows_as_it_likes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load(tmp_path, python(tmp_path, "wide"))
    assert not caplog.records


@BOTH
@pytest.mark.parametrize("more", [{"trial": False}, {"per_row": True}])
def test_a_node_that_is_not_to_be_tried_is_not(
    tmp_path: Path, calls: list[int], make: Any, more: Any
) -> None:
    load(tmp_path, make(tmp_path, "old", **more))
    assert not calls


def test_nor_is_a_handler_of_a_server(tmp_path: Path, calls: list[int]) -> None:
    member = load(tmp_path, {"model": "python", "handler": f"{tried_models.HERE}.Remote", **ENDS})
    assert not calls
    assert member({"x": np.ones((2, 3))})["y"].tolist() == [3.0, 3.0]


def test_no_call_is_larger_than_the_node_allows(tmp_path: Path, calls: list[int]) -> None:
    load(tmp_path, sklearn(tmp_path, "singles_only", batch={"max": 1}))
    assert calls == [1, 1]


@pytest.mark.usefixtures("forked_children")
@pytest.mark.parametrize("way", ["old", "mixing"])
def test_a_node_in_a_process_of_its_own_is_tried_there(
    tmp_path: Path, calls: list[int], caplog: pytest.LogCaptureFixture, way: str
) -> None:
    described = sklearn(tmp_path, way, isolate="process")
    if way == "old":
        with pytest.raises(InvalidEnsemble, match="monotonic_cst"):
            load(tmp_path, described)
    else:
        load(tmp_path, described)
        assert "depends on the rows beside it" in caplog.text
    assert not calls


@pytest.mark.usefixtures("forked_children")
@pytest.mark.parametrize("way", ["dies", "hangs"])
def test_one_that_dies_or_hangs_of_made_up_rows_is_started_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(isolated_members, "_TRYING", 0.5)
    member = load(tmp_path, sklearn(tmp_path, way, isolate="process"))
    assert not caplog.records
    assert member({"x": np.full((1, 3), 4.0)})["y"].tolist() == [12.0]


@pytest.mark.parametrize("config", [{"way": "old", "large_model": True}, {"way": "old", "shared": True}])
def test_a_shared_model_is_tried_in_its_process(tmp_path: Path, calls: list[int], config: Any) -> None:
    with pytest.raises(InvalidEnsemble, match="monotonic_cst"):
        load(tmp_path, python(tmp_path, "old") | {"config": config})
    assert not calls


def test_an_onnx_graph_that_mixes_rows_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_graph(
        tmp_path / "mix.onnx",
        [("ReduceMean", ["X"], ["M"], {"axes": [0]}), ("Sub", ["X", "M"], ["Y"], {})],
        [("X", "DOUBLE", ["N", 3])],
        [("Y", "DOUBLE", ["N", 3])],
    )
    load_node(tmp_path, INPUT, {"model": "onnx", "uri": "mix.onnx", "inputs": ["x"], "outputs": {"y": None}})
    assert "depends on the rows beside it" in caplog.text


@pytest.mark.parametrize(
    ("inputs", "shapes"),
    [
        ({"a": "double", "b": "int32", "c": "boolean"}, [(5,), (5,), (5,)]),
        ({"a": "array<float>[2,3]"}, [(5, 2, 3)]),
        ({"a": "string?", "b": "bytes"}, [(5,), (5,)]),
        ({"a": "array<int64>", "b": "array<array<float>[2]>"}, [(5,), (5,)]),
        ({"a": "row<x: int64, y: array<string>>", "b": "map<string, double>"}, [(5,), (5,)]),
        ({"a": "timestamp"}, None),
        ({"a": "array<timestamp>"}, None),
        ({"a": "array<float>[2000,2000]"}, None),
    ],
)
def test_rows_are_made_up_of_every_type_but_those_that_are_not(inputs: Any, shapes: Any) -> None:
    columns = made_up({name: parse_type(type_) for name, type_ in inputs.items()}, 5)
    assert (None if columns is None else [values.shape for values in columns.values()]) == shapes


def test_made_up_rows_are_the_same_each_time_and_differ(tmp_path: Path) -> None:
    types = {"x": parse_type("array<double>[3]"), "t": parse_type("string")}
    first, second = made_up(types, 5), made_up(types, 5)
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first["x"], second["x"])
    assert len(np.unique(first["x"], axis=0)) == 5
    assert first["t"].tolist() == ["two", "three", "four", "five", "one"]


def test_columns_get_values_that_the_model_knows(tmp_path: Path) -> None:
    types = {"x": parse_type("array<double>[3]"), "t": parse_type("string"), "n": parse_type("int64")}
    found = made_up(types, 5, {"t": ["a", "b"], "n": [7]})
    assert found is not None
    assert (found["t"].tolist(), found["n"].tolist()) == (["a", "b", "a", "b", "a"], [7] * 5)


def test_what_was_found_is_told(tmp_path: Path) -> None:
    node = check_node(tmp_path, INPUT, sklearn(tmp_path, "good"))
    found = trial_of(node, KINDS["model", "sklearn"].load(node))
    assert found is not None
    assert (found.rows, found.refused, found.notes) == ((1, 2, 5), "", ())
    assert found.answer["y"].shape == (5,)
    assert 0 < found.milliseconds < 1_000
