"""The key ``refresh``: which new versions a running pipeline goes on with."""

from __future__ import annotations

from typing import Any

from beam_ensembles.errors import nearest
from beam_ensembles.spec.language import LOCK_GATE, REFRESH_KEYS
from beam_ensembles.spec.mistakes import Mistakes, described
from beam_ensembles.spec.model import RefreshGate
from beam_ensembles.spec.places import below

_EXAMPLE = "{gate: lock, max_label_changes: 1%}"


def read_gate(given: Any, columns: frozenset[str], mistakes: Mistakes) -> RefreshGate | None:
    """Reads the gate of new versions.

    Args:
        given: The value of the key.
        columns: The columns that nodes add.
        mistakes: Takes what is wrong.
    """
    found = mistakes.mapping(given, "refresh", _EXAMPLE)
    if found is None:
        return None
    mistakes.unknown_keys(found, REFRESH_KEYS, "refresh", "refresh")
    if found.get("gate") != LOCK_GATE:
        text = f"the gate of new versions is '{LOCK_GATE}', found {described(found.get('gate'))}"
        mistakes.add("refresh.gate", "bad_value", f"{text}; write {_EXAMPLE}")
    share = _share(found["max_label_changes"], mistakes) if "max_label_changes" in found else None
    return RefreshGate(share, _shifts(found.get("max_shift", {}), columns, mistakes))


def _share(value: Any, mistakes: Mistakes) -> float:
    number = value
    if isinstance(value, str) and value.endswith("%"):
        number = _number(value[:-1])
        number = None if number is None else number / 100
    if not _is_number(number) or not 0 <= number <= 1:
        text = f"expected a share such as 1% or 0.01, from 0 to 1, found {described(value)}"
        mistakes.add("refresh.max_label_changes", "bad_value", text)
        return 0.0
    return float(number)


def _shifts(value: Any, columns: frozenset[str], mistakes: Mistakes) -> dict[str, float]:
    path = "refresh.max_shift"
    found: dict[str, float] = {}
    for column, most in (mistakes.mapping(value, path, "{score: 0.05}") or {}).items():
        if column not in columns:
            text = f"no node adds a column '{column}'{nearest(column, columns)}"
            mistakes.add(below(path, column), "unknown_column", text)
        elif not _is_number(most) or not 0 <= most < float("inf"):
            text = f"expected a number of 0 or more, found {described(most)}"
            mistakes.add(below(path, column), "bad_value", text)
        else:
            found[column] = float(most)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
