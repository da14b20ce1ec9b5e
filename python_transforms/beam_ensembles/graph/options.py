"""A node's own keys against those that its kind takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from beam_ensembles.errors import Problem, listed, nearest
from beam_ensembles.graph.kinds import Kind, Option
from beam_ensembles.spec.language import COMMON_KEYS
from beam_ensembles.spec.mistakes import described
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.spec.places import below
from beam_ensembles.spec.secrets import is_secret


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_ACCEPTS: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "string": ("text", lambda value: isinstance(value, str)),
    "string or secret": ("text or a secret", lambda value: isinstance(value, str) or is_secret(value)),
    "integer": ("a whole number", _is_integer),
    "number": ("a number", lambda value: _is_integer(value) or isinstance(value, float)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "list": ("a list", lambda value: isinstance(value, list)),
    "mapping": ("a mapping", lambda value: isinstance(value, dict)),
    "columns": ("a column, a list or a mapping", lambda value: isinstance(value, str | list | dict)),
}


def check_options(node: NodeSpec, kind: Kind) -> Iterator[Problem]:
    """Finds keys that the kind does not take, wrong values, and required keys that are missing."""
    taken = {option.name: option for option in kind.options}
    for name, value in node.options.items():
        place = below(node.path(), name)
        if name in taken:
            yield from _check_value(taken[name], value, place)
        elif name == "timeout" and kind.kind == "model":
            text = (
                "a model that runs on the worker itself cannot be stopped; 'timeout' is for calls of a server"
            )
            yield Problem(place, "timeout_needs_process", text)
        else:
            near = "" if name in COMMON_KEYS else nearest(name, (*taken, *COMMON_KEYS, "inputs", "outputs"))
            allowed = listed(("inputs", "outputs", *taken))
            text = f"a node with '{kind.kind}: {kind.name}' takes no key {name!r}{near} (keys: {allowed})"
            yield Problem(place, "unknown_option", text)
    for option in kind.options:
        if option.required and option.name not in node.options:
            text = (
                f"a node with '{kind.kind}: {kind.name}' needs '{option.name}': {_inside(option.description)}"
            )
            yield Problem(below(node.path(), option.name), "missing_key", text)


def _check_value(option: Option, value: Any, place: str) -> Iterator[Problem]:
    wanted, accepts = _ACCEPTS[option.accepts]
    if not accepts(value):
        yield Problem(place, "wrong_type", f"'{option.name}' must be {wanted}, found {described(value)}")
    elif option.choices and value not in option.choices:
        text = f"'{option.name}' cannot be {value!r}{nearest(str(value), option.choices)}"
        yield Problem(place, "bad_value", f"{text} (allowed: {listed(option.choices)})")


def _inside(sentence: str) -> str:
    """Makes a sentence part of another one."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")
