"""``run`` with points in time: nodes get them as pipelines hand them over, files keep them as they are."""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.utils.timestamp import Timestamp

from beam_ensembles import RunEnsemble
from beam_ensembles.cli.main import main
from tests.support.rendezvous import assign

ENSEMBLE = """
ensemble: times
inputs: {t: timestamp, ts: "array<timestamp>"}
nodes:
  parts:
    apply: sql
    select: {hour: EXTRACT(hour FROM t), later: "t + INTERVAL '1 day'", many: "ARRAY_REVERSE(ts)"}
    outputs: {hour: int32, later: timestamp, many: "array<timestamp>"}
  arm: {route: split, salt: s, inputs: [t], arms: {a: 1, b: 1}, outputs: {arm: string}}
"""
NOON = datetime.datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=datetime.UTC)
TIMES = [NOON + datetime.timedelta(hours=at) for at in range(8)]
DAY = datetime.timedelta(days=1)
ARMS = {"a": 1, "b": 1}


class Nanos(NamedTuple):
    """A row of a pipeline with a point in time of nanoseconds."""

    t: Timestamp
    x: int


class Times(NamedTuple):
    """A row of a pipeline."""

    t: Timestamp
    ts: Sequence[Timestamp]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "times.yaml").write_text(ENSEMBLE)
    return tmp_path


def make_jsonl(path: Path) -> None:
    lines = [json.dumps({"t": t.isoformat(), "ts": [t.isoformat(), NOON.isoformat()]}) for t in TIMES]
    path.write_text("\n".join(lines))


def make_csv(path: Path) -> None:
    lists = [json.dumps([t.isoformat(), NOON.isoformat()]).replace('"', '""') for t in TIMES]
    lines = [f'{t.isoformat()},"{ts}"' for t, ts in zip(TIMES, lists, strict=True)]
    path.write_text("\n".join(["t,ts", *lines]))


def make_parquet(path: Path) -> None:
    naive = pa.array([t.replace(tzinfo=None) for t in TIMES], pa.timestamp("us"))
    pq.write_table(pa.table({"t": naive, "ts": pa.array([[t, NOON] for t in TIMES])}), path)


def plain(value: Any) -> Any:
    """Returns a cell of any output as Python has it; points in time without a zone are UTC."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    found = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    rows = list(csv.DictReader(path.open(newline="")))
    return [row | {name: json.loads(row[name]) for name in ("hour", "ts", "many")} for row in rows]


MAKERS = {".jsonl": make_jsonl, ".csv": make_csv, ".parquet": make_parquet}


def arm(t: datetime.datetime) -> str:
    micros = Timestamp.from_utc_datetime(t).micros
    return assign([str(micros).encode()], "s", ARMS)


@pytest.mark.parametrize("target", MAKERS)
@pytest.mark.parametrize("source", MAKERS)
def test_sql_and_split_read_and_give_them(folder: Path, source: str, target: str) -> None:
    MAKERS[source](folder / f"rows{source}")
    assert main(["run", "times.yaml", "--input", f"rows{source}", "--output", f"out{target}"]) == 0
    for at, (row, t) in enumerate(zip(read(folder / f"out{target}"), TIMES, strict=True)):
        assert (plain(row["t"]), plain(row["later"])) == (t, t + DAY)
        assert (plain(row["ts"]), plain(row["many"])) == ([t, NOON], [NOON, t])
        assert (row["hour"], row["arm"]) == (12 + at, arm(t))


def test_a_text_that_is_none_fails_its_row(folder: Path) -> None:
    good = {"t": NOON.isoformat(), "ts": []}
    rows = [good, good | {"t": "May"}, good | {"ts": [1]}]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["run", "times.yaml", "--input", "rows.jsonl", "--output", "out.jsonl"]) == 1
    assert len(read(folder / "out.jsonl")) == 1
    failed = read(folder / "out.errors.jsonl")
    assert [(row["row"], row["code"]) for row in failed] == [(2, "wrong_value"), (3, "wrong_value")]
    assert [row["element"] for row in failed] == rows[1:]


NANOS = """
ensemble: nanos
inputs: {t: INPUT, x: int64}
nodes:
  later: {apply: sql, select: {later: "t + INTERVAL '1 day'"}, outputs: {later: timestamp}}
  more: {apply: sql, select: {y: x + 1}, outputs: {y: int64}}
"""
WHOLE, FINER = "2024-05-01T12:00:00.123456Z", "2024-05-01T12:00:00.123456789Z"


@pytest.mark.parametrize("target", MAKERS)
@pytest.mark.parametrize("source", MAKERS)
def test_nanoseconds_are_refused_unless_the_file_drops_them(folder: Path, source: str, target: str) -> None:
    ns = 1_714_564_800_123_456_000
    match source:
        case ".jsonl":
            lines = [json.dumps({"t": t, "x": at}) for at, t in enumerate((WHOLE, FINER))]
            (folder / "rows.jsonl").write_text("\n".join(lines))
        case ".csv":
            (folder / "rows.csv").write_text(f"t,x\n{WHOLE},0\n{FINER},1\n")
        case _:
            table = pa.table({"t": pa.array([ns, ns + 789], pa.timestamp("ns", "UTC")), "x": [0, 1]})
            pq.write_table(table, folder / "rows.parquet")
    run = ["run", "nanos.yaml", "--input", f"rows{source}", "--output", f"out{target}"]
    (folder / "nanos.yaml").write_text(NANOS.replace("INPUT", "timestamp"))
    assert main(run) == 1
    (failed,) = read(folder / "out.errors.jsonl")
    assert (int(failed["row"]), failed["code"]) == (2, "wrong_value")
    assert "t: {type: timestamp, nanoseconds: truncate}" in failed["msg"]
    (folder / "nanos.yaml").write_text(NANOS.replace("INPUT", "{type: timestamp, nanoseconds: truncate}"))
    assert main(run) == 0
    if target == ".parquet":
        later = pq.read_table(folder / "out.parquet").column("later").to_pylist()
    else:
        rows = read_errors(folder / f"out{target}")
        assert rows[1]["t"].rstrip("Z").removesuffix("+00:00") == FINER.rstrip("Z")
        later = [plain(row["later"]) for row in rows]
    assert later == [NOON + DAY] * 2


DATES = """
ensemble: dates
inputs: {d: timestamp}
nodes:
  late: {apply: sql, select: {late: "d >= DATE '2024-05-01'"}, outputs: {late: boolean}}
"""


@pytest.mark.parametrize("source", MAKERS)
def test_dates_are_compared(folder: Path, source: str) -> None:
    days = [datetime.date(2024, 5, 1), datetime.date(2024, 4, 30)]
    (folder / "dates.yaml").write_text(DATES)
    (folder / "rows.jsonl").write_text("\n".join(json.dumps({"d": str(day)}) for day in days))
    (folder / "rows.csv").write_text("\n".join(["d", *map(str, days)]))
    pq.write_table(pa.table({"d": days}), folder / "rows.parquet")
    assert main(["run", "dates.yaml", "--input", f"rows{source}", "--output", "out.jsonl"]) == 0
    found = [(row["d"][:10], row["late"]) for row in read(folder / "out.jsonl")]
    assert found == [("2024-05-01", True), ("2024-04-30", False)]


class Day(NamedTuple):
    """A row of a pipeline with a date."""

    d: datetime.date


def test_a_pipeline_compares_dates_too(folder: Path) -> None:
    (folder / "dates.yaml").write_text(DATES)
    days = [Day(datetime.date(2024, 5, 1)), Day(datetime.datetime(2024, 4, 30, 23, 59))]
    with beam.Pipeline() as pipeline:
        out = pipeline | beam.Create(days).with_output_types(Day) | RunEnsemble("dates.yaml")
        wanted = [(days[0].d, True), (days[1].d, False)]
        assert_that(out | beam.Map(lambda row: (row.d, row.late)), equal_to(wanted))


def read_errors(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".csv":
        return list(csv.DictReader(path.open(newline="")))
    return read(path)


def test_a_pipeline_refuses_nanoseconds_too(folder: Path) -> None:
    (folder / "nanos.yaml").write_text(NANOS.replace("INPUT", "timestamp"))
    rows = [Nanos(Timestamp(7, nanos, 9), nanos) for nanos in (5, 5_000)]
    with beam.Pipeline() as pipeline:
        scored, failed = (
            pipeline | beam.Create(rows).with_output_types(Nanos) | RunEnsemble("nanos.yaml").with_errors()
        )
        later = Timestamp(micros=7_000_005 + 86_400_000_000)
        assert_that(scored | beam.Map(lambda row: row.later), equal_to([later]), "output")
        assert_that(failed | "codes" >> beam.Map(lambda row: row.code), equal_to(["wrong_value"]), "bad")


def test_a_pipeline_gives_the_same(folder: Path) -> None:
    stamps = [Timestamp.from_utc_datetime(t) for t in TIMES]
    day = 86_400_000_000
    wanted = [
        (12 + at, Timestamp(micros=stamp.micros + day), [stamps[0], stamp], arm(t))
        for at, (stamp, t) in enumerate(zip(stamps, TIMES, strict=True))
    ]
    create = beam.Create([Times(stamp, [stamp, stamps[0]]) for stamp in stamps])
    with beam.Pipeline() as pipeline:
        rows = pipeline | create.with_output_types(Times)
        out = rows | RunEnsemble("times.yaml")
        assert_that(out | beam.Map(lambda row: (row.hour, row.later, row.many, row.arm)), equal_to(wanted))
