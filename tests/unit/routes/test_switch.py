"""``route: switch``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import NodeError
from beam_ensembles.execution.bisecting import run_split
from tests.support.nodes import check_node, load_node, problems_of, types_of

HERE = Path(__file__).parent
TYPES = {"x": "double", "t": "string?"}
CASES = [{"when": "x > 0.9", "arm": "block"}, {"when": "x > 0.5 OR t = 'new'", "arm": "review"}]
NODE: dict[str, Any] = {"route": "switch", "cases": CASES, "default": "pass", "outputs": {"decision": None}}


def rows(*values: tuple[float, str | None]) -> dict[str, np.ndarray]:
    texts = np.empty(len(values), dtype=object)
    texts[:] = [text for _, text in values]
    valid = np.array([text is not None for _, text in values])
    return {"x": np.array([number for number, _ in values]), "t": texts, "t?": valid}


def test_the_first_case_that_holds_counts() -> None:
    found = load_node(HERE, TYPES, NODE)(rows((0.95, "new"), (0.6, "old"), (0.1, "new"), (0.1, "old")))
    assert found["decision"].tolist() == ["block", "review", "review", "pass"]
    assert found["decision"].dtype == object


def test_null_and_nan_do_not_hold() -> None:
    found = load_node(HERE, TYPES, NODE)(rows((np.nan, None), (0.6, None), (np.nan, "new")))
    assert found["decision"].tolist() == ["pass", "review", "review"]


def test_without_a_default_the_rows_for_which_nothing_holds_fail_alone() -> None:
    node = {key: value for key, value in NODE.items() if key != "default"}
    member = load_node(HERE, TYPES, node)
    columns, faults = run_split(member, rows((0.95, None), (0.1, None), (0.6, None), (0.2, "old")), 4)
    assert columns["decision"].tolist() == ["block", "review"]
    assert sorted(faults) == [1, 3]
    assert {error.code for error in faults.values()} == {"no_case"}
    with pytest.raises(NodeError, match="arms: block, review"):
        member(rows((0.1, None)))


def test_what_the_conditions_read_are_its_inputs() -> None:
    checked = check_node(HERE, TYPES | {"z": "int64"}, NODE)
    assert {name: str(type_) for name, type_ in checked.inputs.items()} == TYPES
    assert types_of(HERE, TYPES, NODE) == {"decision": "string"}
    checked = check_node(HERE, TYPES | {"z": "int64"}, NODE | {"inputs": ["z"]})
    assert list(checked.inputs) == ["z", "x", "t"]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"cases": [{"when": "x", "arm": "a"}]}, [("not_boolean", "cases[0].when")]),
        ({"cases": [*CASES, {"when": "y > 1", "arm": "a"}]}, [("unknown_column", "cases[2].when")]),
        ({"cases": [{"when": "x > t", "arm": "a"}]}, [("expression_type", "cases[0].when")]),
        ({"cases": [{"when": "COUNT(x) > 1", "arm": "a"}]}, [("expression_not_rowwise", "cases[0].when")]),
        ({"cases": [{"when": 1, "arm": "a"}]}, [("wrong_type", "cases[0].when")]),
        ({"cases": [{"when": "x > 1", "arm": 1}]}, [("wrong_type", "cases[0].arm")]),
        ({"cases": [{"arm": "a"}]}, [("missing_key", "cases[0].when")]),
        ({"cases": [{"when": "x > 1"}]}, [("missing_key", "cases[0].arm")]),
        ({"cases": ["x > 1"]}, [("wrong_type", "cases[0]")]),
        ({"cases": []}, [("bad_value", "cases")]),
        ({"default": 1}, [("wrong_type", "default")]),
        ({"inputs": {"a": "x"}}, [("unknown_port", "inputs.a")]),
        ({"outputs": {"decision": "int32"}}, [("type_mismatch", "outputs.decision")]),
        ({"arms": {"a": 1}}, [("unknown_option", "arms")]),
    ],
)  # fmt: skip
def test_what_is_wrong(changes: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    assert problems_of(HERE, TYPES, NODE | changes) == wanted
