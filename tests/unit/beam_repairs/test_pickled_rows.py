"""Rows that are pickled field by field come back as they were, of whatever kind they are."""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import pytest
from apache_beam.typehints.row_type import RowTypeConstraint
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.beam_repairs.row_coder import row_class
from beam_ensembles.columns.batch import RowBatch


class Flower(NamedTuple):
    name: str
    petals: list[float]


class Noted(Flower):
    """A class with attributes of its own: no slots."""


def decoded(values: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Returns rows as a worker decodes them, of a class that was made of a schema."""
    hint = RowTypeConstraint.from_fields([("name", str), ("petals", beam.typehints.Sequence[float])])
    coder = beam.coders.registry.get_coder(hint)
    return [coder.decode(coder.encode(beam.Row(name=name, petals=petals))) for name, petals in values]


KINDS = {
    "row": lambda values: [beam.Row(name=name, petals=petals) for name, petals in values],
    "named": lambda values: [Flower(name, petals) for name, petals in values],
    "decoded": decoded,
    "positional": lambda values: [row_class(("class", "petals"))(*value) for value in values],
    "pairs": lambda values: [(index, Flower(*value)) for index, value in enumerate(values)],
    "subclass": lambda values: [Noted(*value) for value in values],
    "numbers": lambda values: [index for index, _ in enumerate(values)],
    "empty": lambda values: [beam.Row() for _ in values],
    "mixed": lambda values: [Flower(*value) if at % 2 else beam.Row(x=at) for at, value in enumerate(values)],
    "other names": lambda values: [beam.Row(**{f"x{at % 2}": 1}) for at, _ in enumerate(values)],
}


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.tuples(st.text(max_size=3), st.lists(st.floats(allow_nan=False), max_size=2)), max_size=5))
def test_a_batch_comes_back_as_it_was(kind: str, values: list[tuple[str, list[float]]]) -> None:
    rows = KINDS[kind](values)
    micros = list(range(len(rows)))
    found = pickle.loads(pickle.dumps(RowBatch(rows, micros)))
    assert list(map(type, found.elements)) == list(map(type, rows))
    assert found == RowBatch(rows, micros)


@pytest.mark.parametrize("kind", ["row", "named", "decoded", "positional"])
def test_rows_are_not_made_one_by_one_of_their_descriptions(kind: str) -> None:
    data = pickle.dumps(RowBatch(KINDS[kind]([("iris", [1.0])] * 1_000)))
    assert sum(code.name in ("REDUCE", "NEWOBJ") for code, _, _ in pickletools.genops(data)) <= 2
