"""What every node may say about when it runs and what becomes of the rows that it fails on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from beam_ensembles.errors import listed, nearest
from beam_ensembles.spec.mistakes import Mistakes, described
from beam_ensembles.spec.model import ON_ERROR, NodeSpec, OnError
from beam_ensembles.spec.places import below

_PLAIN = tuple(action for action in ON_ERROR if action != "default")
_ALLOWED = f"allowed: {listed(_PLAIN)}, or {{default: {{column: value}}}}"


def with_policies(node: NodeSpec, given: Mapping[str, Any], path: str, mistakes: Mistakes) -> NodeSpec:
    """Adds to a node what its policy keys say: ``when``, ``on_error``, ``shadow_of``, ``tolerance``.

    Args:
        node: The node as far as it was read.
        given: Its keys, as written.
        path: Its place.
        mistakes: Takes what is wrong.
    """
    when = shadow_of = on_error = None
    when_columns: tuple[str, ...] = ()
    if "when" in given:
        when, when_columns = _condition(given["when"], below(path, "when"), mistakes)
    if "shadow_of" in given:
        shadow_of = mistakes.text(given["shadow_of"], below(path, "shadow_of"), "the name of a node")
    if "on_error" in given:
        on_error = _on_error(given["on_error"], below(path, "on_error"), mistakes)
    if shadow_of is not None and on_error is not None:
        text = "a shadow never hurts a row: its columns are null where it fails; leave 'on_error' out"
        mistakes.add(below(path, "on_error"), "bad_shadow", text)
    return dataclasses.replace(
        node,
        when=when,
        when_columns=when_columns,
        on_error=on_error,
        shadow_of=shadow_of,
        tolerance=_tolerance(given, path, mistakes),
    )


def _tolerance(given: Mapping[str, Any], path: str, mistakes: Mistakes) -> float:
    """Returns by how much numbers of a shadow may differ; 0 where the node does not say it, or says it wrongly."""
    value, place = given.get("tolerance"), below(path, "tolerance")
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        mistakes.wrong(value, place, "a number such as 0.01")
    elif not 0 <= value < math.inf:
        text = (
            f"'tolerance' is {value}; it is a finite number of at least 0, in the unit of the values compared"
        )
        mistakes.add(place, "bad_value", text)
    elif "shadow_of" not in given:
        text = "'tolerance' is for a shadow, whose numbers are compared; name the node beside it: 'shadow_of'"
        mistakes.add(place, "bad_shadow", text)
    else:
        return float(value)
    return 0.0


def is_enabled(node: Any, path: str, mistakes: Mistakes) -> bool:
    """Returns whether a node as it stands in the file is part of the graph."""
    value = node.get("enabled") if isinstance(node, dict) else None
    if value is None or isinstance(value, bool):
        return value is not False
    mistakes.wrong(value, below(path, "enabled"), "true or false")
    return True


def _condition(value: Any, path: str, mistakes: Mistakes) -> tuple[str | None, tuple[str, ...]]:
    text = mistakes.text(value, path, '"score > 0.5"')
    if text is None:
        return None, ()
    columns = mistakes.expression(text, path)
    return (None, ()) if columns is None else (text, columns)


def _on_error(value: Any, path: str, mistakes: Mistakes) -> OnError | None:
    if isinstance(value, dict) and set(value) == {"default"}:
        place = below(path, "default")
        defaults = mistakes.mapping(value["default"], place, "{score: 0.0}")
        return None if defaults is None else OnError("default", defaults)
    if isinstance(value, str) and value in _PLAIN:
        return OnError(value)
    near = nearest(value, _PLAIN) if isinstance(value, str) else ""
    if isinstance(value, dict) and len(value) == 1:
        near = nearest(str(next(iter(value))), ("default",))
    mistakes.add(path, "bad_value", f"'on_error' cannot be {described(value)}{near} ({_ALLOWED})")
    return None
