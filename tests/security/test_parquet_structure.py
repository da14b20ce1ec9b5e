"""Parquet files whose footer or page headers contradict themselves, or say one thing to us and another to Arrow."""

from __future__ import annotations

import io
import itertools
import random
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.local.row_files import chunks_of
from beam_ensembles.tables import parquet_footer, parquet_pages, parquet_parts
from beam_ensembles.tables.parquet_files import ParquetReader
from beam_ensembles.tables.parquet_footer import ColumnPlace
from tests.support.fuzzing import EXAMPLES, Target, fuzz, target
from tests.support.thrift import Fields, footer, mutate, part, read, with_footer, written

_ROWS: Final = 20


def _file(chance: random.Random) -> bytes:
    columns = {
        "x": pa.array([1.0] * _ROWS),
        "s": pa.array([f"abc{at % 5}" for at in range(_ROWS)]),
        "l": pa.array([[1, 2], [], None, [3]] * 5),
        "r": pa.array([{"a": 1, "b": ["x"]}, None] * 10),
        "f": pa.array([b"abcd"] * _ROWS, pa.binary(4)),
        "m": pa.array([[("k", 1.5)], []] * 10, pa.map_(pa.string(), pa.float64())),
        "t": pa.array(range(_ROWS), pa.timestamp("ns", "UTC")),
    }
    names = chance.sample(sorted(columns), chance.randint(1, 4))
    file = io.BytesIO()
    pq.write_table(
        pa.table({name: columns[name] for name in names}),
        file,
        compression=chance.choice(["none", "snappy", "zstd", "gzip", "lz4", "brotli"]),
        use_dictionary=chance.random() < 0.5,
        data_page_version=chance.choice(["1.0", "2.0"]),
        row_group_size=chance.choice([7, _ROWS]),
        data_page_size=chance.choice([30, 10_000]),
        store_schema=chance.random() < 0.7,
    )
    return file.getvalue()


def _with_another_page(data: bytes, chance: random.Random) -> bytes:
    group = pq.read_metadata(io.BytesIO(data)).row_group(0)
    column = group.column(chance.randrange(group.num_columns))
    start = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
    header, end = read(data, start)
    mutate(header, chance)
    return data[:start] + (written(header) + data[end:])[: len(data) - start].ljust(len(data) - start, b"\0")


def attack(given: tuple[str, bytes]) -> str:
    """Reads a file; runs in a process of its own, which that could end."""
    path = f"{given[0]}/in.parquet"
    Path(path).write_bytes(given[1])
    try:
        chunks = list(chunks_of(ParquetReader(path), path, 8))
        return f"{sum(map(len, chunks))} rows"
    except (EnsembleError, OSError) as error:
        return f"{type(error).__name__}: {str(error)[:500]}"


@pytest.fixture(name="process", scope="module")
def _process() -> Iterator[Target]:
    with target(f"{__name__}:attack") as found:
        yield found


@fuzz(st.integers(0, 2**32), examples=max(EXAMPLES // 2, 1))
def test_a_footer_or_a_header_that_was_changed_ends_no_process(
    process: Target, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    data = _file(chance)
    if chance.random() < 0.3:
        data = _with_another_page(data, chance)
    else:
        pages, fields = footer(data)
        for _ in range(chance.randint(1, 3)):
            mutate(fields, chance)
        data = with_footer(pages, fields)
    outcome = process.attack((str(tmp_path), data))
    is_full = outcome.kind == "raised" and outcome.value[0] == "MemoryError"
    assert outcome.kind == "answered" or is_full, outcome


def _small(**options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"x": [1.0, 2.0], "s": ["a", "b"]}), file, **options)
    return file.getvalue()


def _column_twice(fields: Fields) -> None:
    columns = part(fields, 4, 0, 1)
    columns[1].append(columns[1][0])


def _longer_histogram(fields: Fields) -> None:
    sizes = part(fields, 4, 0, 1, 0, 3, 16)
    sizes[:] = [[3, 9, [6, [0, 1]]]]


def _histogram_of_no_column(fields: Fields) -> None:
    part(fields, 4, 0, 1, 0, 3).append([16, 12, [[2, 9, [6, [1, 2, 3]]]]])


@pytest.mark.parametrize("change", [_column_twice, _longer_histogram, _histogram_of_no_column])
def test_a_footer_that_contradicts_itself_ends_no_process(
    change: Callable[[Fields], None], process: Target, tmp_path: Path
) -> None:
    """Arrow throws an exception where pyarrow catches none: `run` and a worker with golden rows ended by SIGABRT."""
    pages, fields = footer(_small())
    change(fields)
    outcome = process.attack((str(tmp_path), with_footer(pages, fields)))
    assert outcome.kind == "answered", outcome


def _refused(data: bytes, folder: Path, match: str) -> None:
    path = folder / "in.parquet"
    path.write_bytes(data)
    with pytest.raises(InvalidEnsemble, match=match):
        ParquetReader(str(path))


@pytest.mark.parametrize(
    "field",
    [
        [7, 6, 1],  # twice
        [65_536 + 7, 6, 1],  # twice, once 16 bits are left of its number
        [15, 9, [15, [1]]],  # a list of a kind that there is not
    ],
)
def test_a_column_that_can_be_read_in_two_ways_is_refused(field: list[Any], tmp_path: Path) -> None:
    pages, fields = footer(_small())
    part(fields, 4, 0, 1, 0, 3).append(field)
    _refused(with_footer(pages, fields), tmp_path, "the file cannot be read: its footer is malformed")


@pytest.mark.parametrize(("number", "kind"), [(2, 6), (3, 6)])
def test_a_page_whose_size_is_of_another_kind_is_refused(number: int, kind: int, tmp_path: Path) -> None:
    """Arrow skips such a field, and takes the size from another one."""
    data = _small(use_dictionary=False, compression="none")
    header, end = read(data, 4)
    changed = [[field, kind if field == number else found, value] for field, found, value in header]
    assert len(written(changed)) == end - 4
    _refused(data[:4] + written(changed) + data[end:], tmp_path, "the header of a page is malformed")


def test_a_page_has_the_values_that_the_header_of_its_kind_says(tmp_path: Path) -> None:
    """A header of another kind beside it hid all pages behind it."""
    data = _small(use_dictionary=False, compression="none", data_page_version="2.0")
    header, _ = read(data, 4)
    other = [5, 12, [[1, 5, 1_000], [2, 5, 0], [3, 5, 3], [4, 5, 3]]]
    header.insert(next(at for at, one in enumerate(header) if one[0] == 8), other)
    path = tmp_path / "header"
    path.write_bytes(written(header))
    with path.open("rb") as file:
        ((found, _),) = parquet_pages._headers(file.fileno(), ColumnPlace(0, path.stat().st_size, 3), "x")
    assert parquet_pages._data(found)[1] == 2


def test_a_footer_of_empty_columns_takes_no_memory(tmp_path: Path) -> None:
    """Arrow made 250 bytes of each of its bytes."""
    pages, fields = footer(_small())
    part(fields, 4, 0, 1)[1] = [[]] * 200_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _refused(with_footer(pages, fields), tmp_path, "a column of it is encrypted")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000


def test_a_footer_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_footer, "_LONGEST", 100)
    _refused(_small(), tmp_path, "its footer has [0-9]+ bytes; 100 are allowed")


@pytest.mark.parametrize("kind", ["dictionaries", "wide values", "wide values of a dictionary", "prefixes"])
def test_columns_are_small_enough_together(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 20 columns was: a file of 4 kB took 5 GB."""
    rows, count = 100, 20
    texts = ["x" * 1_000 + str(at % 2) for at in range(rows)]
    column = pa.array(texts) if kind in ("dictionaries", "prefixes") else pa.array(texts, pa.binary(1_001))
    options: dict[str, Any] = {"use_dictionary": kind not in ("wide values", "prefixes")}
    table = pa.table({f"c{at}": column for at in range(count)})
    if kind == "prefixes":
        options["column_encoding"] = dict.fromkeys(table.column_names, "DELTA_BYTE_ARRAY")
    path = str(tmp_path / "in.parquet")
    pq.write_table(table, path, compression="zstd", **options)
    monkeypatch.setattr(parquet_parts, "_MOST_BYTES", 200_000)
    reader = ParquetReader(path)
    chunks = list(reader.chunks(rows))
    assert max(map(len, chunks)) <= 10
    assert [value for chunk in chunks for value in chunk.column("c7")] == column.to_pylist()


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip", "brotli", "lz4"])
def test_texts_of_lists_that_repeat_the_one_before_are_measured(
    compression: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of 2,000 texts in a file of 833 bytes took 2 GB."""
    texts = ["x" * (37 * at % 100) + str(at) for at in range(1_000)]
    path = str(tmp_path / "in.parquet")
    pq.write_table(
        pa.table({"z": [texts[:300], None, texts[300:]]}), path, compression=compression,
        data_page_version=version, use_dictionary=False, column_encoding={"z.list.element": "DELTA_BYTE_ARRAY"},
    )  # fmt: skip
    monkeypatch.setattr(parquet_pages, "_SMALL", 80_000)
    (pages,) = ParquetReader(path)._pages[0]
    common = [
        next(at for at, (a, b) in enumerate(zip(f"{one} ", f"{other}|", strict=False)) if a != b)
        for one, other in itertools.pairwise(texts)
    ]
    assert pages.prefixes == sum(common)
    monkeypatch.setattr(parquet_pages, "_LISTS_PER_BYTE", 0)
    monkeypatch.setattr(parquet_pages, "_SMALL", pages.listed - 1)
    with pytest.raises(InvalidEnsemble, match="the lists of row group 1 take"):
        ParquetReader(path)


def test_a_row_of_nothing_is_not_wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty columns of nulls, each of 200 MB, took 4 GB."""
    monkeypatch.setattr(parquet_pages, "_SMALL", 64 << 10)
    path = tmp_path / "in.parquet"
    nulls = pa.nulls(1, pa.binary(10_000))
    pq.write_table(pa.table({f"c{at}": nulls for at in range(20)}), path)
    with pytest.raises(InvalidEnsemble, match="a row of row group 1 takes 200000 bytes"):
        ParquetReader(str(path))
