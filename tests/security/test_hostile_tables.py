"""Untrusted tables: values and rows of few bytes that stand for hours or gigabytes."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Final

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.functions.lookup.values import converter
from beam_ensembles.limits import MOST_ROW_FIELDS
from beam_ensembles.tables.formats import Columns, open_reader
from beam_ensembles.types import parse_type

_SECONDS: Final = 10.0


@pytest.mark.parametrize("type_", ["int64", "array<int64>", "map<string,int64>"])
def test_a_decimal_of_a_database_is_not_written_out(type_: str) -> None:
    number = Decimal("1e300000")  # as digits this takes five seconds, ten times the exponent ten minutes
    start = time.process_time()
    with pytest.raises(ValueError):  # noqa: PT011 - it says nothing
        converter(parse_type(type_))({"int64": number, "array<int64>": [number]}.get(type_, {"a": number}))
    assert time.process_time() - start < 1.0


def test_decimals_of_a_database_within_the_range_keep_all_digits() -> None:
    assert converter(parse_type("int64"))(Decimal(2**63 - 1)) == 2**63 - 1
    assert converter(parse_type("array<int64>"))([Decimal(-(2**63))]) == [-(2**63)]
    assert converter(parse_type("array<double>"))([Decimal("1e300")]) == [1e300]


_FLAT: Final = [{f"k{at}.{count}": 1 for count in range(100)} for at in range(200)]
_NESTED: Final = [{"x": [{f"k{at}": {f"l{at}.{count}": 1 for count in range(100)}}]} for at in range(200)]


@pytest.mark.parametrize(
    ("rows", "output", "is_refused"),
    [
        (_FLAT, "o.parquet", True),
        (_FLAT, "o.csv", True),
        (_FLAT, "o.jsonl", False),
        (_NESTED, "o.parquet", True),
        (_NESTED, "o.csv", False),
        (_NESTED, "o.jsonl", False),
        ([dict.fromkeys(map(str, range(200_000)), 1)], "o.jsonl", False),
        ([dict.fromkeys(map(str, range(200_000)), 1)], "o.parquet", True),
    ],
)
def test_rows_of_many_fields_are_refused_where_each_would_get_all(
    rows: list[dict[str, object]], output: str, is_refused: bool, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    start = time.process_time()
    if is_refused:
        with pytest.raises(
            InvalidEnsemble, match=rf"more than {MOST_ROW_FIELDS:,} different fields.*write \.jsonl"
        ):
            open_reader(str(path), Columns({}, ()), output)
    else:
        assert sum(map(len, open_reader(str(path), Columns({}, ()), output).chunks(1_024))) == len(rows)
    assert time.process_time() - start < _SECONDS
