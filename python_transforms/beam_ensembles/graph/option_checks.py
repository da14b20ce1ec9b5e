"""A node's own keys against those that its kind takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from beam_ensembles.errors import Problem, listed, nearest
from beam_ensembles.graph.kinds import Kind
from beam_ensembles.graph.options import Option
from beam_ensembles.limits import LONGEST_WAIT, MOST_RETRIES
from beam_ensembles.messages.printable import truncate
from beam_ensembles.spec.language import COMMON_KEYS
from beam_ensembles.spec.mistakes import described
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.spec.places import below
from beam_ensembles.spec.secrets import is_secret


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


ACCEPTED: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "string": ("text", lambda value: isinstance(value, str)),
    "string or secret": ("text or a secret", lambda value: isinstance(value, str) or is_secret(value)),
    "integer": ("a whole number", _is_integer),
    "number": ("a finite number", lambda value: _is_integer(value) or _is_finite(value)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "list": ("a list", lambda value: isinstance(value, list)),
    "mapping": ("a mapping", lambda value: isinstance(value, dict)),
    "columns": ("a column, a list or a mapping", lambda value: isinstance(value, str | list | dict)),
}
"""What an option may accept: in words, and as a check of a value."""


CALLS_OF_ANY_KIND: Final = ("timeout", "retries")
"""Keys that mean the same on a node of any kind that has none of that name itself."""


def check_options(node: NodeSpec, kind: Kind) -> Iterator[Problem]:
    """Finds keys that the kind does not take, wrong values, and required keys that are missing."""
    taken = {option.name: option for option in kind.keys}
    for name, value in node.options.items():
        place = below(node.path(), name)
        if name in taken:
            yield from _check_value(taken[name], value, place)
        elif name in CALLS_OF_ANY_KIND:
            yield from _check_call(node, name, value, place)
        elif name == "nulls":
            yield Problem(place, "unknown_option", _no_missing_values(node, kind))
        else:
            near = "" if name in COMMON_KEYS else nearest(name, (*taken, *COMMON_KEYS, "inputs", "outputs"))
            allowed = listed(("inputs", "outputs", *taken))
            text = f"a node with '{kind.kind}: {kind.name}' takes no key {name!r}{near} (keys: {allowed})"
            yield Problem(place, "unknown_option", text)
    yield from _check_isolation(node, kind)
    for option in kind.keys:
        if option.required and option.name not in node.options:
            text = (
                f"a node with '{kind.kind}: {kind.name}' needs '{option.name}': {_inside(option.description)}"
            )
            yield Problem(below(node.path(), option.name), "missing_key", text)


def _no_missing_values(node: NodeSpec, kind: Kind) -> str:
    """Returns what to do where a node cannot take nulls for missing values."""
    if kind.takes_nulls:
        return f"'{kind.name}' reads nulls as they are; leave 'nulls' out"
    column = node.columns[0] if node.columns else "column"
    text = f"'{kind.name}' cannot be given nulls: it has no missing value"
    return f"{text}; fill them before (apply: sql, COALESCE), or give the node a 'when: {column} IS NOT NULL'"


def _check_call(node: NodeSpec, name: str, value: Any, place: str) -> Iterator[Problem]:
    """Checks ``timeout`` and ``retries`` of what runs on the worker; kinds that call a server have their own."""
    if name == "timeout" and not node.isolated:
        text = "what runs on the worker itself cannot be stopped; give it a process of its own: 'isolate: process'"
        yield Problem(place, "timeout_needs_process", text)
    elif name == "timeout" and not (ACCEPTED["number"][1](value) and 0 < value <= LONGEST_WAIT):
        text = f"'timeout' is {truncate(repr(value), 60)}; it is a number of seconds above 0, at most {LONGEST_WAIT:,}"
        yield Problem(place, "bad_value", text)
    elif name == "retries" and not (_is_integer(value) and 0 <= value <= MOST_RETRIES):
        text = f"'retries' is {value!r}; it is a whole number from 0 to {MOST_RETRIES}"
        yield Problem(place, "bad_value", text)


def _check_isolation(node: NodeSpec, kind: Kind) -> Iterator[Problem]:
    """Finds nodes that ask for a process of their own for nothing."""
    config = node.options.get("config")
    if not node.isolated:
        return
    if any(option.name == "timeout" for option in kind.keys):
        text = f"'{kind.name}' runs elsewhere; its 'timeout' needs no process of its own, leave 'isolate' out"
        yield Problem(node.path("isolate"), "unsupported_option", text)
    elif isinstance(config, dict) and (config.get("large_model") or config.get("model_copies")):
        text = "large_model and model_copies put the node into processes already; leave one of them out"
        yield Problem(node.path("isolate"), "unsupported_option", text)


def _check_value(option: Option, value: Any, place: str) -> Iterator[Problem]:
    wanted, accepts = ACCEPTED[option.accepts]
    if not accepts(value):
        yield Problem(place, "wrong_type", f"'{option.name}' must be {wanted}, found {described(value)}")
    elif option.least is not None and not option.least <= value <= (option.most or value):
        text = f"'{option.name}' is {value}; allowed: {option.least} to {option.most}"
        yield Problem(place, "bad_value", text)
    elif option.most is not None and value > option.most:
        text = f"'{option.name}' is {value}; at most {option.most:,} is allowed"
        yield Problem(place, "bad_value", text)
    elif option.choices and value not in option.choices:
        text = f"'{option.name}' cannot be {value!r}{nearest(str(value), option.choices)}"
        yield Problem(place, "bad_value", f"{text} (allowed: {listed(option.choices)})")


def _inside(sentence: str) -> str:
    """Creates a sentence part of another one."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")
