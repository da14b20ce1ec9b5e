"""What a database's value becomes in a column of each type, and what is refused."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.functions.lookup.values import column_of, converter
from beam_ensembles.graph.kinds import validity
from beam_ensembles.types import parse_type

PARIS = datetime.timezone(datetime.timedelta(hours=2))
DAY = datetime.date(2024, 5, 6)


@pytest.mark.parametrize(
    ("type_", "value", "wanted"),
    [
        ("string", "ä", "ä"),
        ("string", uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("string", DAY, "2024-05-06"),
        ("string", datetime.datetime(2024, 5, 6, 7, tzinfo=PARIS), "2024-05-06T07:00:00+02:00"),
        ("string", datetime.time(7, 8), "07:08:00"),
        ("bytes", memoryview(b"\0a"), b"\0a"),
        ("boolean", True, True),
        ("boolean", 0, False),
        ("int32", -(2**31), -(2**31)),
        ("int64", Decimal("7"), 7),
        ("int64", Decimal("1E+2"), 100),
        ("uint8", 255, 255),
        ("float", Decimal("0.5"), 0.5),
        ("float", float("inf"), float("inf")),
        ("double", 3, 3.0),
        ("timestamp", datetime.datetime(2024, 5, 6, 9, 8, 9, tzinfo=PARIS), Timestamp(1714979289)),
        ("timestamp", datetime.datetime(1969, 12, 31, 23, 59, 59, 1), Timestamp(micros=-999_999)),
        ("timestamp", DAY, Timestamp(1714953600)),
        ("timestamp", "2024-05-06 07:08:09.25+02:00", Timestamp(micros=1714972089_250_000)),
        ("timestamp", "2024-05-06T07:08:09.123456000Z", Timestamp(micros=1714979289_123_456)),
        ("array<double>", [1, Decimal("2.5")], [1.0, 2.5]),
        ("array<float>[2]", (1, 2), [1.0, 2.0]),
        ("array<string>", [], []),
        ("map<string,int64>", {"a": Decimal(1)}, {"a": 1}),
        ("row<a: int64, b: array<string>>", {"a": 1, "b": ["x"], "c": None}, {"a": 1, "b": ["x"]}),
    ],
)
def test_what_a_type_takes(type_: str, value: Any, wanted: Any) -> None:
    found = converter(parse_type(type_))(value)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("string", 1),
        ("string", b"a"),
        ("bytes", "a"),
        ("boolean", 2),
        ("boolean", "true"),
        ("int32", 2**31),
        ("int64", True),
        ("int64", 1.0),
        ("int64", Decimal("1.5")),
        ("int64", Decimal("NaN")),
        ("int64", Decimal("Infinity")),
        ("uint8", -1),
        ("float", 1e39),
        ("double", 10**400),
        ("double", "1.5"),
        ("double", False),
        ("timestamp", 1714979289),
        ("timestamp", "yesterday"),
        ("timestamp", "2024-05-06T07:08:09.123456789Z"),
        ("timestamp", datetime.time(7, 8)),
        ("array<double>", "12"),
        ("array<double>", ["a"]),
        ("array<float>[2]", [1, 2, 3]),
        ("array<int64>", [Decimal("Infinity")]),
        ("map<string,int64>", [1]),
        ("row<a: int64>", {}),
    ],
)
def test_what_a_type_refuses(type_: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        converter(parse_type(type_))(value)


@pytest.mark.parametrize("type_", ["double", "string", "array<float>[2]", "array<double>"])
def test_a_column_without_any_value(type_: str) -> None:
    found = column_of([None, None], parse_type(type_), "c")
    assert found[validity("c")].tolist() == [False, False]
    assert len(found["c"]) == 2


def test_a_column_of_tensors_has_their_shape() -> None:
    found = column_of([[1.0, 2.0], None, [3.0, 4.0]], parse_type("array<float>[2]"), "c")
    assert (found["c"].dtype, found["c"].shape) == (np.float32, (3, 2))
    assert found["c"][found[validity("c")]].tolist() == [[1, 2], [3, 4]]
    assert list(column_of([], parse_type("double"), "c")) == ["c"]
