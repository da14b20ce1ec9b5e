"""Rows of other languages on the wire: a positional coder that takes every schema as it stands.

Beam's own ``RowCoder`` refuses logical types that Python does not know and field names that are not Python
identifiers, and gives back the first type ever seen under a schema's id (Go's ids are hashes of a type's name). This
coder hands Beam's compiled implementation a neutral schema instead: logical types replaced by their representation,
ids made from the content, and fields ``f0, f1, ...`` where their names cannot be those of Python's attributes. Elements
are tuples, field by position; those of a pipeline written in Python are reached by name too.

Written for Apache Beam 2.77.
"""

from __future__ import annotations

import collections
import copyreg
import functools
import hashlib
import keyword
import operator
import re
from collections.abc import Sequence
from typing import Any, Final

from apache_beam.coders import typecoders
from apache_beam.coders.coders import (
    Coder,
    DecimalCoder,
    FastCoder,
    IterableCoder,
    MapCoder,
    NullableCoder,
    StrUtf8Coder,
)
from apache_beam.coders.row_coder import RowCoder
from apache_beam.portability import common_urns
from apache_beam.portability.api import schema_pb2
from apache_beam.typehints import typehints

from beam_ensembles.beam_repairs.bounded_lists import BoundedRows, bounded
from beam_ensembles.beam_repairs.bounded_rows import BoundedStream, fence_for
from beam_ensembles.beam_repairs.exact_decimals import ExactDecimalCoder
from beam_ensembles.types import INSTANTS

_OWN_ENCODING: Final = (*INSTANTS, "beam:logical_type:decimal:v1")
"""Logical types that Beam's own coders read: points in time, which models take and give, and those whose bytes are not
those of their representation."""
_POSITIONAL: Final = re.compile(r"f\d+")


class RowType(typehints.TypeConstraint):
    """The type hint of rows that are tuples in the order of a schema.

    Args:
        schema: The schema exactly as it crosses the wire, ids included.
    """

    def __init__(self, schema: schema_pb2.Schema) -> None:
        self.schema = schema
        self._key = schema.SerializeToString(deterministic=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowType) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"RowType({', '.join(field.name for field in self.schema.fields)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_row_type, (self._key,)

    def _consistent_with_check_(self, sub: object) -> bool:
        return self == sub

    def type_check(self, instance: object) -> None:
        """Accepts what the coder accepts: a tuple with one item a field."""
        if not isinstance(instance, tuple) or len(instance) != len(self.schema.fields):
            raise typehints.CompositeTypeHintError(f"{self!r} is a tuple of {len(self.schema.fields)} items")


def _restore_row_type(key: bytes) -> RowType:
    return RowType(schema_pb2.Schema.FromString(key))


class PositionalRowCoder(FastCoder):
    """Encodes tuples as ``beam:coder:row:v1`` by position.

    Args:
        schema: The schema as it crosses the wire.
    """

    def __init__(self, schema: schema_pb2.Schema) -> None:
        self.schema = schema

    @functools.cached_property
    def _rows(self) -> Any:
        """Beam's coder, created when rows cross, because Beam keeps a class for each coder's schema forever."""
        return _bounded(RowCoder(neutral_schema(self.schema)))

    def _create_impl(self) -> Any:
        return BoundedRows(self._rows.schema, self._rows.components, self._fence)

    def stream(self, data: bytes) -> Any:
        """Returns a stream for rows that refuses lengths beyond its end."""
        return BoundedStream(data, self._fence)

    @functools.cached_property
    def _fence(self) -> int:
        return fence_for(_fields(self.schema))

    def decode(self, encoded: bytes) -> Any:
        """Reads one row.

        Raises:
            EnsembleError: A length in it goes beyond its end.
        """
        return self.get_impl().decode(encoded)  # type: ignore[no-untyped-call]

    def is_deterministic(self) -> bool:
        return bool(self._rows.is_deterministic())

    def to_type_hint(self) -> RowType:
        return RowType(self.schema)

    @classmethod
    def from_type_hint(cls, hint: Any, registry: Any) -> Any:
        return cls(hint.schema)

    def to_runner_api_parameter(self, context: Any) -> tuple[str, schema_pb2.Schema, list[Coder]]:
        return common_urns.coders.ROW.urn, self.schema, []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositionalRowCoder) and self.schema == other.schema

    def __hash__(self) -> int:
        return hash(self.schema.SerializeToString(deterministic=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_coder, (self.schema.SerializeToString(),)


class AnyText(StrUtf8Coder):
    """Reads texts that are not UTF-8, too, which Go may send, and writes the same bytes: one must not lose a bundle.

    Bytes that are none of UTF-8 are lone surrogates in Python, which no column takes.
    """

    def encode(self, value: str) -> bytes:
        return value.encode("utf-8", "surrogateescape")

    def decode(self, value: bytes) -> str:
        return value.decode("utf-8", "surrogateescape")


_WITHIN: Final = {
    NullableCoder: ("_value_coder",),
    IterableCoder: ("_elem_coder",),
    MapCoder: ("_key_coder", "_value_coder"),
}


def _bounded(coder: Any) -> Any:
    """Puts ``AnyText`` and ``ExactDecimalCoder`` into a coder of Beam's, and what refuses counts that lie."""
    if type(coder) is StrUtf8Coder:
        return AnyText()
    if type(coder) is DecimalCoder:
        return ExactDecimalCoder()
    if isinstance(coder, RowCoder):
        coder.components = [_bounded(component) for component in coder.components]
    for name in _WITHIN.get(type(coder), ()):
        setattr(coder, name, _bounded(getattr(coder, name)))
    return bounded(coder)


def _fields(schema: schema_pb2.Schema) -> int:
    """Returns how many values a row has, those of one element of each list included."""
    return 1 + sum(_values(field.type) for field in schema.fields)


def _values(found: schema_pb2.FieldType) -> int:
    info = found.WhichOneof("type_info")
    if info == "row_type":
        return 1 + _fields(found.row_type.schema)
    if info == "logical_type":
        return 1 + _values(found.logical_type.representation)
    if info in ("array_type", "iterable_type"):
        return 1 + _values(getattr(found, info).element_type)
    if info == "map_type":
        return 1 + _values(found.map_type.key_type) + _values(found.map_type.value_type)
    return 1


def _restore_coder(schema: bytes) -> PositionalRowCoder:
    return PositionalRowCoder(schema_pb2.Schema.FromString(schema))


def register_row_type() -> None:
    """Registers the coder of a ``RowType`` with Beam; enough where a pipeline only writes such rows."""
    typecoders.registry.register_coder(RowType, PositionalRowCoder)


def install() -> None:
    """Registers this coder for ``beam:coder:row:v1`` in this process: the service and its workers."""
    register_row_type()
    Coder.register_urn(common_urns.coders.ROW.urn, schema_pb2.Schema, _from_proto)


def _from_proto(schema: Any, components: Any, context: Any) -> PositionalRowCoder:
    return PositionalRowCoder(schema)


def neutral_schema(schema: schema_pb2.Schema) -> schema_pb2.Schema:
    """Returns a schema of the same bytes on the wire that Beam's ``RowCoder`` takes without looking at names."""
    neutral = schema_pb2.Schema(encoding_positions_set=schema.encoding_positions_set)
    for name, field in zip(_names(schema), schema.fields, strict=True):
        neutral.fields.add(
            name=name,
            type=_neutral_type(field.type),
            id=field.id,
            encoding_position=field.encoding_position,
        )
    neutral.id = (
        f"positional-{hashlib.sha256(neutral.SerializeToString(deterministic=True)).hexdigest()[:24]}"
    )
    return neutral


def _names(schema: schema_pb2.Schema) -> list[str]:
    """Returns the fields' own names where a Python tuple can have all of them, else ``f0, f1, ...``."""
    names = [field.name for field in schema.fields]
    if all(_is_free(name) for name in names) and len(set(names)) == len(names):
        return names
    return [f"f{index}" for index in range(len(names))]


def _is_free(name: str) -> bool:
    """Whether a field of a Python tuple can have a name, and ``row_class`` means no other field by it."""
    taken = keyword.iskeyword(name) or name.startswith("_") or _POSITIONAL.fullmatch(name)
    return name.isascii() and name.isidentifier() and not taken


def _neutral_type(found: schema_pb2.FieldType) -> schema_pb2.FieldType:
    neutral = schema_pb2.FieldType(nullable=found.nullable)
    info = found.WhichOneof("type_info")
    if info == "atomic_type":
        neutral.atomic_type = found.atomic_type
    elif info in ("array_type", "iterable_type"):
        neutral.array_type.element_type.CopyFrom(_neutral_type(getattr(found, info).element_type))
    elif info == "map_type":
        neutral.map_type.key_type.CopyFrom(_neutral_type(found.map_type.key_type))
        neutral.map_type.value_type.CopyFrom(_neutral_type(found.map_type.value_type))
    elif info == "row_type":
        neutral.row_type.schema.CopyFrom(neutral_schema(found.row_type.schema))
    elif info == "logical_type" and found.logical_type.urn in _OWN_ENCODING:
        neutral.logical_type.CopyFrom(found.logical_type)
    elif info == "logical_type":
        neutral.CopyFrom(_neutral_type(found.logical_type.representation))
        neutral.nullable = neutral.nullable or found.nullable
    return neutral


@functools.lru_cache(maxsize=256)
def row_class(names: tuple[str, ...]) -> Any:
    """Returns a tuple class whose instances the coders can encode.

    Fields are reached as ``f0, f1, ...``, as the positional coder does, and by their own names whatever these are, as
    Beam's coder does on a worker where ``install`` was not called.
    """
    positional = [f"f{index}" for index in range(len(names))]
    cls: Any = collections.namedtuple("PositionalRow", positional)  # type: ignore[misc]
    for index, name in enumerate(names):
        if name not in positional:
            setattr(cls, name, getattr(cls, positional[index]))
    # Read by columns/nested_rows.py.
    cls.__row_names__ = names  # type: ignore[attr-defined]
    copyreg.pickle(cls, lambda row: (_restore_row, (names, tuple(row))))  # Made here: no module has it.
    return cls


def _restore_row(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return row_class(names)(*values)


def getter(positions: Sequence[int]) -> Any:
    """Returns a fast function from a tuple to the tuple of its items at some positions."""
    if len(positions) == 1:
        (only,) = positions
        return lambda row: (row[only],)
    return operator.itemgetter(*positions) if positions else lambda row: ()
