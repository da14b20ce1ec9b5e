"""``apply: sql``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import NodeError
from tests.support.nodes import check_node, load_node, problems_of, types_of

HERE = Path(__file__).parent
TYPES = {
    "x": "double",
    "y": "double?",
    "n": "int64",
    "t": "string",
    "p": "array<double>[2]",
    "q": "array<double>",
}


def node(select: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"apply": "sql", "select": select} | keys


def test_types_need_not_be_declared() -> None:
    select = {"twice": "x * 2", "age": "COALESCE(y, 0.0)", "both": "x + y", "second": "p[2]", "big": "n > 2"}
    assert types_of(HERE, TYPES, node(select)) == {
        "twice": "double", "age": "double", "both": "double?", "second": "double", "big": "boolean",
    }  # fmt: skip


def test_what_is_read_are_its_inputs() -> None:
    checked = check_node(HERE, TYPES, node({"a": "x + y", "b": "p[1] + x"}))
    assert {name: str(type_) for name, type_ in checked.inputs.items()} == {
        "x": "double", "y": "double?", "p": "array<double>[2]",
    }  # fmt: skip


def test_columns_are_computed_with_their_nulls() -> None:
    member = load_node(HERE, TYPES, node({"both": "x + y", "twice": "x * 2", "name": "UPPER(t)"}))
    found = member(
        {
            "x": np.array([1.0, 2.0]),
            "y": np.array([3.0, 0.0]),
            "y?": np.array([True, False]),
            "t": np.array(["a", "b"], dtype=object),
        }
    )
    assert {name: values.tolist() for name, values in found.items()} == {
        "both": [4.0, 0.0], "both?": [True, False], "twice": [2.0, 4.0], "name": ["A", "B"],
    }  # fmt: skip


def test_declared_types_hold() -> None:
    keys = node(
        {"small": "x * 2", "count": "n + 1", "pair": "ARRAY_REVERSE(p)", "maybe": "n"},
        outputs={"small": "float", "count": "int32", "pair": "array<float>[2]", "maybe": "int64?"},
    )
    assert types_of(HERE, TYPES, keys) == keys["outputs"]
    found = load_node(HERE, TYPES, keys)(
        {"x": np.array([1.0]), "n": np.array([4]), "p": np.array([[1.0, 2.0]])}
    )
    assert (found["small"].dtype, found["count"].dtype) == (np.float32, np.int32)
    np.testing.assert_array_equal(found["pair"], np.array([[2.0, 1.0]], dtype=np.float32))


def test_a_column_may_take_the_expression_of_another_name() -> None:
    keys = node({"a": "x", "b": "n"}, outputs={"c": {"from": "a"}, "b": "int64"})
    assert types_of(HERE, TYPES, keys) == {"b": "int64", "c": "double"}
    assert load_node(HERE, TYPES, keys)({"x": np.array([1.5]), "n": np.array([1])})["c"].tolist() == [1.5]


def test_a_row_that_cannot_be_computed_names_its_column() -> None:
    member = load_node(HERE, TYPES, node({"number": "CAST(t AS INT)"}))
    with pytest.raises(NodeError, match="'number' cannot be computed"):
        member({"t": np.array(["one"], dtype=object)})


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        (node({"a": "x +"}), [("bad_expression", "select.a")]),
        (node({"a": "uper(t)"}), [("bad_expression", "select.a")]),
        (node({"a": "AVG(x)"}), [("expression_not_rowwise", "select.a")]),
        (node({"a": "t + 1"}), [("expression_type", "select.a")]),
        (node({"a": "z + 1", "b": "xx"}), [("unknown_column", "select.a"), ("unknown_column", "select.b")]),
        (
            node({"a": "x +", "b": "t + 1", "c": "uper(t)", "d": "x"}),
            [("bad_expression", "select.a"), ("expression_type", "select.b"), ("bad_expression", "select.c")],
        ),
        (node({"a": "x", "b": "a + 1"}), [("unknown_column", "select.b")]),
        (node({"x": "n + 1"}), [("hides_input", "select.x")]),
        (node({"x": "x + 1"}), [("hides_input", "select.x")]),
        (node({"a": "a + x"}), [("cycle", "nodes.node")]),
        (node({"a b": "x"}), [("bad_name", 'select["a b"]')]),
        (node({"a": 1}), [("wrong_type", "select.a")]),
        (node({"a": "1"}), [("no_inputs", "select")]),
        (node({}), [("no_outputs", "select")]),
        ({"apply": "sql"}, [("missing_key", "select")]),
        ({"apply": "sql", "select": ["x"]}, [("wrong_type", "select")]),
        (node({"a": "x"}, inputs={"port": "x"}), [("unknown_port", "inputs.port")]),
        (node({"a": "x"}, outputs={"a": "int64"}), [("type_mismatch", "outputs.a")]),
        (node({"a": "y"}, outputs={"a": "double"}), [("type_mismatch", "outputs.a")]),
        (node({"a": "x"}, outputs={"b": "double"}), [("unknown_port", "outputs.b")]),
        (node({"a": "q"}, outputs={"a": "array<string>"}), [("type_mismatch", "outputs.a")]),
    ],
)
def test_what_is_wrong(keys: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    assert problems_of(HERE, TYPES, keys) == wanted
