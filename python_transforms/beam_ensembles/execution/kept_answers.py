"""A node's answers as texts: what a cache keeps of a row, and the columns that come of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.columns.batch import concatenated
from beam_ensembles.columns.nulls import nullable_column
from beam_ensembles.files.bounded_json import JsonError, check_memory
from beam_ensembles.graph.kinds import Columns, validity
from beam_ensembles.tables.json_text import to_json, values_from_json
from beam_ensembles.types import Type

_TOGETHER: Final = 500
"""Texts whose values are in memory at one time."""


class BadAnswer(Exception):
    """A text in a cache is not an answer of the node."""


def to_texts(columns: Columns, types: Mapping[str, Type]) -> list[str]:
    """Returns the JSON of each row: a list of its values, in the order of the types."""
    values = []
    for name in types:
        column = columns[name].tolist()
        present = columns.get(validity(name))
        if present is not None:
            there = present.tolist()
            column = [value if is_there else None for value, is_there in zip(column, there, strict=True)]
        values.append(column)
    return [to_json(row) for row in zip(*values, strict=True)]


def from_texts(texts: Sequence[str], types: Mapping[str, Type]) -> dict[str, Any]:
    """Returns the columns of rows.

    Args:
        texts: What ``to_texts`` returned, from wherever it was kept.
        types: The columns.

    Raises:
        BadAnswer: A text is something else, or its values would take too much memory.
    """
    parts = range(0, max(1, len(texts)), _TOGETHER)
    return concatenated([_columns(texts[at : at + _TOGETHER], types) for at in parts])


def _columns(texts: Sequence[str], types: Mapping[str, Type]) -> dict[str, Any]:
    if not all(isinstance(text, str) for text in texts):
        raise BadAnswer("an answer in it is not a text")
    try:
        check_memory("".join(texts).encode("utf-8", "surrogatepass"))
        rows = [json.loads(text) for text in texts]
    except JsonError as error:
        raise BadAnswer(f"an answer in it is too large: {error}") from None
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"an answer in it is not JSON: {error}") from None
    if any(not isinstance(row, list) or len(row) != len(types) for row in rows):
        raise BadAnswer(f"an answer in it is not a list of {len(types)} values")
    found: dict[str, Any] = {}
    for at, (name, type_) in enumerate(types.items()):
        values = values_from_json([row[at] for row in rows], type_.required())
        column, present = nullable_column(values, type_, name)
        if column.faults or (present is not None and not type_.nullable):
            raise BadAnswer(f"an answer in it has a '{name}' that is not {type_}")
        found[name] = column.values
        if present is not None:
            found[validity(name)] = present
    return found
