"""Files of rows that lie: ``run`` scores or reports every row of them, or says what is wrong with the file."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

from beam_ensembles.cli.run_scoring import Call, score_file
from beam_ensembles.errors import EnsembleError
from tests.support.fuzzing import EXAMPLES, fuzz, mutated, target

_ENSEMBLE: Final = """\
ensemble: e
inputs: {x: double, t: string?, a: "array<double>?", w: timestamp?}
nodes:
  n: {apply: sql, select: {y: x + 1, u: UPPER(t)}}
  m: {apply: sql, when: ARRAY_LENGTH(a) > 1, select: {s: ARRAY_SUM(a), h: EXTRACT(year FROM w)}}
"""
_CSV: Final = (
    'x,t,a,w,z\n1,a,"[1,2]",2024-01-01,b\n2,,,,\n-3e5,"q""\n",[],2024-01-01T00:00:00Z,é\n4,"a,b","[NaN]",,\n'
).encode()
_JSON: Final = (
    '{"x": 1, "t": "a", "a": [1, 2], "w": "2024-01-01", "z": {"k": [1, "é"]}}\n{"x": 2.5}\n\n'
    '{"x": NaN, "t": null, "a": [], "z": 18446744073709551616}\n{"x": 1e999, "t": "\\u00e9", "z": []}\n'
).encode()
_FEW: Final = max(EXAMPLES // 5, 1)
_SUFFIXES: Final = (".jsonl", ".csv", ".parquet")


def parquet(tmp: Path, *, compression: str = "none", dictionary: bool = True) -> bytes:
    columns = {
        "x": pa.array([1.0, 2.0, None, 4.0] * 10),
        "t": pa.array(["a", None, "é", "long" * 20] * 10),
        "a": pa.array([[1.0, 2.0], [], None, [3.0]] * 10),
        "w": pa.array([0, 1, None, 3] * 10, pa.timestamp("us", "UTC")),
        "z": pa.array([{"k": [1], "m": "b"}, None, {"k": [], "m": None}, {"k": None, "m": "c"}] * 10),
    }
    path = tmp / "made.parquet"
    pq.write_table(pa.table(columns), path, compression=compression, use_dictionary=dictionary)
    return path.read_bytes()


def scored(given: tuple[str, str, bytes], suffix: str | None = None) -> tuple[int, int, int]:
    """Scores a file; gives how many rows the summary, the output and the errors have."""
    folder, name, data = Path(given[0]), given[1], given[2]
    (folder / "e.yaml").write_text(_ENSEMBLE)
    (folder / name).write_bytes(data)
    out = folder / f"out{suffix or random.choice(_SUFFIXES)}"
    errors = folder / "out.errors.jsonl"
    call = Call(
        file=str(folder / "e.yaml"),
        input=str(folder / name),
        output=str(out),
        errors=str(errors),
        batch_size=7,
    )
    summary = score_file(call, lambda *_, **__: None)
    failed = errors.read_text().count("\n") if errors.exists() else 0
    assert failed == summary.failed
    if out.suffix == ".parquet":
        assert pq.ParquetFile(out).metadata.num_rows == summary.scored
    elif out.suffix == ".jsonl":
        assert out.read_bytes().count(b"\n") == summary.scored
    return summary.scored + summary.failed, summary.scored, summary.failed


def attack(given: tuple[str, str, bytes]) -> str:
    """Runs in a process of its own: reading Parquet is C++."""
    try:
        return str(scored(given))
    except (EnsembleError, OSError) as error:
        return f"{type(error).__name__}: {str(error)[:500]}"


@fuzz(mutated(_CSV), examples=_FEW)
def test_csv(tmp_path: Path, data: bytes) -> None:
    attack((str(tmp_path), "in.csv", data))


_GOOD_RECORDS: Final = (
    b'1,a,"[1,2]",2024-01-01,%d',
    b"2,,,,%d",
    b'-3e5,"q""\n",[],2024-01-01T00:00:00Z,%d',
    b'4,"a,\r\nb","[3, 4]",,%d',
    b"5,\xc3\xa9,,,%d",
)
_BAD_RECORDS: Final = (
    b"1,a",
    b"1,a,,,%d,more",
    b'"1"2,a,,,%d',
    b"1,\xff,,,%d",
    b"x,,,,%d",
    b",a,,,%d",
    b"1,a,[1,,%d",
    b"1,a,,yesterday,%d",
)


@fuzz(
    st.lists(st.sampled_from(_GOOD_RECORDS + _BAD_RECORDS), min_size=1, max_size=30),
    st.sampled_from([b"\n", b"\r\n", b"\n\n"]),
    examples=_FEW,
)
def test_each_record_of_csv_is_scored_or_reported_once(
    tmp_path: Path, records: list[bytes], end: bytes
) -> None:
    data = b"x,t,a,w,z" + end
    data += b"".join((one % at if b"%d" in one else one) + end for at, one in enumerate(records, 1))
    counts = scored((str(tmp_path), "in.csv", data), ".jsonl")
    good = [at for at, one in enumerate(records, 1) if one in _GOOD_RECORDS]
    assert counts == (len(records), len(good), len(records) - len(good))
    assert [int(row["z"]) for row in _lines(tmp_path / "out.jsonl")] == good
    failed = _lines(tmp_path / "out.errors.jsonl") if len(good) < len(records) else []
    assert [row["row"] for row in failed] == [at for at in range(1, len(records) + 1) if at not in good]


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@fuzz(mutated(_JSON), examples=_FEW)
def test_json_lines(tmp_path: Path, data: bytes) -> None:
    lines = sum(bool(line.strip()) for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    with contextlib.suppress(EnsembleError):
        assert scored((str(tmp_path), "in.jsonl", data))[0] == lines


@fuzz(st.integers(0, 2**32), examples=_FEW)
def test_parquet(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(
        parquet(tmp_path, compression=rng.choice(["none", "snappy"]), dictionary=rng.random() < 0.5)
    )
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data))
        data[at] = rng.randrange(256) if rng.random() < 0.5 else data[at] ^ (1 << rng.randrange(8))
    outcome = _target().attack((str(tmp_path), "in.parquet", bytes(data)))
    if outcome.kind == "raised":
        assert outcome.value[0] == "MemoryError", outcome
    else:
        assert outcome.kind == "answered", outcome


_started: list[Any] = []


def _target() -> Any:
    assert _started, "the fixture starts it"
    return _started[-1]


@pytest.fixture(scope="module", autouse=True)
def _process() -> Any:
    with target(f"{__name__}:attack") as found:
        _started.append(found)
        yield
        _started.clear()


def _bad_text() -> pa.Array:
    offsets = pa.py_buffer(np.array([0, 1, 3, 4], "int32").tobytes())
    return pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"a\xff\xfeb")])


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("t", _bad_text()),
        ("z", _bad_text()),
        ("z", pa.StructArray.from_arrays([_bad_text()], ["k"])),
        ("z", pa.array([0, 10**18, 1], pa.timestamp("us"))),
        ("w", pa.array([0, 10**18, 1], pa.timestamp("us", "UTC"))),
        ("z", pa.array([0, 2**31 - 1, 1], pa.date32())),
    ],
    ids=["text", "text that is not read", "text in a struct", "time", "time that is read", "date"],
)
@pytest.mark.parametrize("suffix", _SUFFIXES)
def test_a_row_that_cannot_be_read_fails_alone(
    tmp_path: Path, field: str, values: pa.Array, suffix: str
) -> None:
    columns = {
        "x": pa.array([1.0, 2.0, 3.0]),
        "t": pa.array(["a", "b", "c"]),
        "a": pa.array([[1.0]] * 3),
        "w": pa.array([0, 1, 2], pa.timestamp("us", "UTC")),
    }
    pq.write_table(pa.table({**columns, field: values}), tmp_path / "in.parquet")
    (tmp_path / "e.yaml").write_text(_ENSEMBLE)
    places = {"file": "e.yaml", "input": "in.parquet", "output": f"o{suffix}", "errors": "e.jsonl"}
    paths = {name: str(tmp_path / place) for name, place in places.items()}
    summary = score_file(Call(**paths, batch_size=2), lambda *_, **__: None)
    assert (summary.scored, summary.failed) == (2, 1)
    (failure,) = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert (failure["row"], failure["code"]) == (2, "bad_line")
    assert failure["element"]["x"] == 2.0


def test_a_file_with_thousands_of_fields_is_read_in_linear_time(tmp_path: Path) -> None:
    names = ["x", "t", "a", "w", *(f"f{at}" for at in range(8_000))]
    data = f"{','.join(names)}\n{','.join(['1'] + [''] * (len(names) - 1))}\n".encode()
    assert scored((str(tmp_path), "in.csv", data))[1] == 1
