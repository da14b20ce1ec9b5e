"""``agree`` says whether members gave the same label, and which share of them did."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from beam_ensembles.graph.kinds import validity
from tests.support.nodes import load_node, types_of

HERE = Path(__file__).parent
OUTPUTS = {"unanimous": None, "agreement": None, "label": None}


def node(members: int, **more: Any) -> dict[str, Any]:
    return {"combine": "agree", "inputs": [f"m{at}" for at in range(members)], "outputs": OUTPUTS} | more


@pytest.mark.parametrize("type_", ["string", "int64", "boolean"])
@given(
    st.tuples(st.integers(1, 5), st.integers(1, 8)).flatmap(
        lambda shape: arrays(np.int64, shape, elements=st.integers(0, 3))
    )
)
def test_it_counts_the_most_frequent_label(type_: str, votes: Any) -> None:
    dtype: Any = {"string": object, "boolean": np.bool_}.get(type_, np.int64)
    columns = {
        f"m{at}": one.astype(str).astype(object) if type_ == "string" else one.astype(dtype)
        for at, one in enumerate(votes)
    }
    inputs = dict.fromkeys(columns, type_)
    assert types_of(HERE, inputs, node(len(votes))) == {
        "unanimous": "boolean",
        "agreement": "double",
        "label": type_,
    }
    made = load_node(HERE, inputs, node(len(votes)))(columns)
    for row in range(votes.shape[1]):
        given_ = [columns[f"m{at}"][row] for at in range(len(votes))]
        most = max(collections.Counter(given_).values())
        assert made["agreement"][row] == most / len(votes)
        assert made["unanimous"][row] == (len(set(given_)) == 1)
        assert made["label"][row] == min(label for label in given_ if given_.count(label) == most)


def test_with_a_quorum_those_that_have_a_label_are_compared() -> None:
    columns = {
        "m0": np.array(["a", "a", "a"], dtype=object),
        "m1": np.array(["a", "b", None], dtype=object),
        validity("m1"): np.array([True, True, False]),
    }
    made = load_node(HERE, {"m0": "string", "m1": "string?"}, node(2, quorum=1))(columns)
    assert made["unanimous"].tolist() == [True, False, True]
    assert made["agreement"].tolist() == [1.0, 0.5, 1.0]
