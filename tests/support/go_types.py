"""The types of ensembles as the types of a Go program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from beam_ensembles.types import Array, Map, Row, Scalar, Type

_SCALARS: Final = {
    "string": "string",
    "bytes": "[]byte",
    "boolean": "bool",
    "int32": "int32",
    "int64": "int64",
    "float": "float32",
    "double": "float64",
}


class GoStructs:
    """Struct types, each with those that it needs.

    Args:
        name: What their names start with.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._nested: dict[tuple[tuple[str, Type], ...], str] = {}
        self.lines: list[str] = []

    def add(self, name: str, fields: Mapping[str, Type]) -> None:
        """Writes a struct type.

        Args:
            name: Its name.
            fields: The types of its fields, by their names in rows.
        """
        found = [
            f"\tF{at} {self._of(type_)} `beam:{json.dumps(field)}`"
            for at, (field, type_) in enumerate(fields.items())
        ]
        self.lines += [f"type {name} struct {{", *found, "}", ""]

    def _of(self, type_: Type) -> str:
        """Names a type: a null is a nil pointer where the type has no nil of its own."""
        if isinstance(type_, Array):
            return f"[]{self._of(type_.element)}"
        if isinstance(type_, Map):
            return f"map[{self._of(type_.key)}]{self._of(type_.value)}"
        if isinstance(type_, Row):
            found = self._row(type_)
        elif isinstance(type_, Scalar):
            found = _SCALARS[type_.name]
        return f"*{found}" if type_.nullable and not found.startswith("[]") else found

    def _row(self, type_: Row) -> str:
        if type_.fields not in self._nested:
            self._nested[type_.fields] = name = f"{self._name}Part{len(self._nested)}"
            self.add(name, dict(type_.fields))
        return self._nested[type_.fields]
