"""The type language of ensemble files: text, frozen values, and the numpy dtype and shape of a batch.

``string bytes boolean int32 int64 float double timestamp``, ``array<T>``, ``array<T>[2,3]`` (a tensor of fixed
shape, row-major), ``map<K,V>``, ``row<a: T, b: U>``, and ``T?`` or ``optional<T>``. Inside the graph the other numpy
integers (``int8 int16 uint8 uint16 uint32 uint64``) and ``float16`` are types too; they do not cross to other
languages.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from beam_ensembles.limits import DEEPEST_TYPE, LARGEST_TENSOR, LONGEST_TYPE, MOST_DIMENSIONS
from beam_ensembles.messages.wording import nearest

PORTABLE_SCALARS: Final = ("string", "bytes", "boolean", "int32", "int64", "float", "double", "timestamp")
"""Scalars that every language can read and write, in the order in which messages list them."""

NUMPY_DTYPES: Final[dict[str, np.dtype]] = {
    "boolean": np.dtype(np.bool_),
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "uint8": np.dtype(np.uint8),
    "uint16": np.dtype(np.uint16),
    "uint32": np.dtype(np.uint32),
    "uint64": np.dtype(np.uint64),
    "float16": np.dtype(np.float16),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}
"""numpy's dtype of each scalar that has one; ``string``, ``bytes`` and ``timestamp`` are columns of objects."""

INTEGERS: Final = frozenset(name for name, dtype in NUMPY_DTYPES.items() if dtype.kind in "iu")
"""The scalars that are whole numbers."""
_WIDER: Final = {
    **dict.fromkeys(("int8", "int16", "uint8", "uint16"), "int32"),
    **dict.fromkeys(("uint32", "uint64"), "int64"),
    "float16": "float",
}
"""The next wider portable scalar; ``int64`` holds what rows have of ``uint64``."""

SCALARS: Final = tuple(dict.fromkeys((*PORTABLE_SCALARS, *NUMPY_DTYPES)))


MOST_OF_A_TENSOR: Final = f"a tensor has at most {LARGEST_TENSOR:,} numbers in {MOST_DIMENSIONS} dimensions"
"""What of a type that is too large."""


class TypeSyntaxError(ValueError):
    """A type's text does not parse; the message says where and what is allowed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Type:
    """A column's type. ``nullable`` says whether a row may hold no value there."""

    nullable: bool = dataclasses.field(default=False, kw_only=True)

    def _text(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{self._text()}?" if self.nullable else self._text()

    def optional(self) -> Type:
        """Returns the same type, nullable."""
        return dataclasses.replace(self, nullable=True)

    def required(self) -> Type:
        """Returns the same type, not nullable."""
        return dataclasses.replace(self, nullable=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Scalar(Type):
    """One value per row: text, bytes, a truth value, a number or a point in time."""

    name: str

    def _text(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True, slots=True)
class Array(Type):
    """A list of any length (``shape`` is None), or a tensor of fixed shape, row-major."""

    element: Type
    shape: tuple[int, ...] | None = None

    def _text(self) -> str:
        dims = "" if self.shape is None else f"[{','.join(map(str, self.shape))}]"
        return f"array<{self.element}>{dims}"


@dataclasses.dataclass(frozen=True, slots=True)
class Map(Type):
    """A mapping from keys to values."""

    key: Type
    value: Type

    def _text(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclasses.dataclass(frozen=True, slots=True)
class Row(Type):
    """A nested row: named fields in order."""

    fields: tuple[tuple[str, Type], ...]

    def _text(self) -> str:
        return f"row<{', '.join(f'{name}: {type_}' for name, type_ in self.fields)}>"


STRING: Final = Scalar("string")
BYTES: Final = Scalar("bytes")
BOOLEAN: Final = Scalar("boolean")
INT32: Final = Scalar("int32")
INT64: Final = Scalar("int64")
FLOAT: Final = Scalar("float")
DOUBLE: Final = Scalar("double")
TIMESTAMP: Final = Scalar("timestamp")
MICROS_INSTANT: Final = "beam:logical_type:micros_instant:v1"
MILLIS_INSTANT: Final = "beam:logical_type:millis_instant:v1"
INSTANTS: Final = (MICROS_INSTANT, MILLIS_INSTANT)
"""Beam's logical types that are timestamps."""

_TOKEN = re.compile(r"\s*([A-Za-z_][\w.-]*|\d+|[<>\[\],:?])")
_MOST_DIGITS = 20
_SHAPE_NEEDS_NUMBERS = "only an array of numbers or booleans has a fixed shape"


def parse_type(text: str) -> Type:
    """Reads a type's text.

    Args:
        text: Such as ``array<double>[64]`` or ``row<label: string, score: float?>``.

    Returns:
        The type.

    Raises:
        TypeSyntaxError: The text is not a type, or exceeds a limit of ``limits``; the message says what is wrong at
            which character.
    """
    if len(text) > LONGEST_TYPE:
        raise TypeSyntaxError(f"the type has {len(text):,} characters; a type has {LONGEST_TYPE:,} at most")
    return _Parser(text).parse()


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:197]}...")


class _Parser:
    """Recursive descent over the tokens of one type."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._scan(text))
        self._at = 0
        self._depth = 0

    def _scan(self, text: str) -> Iterator[tuple[str, int]]:
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if not match:
                found = text[at : at + 100].lstrip()[:1]
                raise TypeSyntaxError(f"unexpected character {found!r} in the type {_shown(text)}")
            yield match.group(1), match.start(1)
            at = match.end()

    def parse(self) -> Type:
        found = self._type()
        if self._at < len(self._tokens):
            raise self._error("the end of the type")
        return found

    def _peek(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            raise self._error(f"'{wanted}'")
        self._at += 1

    def _error(self, wanted: str) -> TypeSyntaxError:
        if self._at < len(self._tokens):
            token, at = self._tokens[self._at]
            return TypeSyntaxError(
                f"expected {wanted}, found '{token[:40]}' at character {at + 1} of {_shown(self._text)}"
            )
        hint = " (in YAML a type with '<', '[' or '?' must be quoted)" if "<" in self._text else ""
        return TypeSyntaxError(f"expected {wanted}, but {_shown(self._text)} ends there{hint}")

    def _type(self) -> Type:
        word = self._peek()
        if not word or not (word[0].isalpha() or word[0] == "_"):
            raise self._error("a type")
        start = self._at
        self._at += 1
        self._depth += 1
        if self._depth > DEEPEST_TYPE:
            raise TypeSyntaxError(f"the type is nested more than {DEEPEST_TYPE} deep")
        if word == "array":
            found = self._array()
        elif word == "map":
            found = self._map()
        elif word == "row":
            found = self._row()
        elif word == "optional":
            self._take("<")
            found = self._type().optional()
            self._take(">")
        elif word in SCALARS:
            found = Scalar(word)
        else:
            self._at = start
            raise self._unknown(word)
        if self._peek() == "?":
            self._at += 1
            found = found.optional()
        self._depth -= 1
        return found

    def _unknown(self, word: str) -> TypeSyntaxError:
        known = (*PORTABLE_SCALARS, "array<T>", "array<T>[2,3]", "map<K,V>", "row<a: T>", "optional<T>")
        near = nearest(_ALIASES.get(word.lower(), word), (*SCALARS, "array", "map", "row", "optional"))
        return TypeSyntaxError(f"unknown type '{word[:40]}'{near or ''} (types: {', '.join(known)})")

    def _array(self) -> Type:
        self._take("<")
        element = self._type()
        self._take(">")
        if self._peek() != "[":
            return Array(element)
        self._at += 1
        shape = [self._dimension()]
        while self._peek() == ",":
            self._at += 1
            shape.append(self._dimension())
        self._take("]")
        if element.nullable or not isinstance(element, Scalar) or element.name not in NUMPY_DTYPES:
            raise TypeSyntaxError(f"{_shown(self._text)}: {_SHAPE_NEEDS_NUMBERS}")
        if _is_too_large(shape):
            raise TypeSyntaxError(f"{_shown(self._text)} is too large: {MOST_OF_A_TENSOR}")
        return Array(element, tuple(shape))

    def _dimension(self) -> int:
        word = self._peek()
        if not (word.isascii() and word.isdecimal()) or not word.lstrip("0"):
            raise self._error("a dimension (a whole number of at least 1)")
        self._at += 1
        return int(word) if len(word) <= _MOST_DIGITS else LARGEST_TENSOR + 1

    def _map(self) -> Type:
        self._take("<")
        key = self._type()
        self._take(",")
        value = self._type()
        self._take(">")
        return Map(key, value)

    def _row(self) -> Type:
        self._take("<")
        fields: list[tuple[str, Type]] = [self._field()]
        while self._peek() == ",":
            self._at += 1
            fields.append(self._field())
        self._take(">")
        names = [name for name, _ in fields]
        if len(set(names)) < len(names):
            raise TypeSyntaxError(f"{_shown(self._text)} names a field twice")
        return Row(tuple(fields))

    def _field(self) -> tuple[str, Type]:
        name = self._peek()
        if not name or not (name[0].isalpha() or name[0] == "_"):
            raise self._error("a field's name")
        self._at += 1
        self._take(":")
        return name, self._type()


_ALIASES: Final = {
    "str": "string", "text": "string", "bool": "boolean", "int": "int64", "integer": "int64", "long": "int64",
    "float32": "float", "float64": "double", "datetime": "timestamp", "binary": "bytes",
    "list": "array", "tensor": "array", "dict": "map", "struct": "row",
}  # fmt: skip


def dtype_of(type_: Type) -> np.dtype | None:
    """Returns the numpy dtype of a scalar's or a tensor's values, or None where a column holds objects."""
    if isinstance(type_, Array):
        return dtype_of(type_.element) if type_.shape is not None else None
    return NUMPY_DTYPES.get(type_.name) if isinstance(type_, Scalar) else None


def row_shape(type_: Type) -> tuple[int, ...]:
    """Returns the shape of one row's value: ``()`` for a scalar, the dimensions for a tensor."""
    return type_.shape if isinstance(type_, Array) and type_.shape is not None else ()


def holds_too_large(type_: Type) -> bool:
    """Whether a type is or holds a tensor that no file may declare; what a model says of itself may be one."""
    if isinstance(type_, Array):
        return _is_too_large(type_.shape or ()) or holds_too_large(type_.element)
    if isinstance(type_, Map):
        return holds_too_large(type_.value)
    return isinstance(type_, Row) and any(holds_too_large(field) for _, field in type_.fields)


def _is_too_large(shape: Sequence[int]) -> bool:
    return len(shape) > MOST_DIMENSIONS or math.prod(shape) > LARGEST_TENSOR


def width_of(type_: Type) -> int | None:
    """Returns how many numbers one row holds (1 for a scalar), or None where the type is not numeric or ragged."""
    if dtype_of(type_) is None:
        return None
    return int(np.prod(row_shape(type_), dtype=np.int64))


def fields_within(type_: Type) -> int:
    """Returns how many fields the rows within a type have, those of inner rows included."""
    if isinstance(type_, Array):
        return fields_within(type_.element)
    if isinstance(type_, Map):
        return fields_within(type_.key) + fields_within(type_.value)
    return sum(1 + fields_within(field) for _, field in type_.fields) if isinstance(type_, Row) else 0


def has_instants(type_: Type) -> bool:
    """Returns whether values of a type are points in time or hold some."""
    if isinstance(type_, Array):
        return has_instants(type_.element)
    if isinstance(type_, Map):
        return has_instants(type_.key) or has_instants(type_.value)
    if isinstance(type_, Row):
        return any(has_instants(field) for _, field in type_.fields)
    return isinstance(type_, Scalar) and type_.name == "timestamp"


def widened(type_: Type) -> Type:
    """Returns a type whose scalars can all cross, widened where they cannot: ``int32`` for ``uint8``."""
    if isinstance(type_, Scalar):
        return dataclasses.replace(type_, name=_WIDER.get(type_.name, type_.name))
    if isinstance(type_, Array):
        return dataclasses.replace(type_, element=widened(type_.element))
    if isinstance(type_, Map):
        return dataclasses.replace(type_, key=widened(type_.key), value=widened(type_.value))
    if isinstance(type_, Row):
        return dataclasses.replace(
            type_, fields=tuple((name, widened(field)) for name, field in type_.fields)
        )
    return type_


def is_portable(type_: Type) -> bool:
    """Returns whether values of the type can cross to the other languages."""
    if isinstance(type_, Scalar):
        return type_.name in PORTABLE_SCALARS
    if isinstance(type_, Array):
        return is_portable(type_.element)
    if isinstance(type_, Map):
        return is_portable(type_.key) and is_portable(type_.value)
    return isinstance(type_, Row) and all(is_portable(field) for _, field in type_.fields)


def depth_of(type_: Type) -> int:
    """Returns how many types stand within each other: 1 for a scalar."""
    if isinstance(type_, Array):
        return 1 + depth_of(type_.element)
    if isinstance(type_, Map):
        return 1 + max(depth_of(type_.key), depth_of(type_.value))
    if isinstance(type_, Row):
        return 1 + max((depth_of(field) for _, field in type_.fields), default=0)
    return 1


def widens(found: Type, wanted: Type, *, python: bool = False) -> bool:
    """Returns whether values of ``found`` can stand where ``wanted`` is declared without loss.

    Args:
        found: The type of the values.
        wanted: The declared type.
        python: Whether ``int64`` and ``double`` only say that the values are Python's ``int`` and ``float``, its only
            numbers. Those are looked at one by one (``columns.exact_numbers``).

    Integers may become wider integers or ``double`` (``int32`` also ``double`` only, since ``float`` holds 24 bits),
    ``float`` may become ``double``; a value may stand where a null is allowed, never the other way round. An
    array of any length may stand where a tensor is declared: the length is checked on every row. The fields of rows
    are compared by name, in any order.
    """
    if found.nullable and not wanted.nullable:
        return False
    if isinstance(found, Scalar) and isinstance(wanted, Scalar):
        if python and wanted.name in _OF_PYTHON.get(found.name, ()):
            return True
        return found.name == wanted.name or _widens_scalar(found.name, wanted.name)
    if isinstance(found, Array) and isinstance(wanted, Array):
        same_shape = found.shape is None or wanted.shape is None or found.shape == wanted.shape
        return same_shape and widens(found.element, wanted.element, python=python)
    if isinstance(found, Map) and isinstance(wanted, Map):
        return widens(found.key, wanted.key, python=python) and widens(
            found.value, wanted.value, python=python
        )
    if isinstance(found, Row) and isinstance(wanted, Row):
        fields = dict(found.fields)
        found_names, wanted_names = (sorted(name for name, _ in row.fields) for row in (found, wanted))
        return found_names == wanted_names and all(
            widens(fields[name], of, python=python) for name, of in wanted.fields
        )
    return False


def same_order(found: Type, wanted: Type) -> bool:
    """Returns whether the rows within two types, one of which holds the other's values, have one order of fields."""
    if isinstance(found, Array) and isinstance(wanted, Array):
        return same_order(found.element, wanted.element)
    if isinstance(found, Map) and isinstance(wanted, Map):
        return same_order(found.value, wanted.value)
    if isinstance(found, Row) and isinstance(wanted, Row):
        return all(
            name == other and same_order(of, wanted_of)
            for (name, of), (other, wanted_of) in zip(found.fields, wanted.fields, strict=True)
        )
    return True


_FLOATS: Final = tuple(name for name, dtype in NUMPY_DTYPES.items() if dtype.kind == "f")
_NUMBERS: Final = tuple(name for name in NUMPY_DTYPES if name != "boolean")
_OF_PYTHON: Final = {"double": _FLOATS, "int64": _NUMBERS}
"""What may be declared where Beam says ``double`` or ``int64`` of a Python ``float`` or ``int``."""


def _widens_scalar(found: str, wanted: str) -> bool:
    if "boolean" in (found, wanted) or found not in NUMPY_DTYPES or wanted not in NUMPY_DTYPES:
        return False
    return np.can_cast(NUMPY_DTYPES[found], NUMPY_DTYPES[wanted], casting="safe")
