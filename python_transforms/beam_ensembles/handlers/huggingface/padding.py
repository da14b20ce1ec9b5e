"""Columns -> tensors: lists of different lengths are padded to the longest of the batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.support.arguments import Values

IDS: Final = ("input_ids", "decoder_input_ids")
MASKS: Final = {"input_ids": "attention_mask", "decoder_input_ids": "decoder_attention_mask"}
"""The mask that says which ids are real; a model needs it where ids were padded."""


def padded(columns: Mapping[str, Values], pad: int, *, left: bool) -> dict[str, Values]:
    """Creates an array of each argument of a model.

    Args:
        columns: Argument to its values: numbers ``[N, ...]``, or an array of objects with a list per row.
        pad: The id of the padding token; everything else is padded with 0.
        left: Whether to pad in front, as models need that go on writing what they read.

    Returns:
        Argument to numbers ``[N, ...]``; with a mask for ids that were padded and came without one.

    Raises:
        NodeError: ``wrong_value`` where a row holds no numbers, or where two differ in more than their length.
    """
    arrays: dict[str, Values] = {}
    for name, values in columns.items():
        if values.dtype != object:
            arrays[name] = values
            continue
        rows = [_row(value, name) for value in values]
        arrays[name] = _stack(rows, pad if name in IDS else 0, name, left)
        mask = MASKS.get(name)
        if mask is not None and mask not in columns and len({len(row) for row in rows}) > 1:
            arrays[mask] = _stack([np.ones(len(row), np.int64) for row in rows], 0, mask, left)
    return arrays


def _row(value: Any, name: str) -> Values:
    try:
        row = np.asarray(value)
    except ValueError:
        row = np.empty(0, dtype=object)
    if row.ndim == 0 or row.dtype.kind not in "biuf":
        raise NodeError("wrong_value", f"'{name}' takes numbers, all lists within a row of one length")
    return row if row.size else row.astype(np.int64)


def _stack(rows: list[Values], pad: int, name: str, left: bool) -> Values:
    longest = max(len(row) for row in rows)
    rest = {row.shape[1:] for row in rows if row.size} or {()}
    if len(rest) > 1:
        raise NodeError("wrong_value", f"'{name}': rows may differ in their length only")
    found = np.full((len(rows), longest, *rest.pop()), pad, dtype=np.result_type(*rows))
    for at, row in enumerate(rows):
        start = longest - len(row) if left else 0
        found[at, start : start + len(row)] = row
    return found
