"""Collects what is wrong with a file while it is read on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beam_ensembles.errors import Problem, listed, nearest
from beam_ensembles.limits import MOST_IN_EXPRESSIONS
from beam_ensembles.messages.printable import truncate
from beam_ensembles.spec.language import NAME_RULE, is_name
from beam_ensembles.spec.places import below
from beam_ensembles.types import Type, parse_type

_NOUNS = {
    str: "the text", bool: "the truth value", int: "the number", float: "the number",
    list: "a list", dict: "a mapping",
}  # fmt: skip


class Mistakes:
    """The problems found so far, and readers of values that add to them and give None."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self._in_expressions = 0

    def add(self, path: str, code: str, message: str) -> None:
        """Notes a problem."""
        self.found.append(Problem(path, code, message))

    def text(self, value: Any, path: str, example: str) -> str | None:
        """Reads text."""
        if isinstance(value, str):
            return value
        self.wrong(value, path, f"text such as {example}")
        return None

    def mapping(self, value: Any, path: str, example: str) -> Mapping[str, Any] | None:
        """Reads a mapping."""
        if isinstance(value, dict):
            return value
        self.wrong(value, path, f"a mapping such as {example}")
        return None

    def name(self, value: Any, path: str, example: str) -> str | None:
        """Reads the name of an ensemble or a column."""
        text = self.text(value, path, example)
        return text if text is not None and self.is_name(text, path) else None

    def is_name(self, name: str, path: str) -> bool:
        """Returns whether a name may be used, and reports it where not."""
        if not is_name(name):
            self.add(path, "bad_name", f"{truncate(repr(name), 60)} cannot be a name: {NAME_RULE}")
        return is_name(name)

    def names(self, value: Any, path: str, example: str) -> tuple[str, ...]:
        """Reads a list of columns' names; those that are not right are left out."""
        if not isinstance(value, list):
            self.wrong(value, path, f"a list such as {example}")
            return ()
        found = (self.name(item, below(path, index), "a column's name") for index, item in enumerate(value))
        return tuple(name for name in found if name is not None)

    def type(self, value: Any, path: str) -> Type | None:
        """Reads a type."""
        text = self.text(value, path, 'double or "array<double>[64]"')
        if text is None:
            return None
        try:
            return parse_type(text)
        except ValueError as exc:
            self.add(path, "bad_type", str(exc))
        return None

    def expression(self, text: str, path: str) -> tuple[str, ...] | None:
        """Returns the columns that an expression reads."""
        had_room = self._in_expressions <= MOST_IN_EXPRESSIONS
        self._in_expressions += len(text)
        if self._in_expressions > MOST_IN_EXPRESSIONS:
            if had_room:
                said = f"the expressions of the file have more than {MOST_IN_EXPRESSIONS:,} characters"
                self.add(path, "too_large", f"{said}; make several ensembles of it")
            return None
        # A file without expressions need not wait for what reads them.
        from beam_ensembles.spec.expressions import columns_of
        from beam_ensembles.spec.sql_tokens import ExpressionError

        try:
            return columns_of(text)
        except ExpressionError as error:
            self.add(path, error.code, str(error))
            return None

    def unknown_keys(self, found: Mapping[str, Any], allowed: Sequence[str], path: str, what: str) -> None:
        """Reports the keys of a mapping that it does not take."""
        for key in found:
            if key not in allowed:
                near = f"no key {truncate(repr(key), 60)}{nearest(key, allowed)}"
                message = f"{what} takes {near} (keys: {listed(allowed)})"
                self.add(below(path, key), "unknown_key", message)

    def wrong(self, value: Any, path: str, wanted: str) -> None:
        """Reports a value of the wrong kind."""
        self.add(path, "wrong_type", f"expected {wanted}, found {described(value)}")


def described(value: Any) -> str:
    """Returns what a plain value is, for a message: ``the number 3``, ``a list``, ``nothing``."""
    if value is None:
        return "nothing"
    noun = _NOUNS.get(type(value), type(value).__name__)
    if isinstance(value, list | dict):
        return noun
    shown = repr(value) if isinstance(value, str) else str(value).lower()
    return f"{noun} {shown if len(shown) <= 60 else f'{shown[:57]}...'}"
