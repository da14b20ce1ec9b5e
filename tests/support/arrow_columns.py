"""A column of every type that Arrow has, with values at the edges of each, nulls among them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

COUNT: Final = 6
"""Rows of each column."""


class Celsius(pa.ExtensionType):  # type: ignore[misc]
    """A type that a program defines: not registered, without a hash."""

    def __init__(self) -> None:
        super().__init__(pa.float64(), "tests.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Celsius:
        return cls()


def every_column() -> dict[str, pa.Array]:
    """Returns an array of ``COUNT`` values for each of Arrow's types, by a name."""
    found = {str(type_): _array(type_, values) for type_, values in [*_scalars(), *_times()]}
    found |= _nested(found)
    found |= _encoded(found)
    return found | _extensions()


def _array(type_: pa.DataType, values: list[Any]) -> pa.Array:
    return pa.array([*(values * COUNT)[: COUNT - 1], None], type_)


def _scalars() -> list[tuple[pa.DataType, list[Any]]]:
    texts = ["", "a", "longer than the twelve bytes of a view", 'ä", \n🍎', "null"]
    binary = [text.encode() + b"\xff" for text in texts]
    limits = {8: 2**7, 16: 2**15, 32: 2**31, 64: 2**63}
    return [
        (pa.null(), [None]),
        (pa.bool_(), [True, False]),
        *((getattr(pa, f"int{bits}")(), [-limit, limit - 1, 0]) for bits, limit in limits.items()),
        *((getattr(pa, f"uint{bits}")(), [2 * limit - 1, 0]) for bits, limit in limits.items()),
        (pa.float16(), [0.1, 65504.0, -0.0]),
        (pa.float32(), [0.1, 3.4e38, -0.0]),
        (pa.float64(), [0.1, 1.7e308, 5e-324]),
        *((kind(), texts) for kind in (pa.string, pa.large_string, pa.string_view)),
        *((kind(), binary) for kind in (pa.binary, pa.large_binary, pa.binary_view)),
        (pa.binary(3), [b"abc", b"\x00\xff\x00"]),
        (pa.decimal32(9, 2), [Decimal("1234567.89"), Decimal("-0.10")]),
        (pa.decimal64(18, 0), [Decimal(10**18 - 1)]),
        (pa.decimal128(38, 19), [Decimal("1234567890123456789.1234567890123456789")]),
        (pa.decimal256(76, 38), [Decimal("1" * 38 + "." + "9" * 38)]),
        (pa.decimal128(5, -3), [Decimal("12345E3")]),
    ]


def _times() -> list[tuple[pa.DataType, list[Any]]]:
    at = 1_704_067_200_123_456_789
    per_day = 86_400
    units = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    counts = {unit: [at // (10**9 // per), -1, 0, 10**9 * per] for unit, per in units.items()}
    return [
        *((pa.timestamp(unit), values) for unit, values in counts.items()),
        *((pa.timestamp(unit, "UTC"), values) for unit, values in counts.items()),
        (pa.timestamp("ns", "Europe/Berlin"), counts["ns"]),
        (pa.timestamp("us", "+05:30"), counts["us"]),
        *((pa.duration(unit), values) for unit, values in counts.items()),
        (pa.duration("ns"), [2**63 - 1, -(2**63) + 1]),
        *((pa.time32(unit), [0, per_day * units[unit] - 1]) for unit in ("s", "ms")),
        *((pa.time64(unit), [0, per_day * units[unit] - 1]) for unit in ("us", "ns")),
        (pa.date32(), [datetime.date(1, 1, 2), datetime.date(9999, 12, 30)]),
        (pa.date64(), [datetime.date(1969, 12, 31), datetime.date(9999, 12, 30)]),
        (pa.month_day_nano_interval(), [pa.MonthDayNano([1, -2, 3]), pa.MonthDayNano([0, 0, 2**62])]),
    ]


def _nested(scalars: dict[str, pa.Array]) -> dict[str, pa.Array]:
    found: dict[str, pa.Array] = {}
    inner = [
        "int64",
        "string",
        "string_view",
        "binary",
        "timestamp[ns]",
        "duration[ns]",
        "decimal32(9, 2)",
        "null",
    ]
    for name in inner:
        item = scalars[name]
        values = item.cast(pa.int64()).to_pylist() if "[ns]" in name else item.to_pylist()
        type_ = item.type
        lists = [values[:2], [], None, [None], values, values[:1]]
        makers = (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)
        found |= {str(kind(type_)): pa.array(lists, kind(type_)) for kind in makers}
        pairs = [values[:2], None, [None, None], values[:2], values[:2], [None, None]]
        found[str(pa.list_(type_, 2))] = pa.array(pairs, pa.list_(type_, 2))
        struct = pa.struct([("a", type_), ("b", pa.list_(pa.struct([("c", type_)])))])
        rows = [{"a": value, "b": [{"c": value}, None]} for value in values[:-1]]
        found[str(struct)] = pa.array([*rows, None], struct)
        map_ = pa.map_(pa.string(), type_)
        maps = [[("k", values[0]), ("l", None)], [], None, [("", values[1])], [], []]
        found[str(map_)] = pa.array(maps, map_)
        if name != "null":
            keys = pa.map_(type_, pa.int32())
            found[str(keys)] = pa.array([[(values[0], 1)], [], None, [(values[1], 2)], [], []], keys)
    of_rows = pa.map_(pa.struct([("a", pa.int64())]), pa.timestamp("ns"))
    found[str(of_rows)] = pa.array([[({"a": 1}, 1)], [], None, [], [], []], of_rows)
    return found


def _encoded(plain: dict[str, pa.Array]) -> dict[str, pa.Array]:
    found = {}
    for name in ("string", "int64", "timestamp[ns]", "large_binary", "string_view"):
        values = plain[name]
        indices = pa.array([0, 1, 0, 2, 1, None], pa.int8())
        found[f"dictionary of {name}"] = pa.DictionaryArray.from_arrays(indices, values)
        ends = pa.array([1, 2, COUNT], pa.int32())
        found[f"run ends of {name}"] = pa.RunEndEncodedArray.from_arrays(ends, values.slice(COUNT - 3))
    codes = pa.array([0, 1, 0, 1, 0, 1], pa.int8())
    of = [plain["int64"], plain["string"]]
    found["sparse union"] = pa.UnionArray.from_sparse(codes, of)
    offsets = pa.array([0, 0, 1, 1, 2, 2], pa.int32())
    found["dense union"] = pa.UnionArray.from_dense(codes, offsets, of)
    return found


def _extensions() -> dict[str, pa.Array]:
    stored: list[tuple[pa.DataType, list[Any]]] = [
        (Celsius(), [0.5, -1.0]),
        (pa.uuid(), [b"0123456789abcdef"]),
        (pa.json_(), ['{"a": 1}', "[]"]),
        (pa.bool8(), [1, 0]),
        (pa.opaque(pa.string(), "geometry", "tests"), ["POINT"]),
        (pa.fixed_shape_tensor(pa.float32(), [2]), [[0.5, 1.0]]),
    ]
    return {
        type_.extension_name: pa.ExtensionArray.from_storage(type_, _array(type_.storage_type, values))
        for type_, values in stored
    }
