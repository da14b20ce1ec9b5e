"""What a language model must answer: the JSON Schema of a node's outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.types import INTEGERS, Array, Row, Scalar, Type

_NAMES: Final = {
    "string": "string",
    "boolean": "boolean",
    "float": "number",
    "float16": "number",
    "double": "number",
}


def is_answerable(type_: Type) -> bool:
    """Whether JSON Schema can ask for values of a type: no bytes, timestamps or maps."""
    type_ = type_.required()
    if isinstance(type_, Array):
        return is_answerable(type_.element)
    if isinstance(type_, Row):
        return all(is_answerable(field) for _, field in type_.fields)
    return isinstance(type_, Scalar) and _scalar(type_) is not None


def schema_of(outputs: Mapping[str, Type], choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Returns the JSON Schema of an object with a property for each output, all of them required.

    Args:
        outputs: The types by the name of the property.
        choices: The allowed texts of some of them.
    """
    properties = {
        name: {"type": "string", "enum": list(choices[name])} if name in choices else _schema(type_)
        for name, type_ in outputs.items()
    }
    return _object(properties)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(type_: Type) -> dict[str, Any]:
    if type_.nullable:
        return {"anyOf": [_schema(type_.required()), {"type": "null"}]}
    if isinstance(type_, Array):
        return _array(type_.element, type_.shape or (None,))
    if isinstance(type_, Row):
        return _object({name: _schema(field) for name, field in type_.fields})
    return {"type": _scalar(type_)}


def _array(element: Type, shape: Sequence[int | None]) -> dict[str, Any]:
    items = _schema(element) if len(shape) == 1 else _array(element, shape[1:])
    length = {} if shape[0] is None else {"minItems": shape[0], "maxItems": shape[0]}
    return {"type": "array", "items": items, **length}


def _scalar(type_: Type) -> str | None:
    name = type_.name if isinstance(type_, Scalar) else ""
    return "integer" if name in INTEGERS else _NAMES.get(name)
