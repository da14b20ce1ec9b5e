"""Every case of ``cases/``, in every way in which Python can score its rows."""

from __future__ import annotations

import functools
import json
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.typehints.schemas import named_tuple_from_schema

from beam_ensembles import EnsembleModelHandler
from beam_ensembles.cli.main import main
from beam_ensembles.columns.schemas import schema_of
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.transforms import RunEnsemble
from tests.support import conformance
from tests.support.conformance import Case, Way, difference, lines

LARGE = 10_001
"""Rows of a large run: more than two batches, and a last one of an odd size."""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Case]:
    """Make a case once, however many tests need it."""
    folder = tmp_path_factory.mktemp("cases")
    return functools.cache(lambda name: conformance.make(name, folder / name))


def by_run(case: Case, folder: Path, *flags: str, source: Path | None = None) -> list[dict[str, Any]]:
    """Scores a case's rows by ``beam-ensembles run``."""
    rows, out = _rows_file(case, folder), folder / "out.jsonl"
    given = [word for pair in case.parameters.items() for word in ("--parameter", "=".join(pair))]
    main(
        [
            "run",
            str(source or case.file),
            "--input",
            str(rows),
            "--output",
            str(out),
            "--json",
            *given,
            *flags,
        ]
    )
    failed = {
        line["row"] - 1: f"{line['node']} {line['code']}" for line in lines(folder / "out.errors.jsonl")
    }
    scored = iter(lines(out))
    count = len(case.expected)
    found = [{"error": failed[at]} if at in failed else next(scored, {}) for at in range(count)]
    assert next(scored, None) is None, "more rows came out than went in"
    return found


def _rows_file(case: Case, folder: Path) -> Path:
    if not case.rows:
        return next(case.folder.glob("rows.*"))
    file = folder / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in case.rows), encoding="utf-8")
    return file


def by_run_one_at_a_time(case: Case, folder: Path) -> list[dict[str, Any]]:
    """Scores a case's rows by ``run``, each in a batch of its own."""
    return by_run(case, folder, "--batch-size", "1")


def by_bundle(case: Case, folder: Path) -> list[dict[str, Any]]:
    """Packs a case, and scores its rows by the bundle alone."""
    bundle = folder / "packed.ensemble.zip"
    given = [word for pair in case.parameters.items() for word in ("--parameter", "=".join(pair))]
    assert main(["pack", str(case.file), "--output", str(bundle), *given]) == 0
    return by_run(case, folder, source=bundle)


def by_rows(case: Case, folder: Path) -> list[dict[str, Any]]:
    """Scores a case's rows as Beam rows in a pipeline."""
    row_type: Any = named_tuple_from_schema(schema_of(case.inputs.items()))
    rows = [row_type(**row) for row in case.table().to_pylist(maps_as_pydicts="strict")]
    scored, failed = folder / "scored", folder / "failed"
    with beam.Pipeline(runner=FnApiRunner()) as p:
        created = p | beam.Create(rows).with_output_types(row_type)
        good, bad = created | RunEnsemble(case.file, parameters=case.parameters).with_errors()
        good | "keep scored" >> beam.Map(_keep(_plain, scored))
        bad | "keep failed" >> beam.Map(_keep(_plain, failed))
    return _by_id(_kept(scored), _kept(failed), len(case.rows))


def by_arrow(case: Case, folder: Path, count: int | None = None) -> list[dict[str, Any]]:
    """Scores a case's rows, or so many of them, again and again, in Arrow batches."""
    table = case.table()
    if count is not None:
        table = table.take(pa.array(np.arange(count) % len(table))) if count else table.slice(0, 0)
        table = table.set_column(0, table.schema.field(0), pa.array(np.arange(count)))
    scored, failed = folder / "scored", folder / "failed"
    source = folder / "rows.arrows"
    with pa.ipc.new_stream(source, table.schema) as out:
        for batch in table.combine_chunks().to_batches(4_096):
            out.write_batch(batch)
        out.write_batch(pa.RecordBatch.from_pylist([], table.schema))
    with beam.Pipeline(runner=FnApiRunner()) as p:
        created = p | beam.Create([str(source)]) | beam.FlatMap(_batches)
        ensemble = RunEnsemble(case.file, parameters=case.parameters)
        good, bad = created | ensemble.with_arrow_schema(table.schema).with_errors()
        good | "keep scored" >> beam.Map(_keep(_dicts, scored))
        bad | "keep failed" >> beam.Map(_keep(_dicts, failed))
    found = [[row for batch in _kept(file) for row in batch] for file in (scored, failed)]
    return _by_id(*found, len(table))


WAYS: dict[str, Way] = {
    "run": by_run,
    "one at a time": by_run_one_at_a_time,
    "bundle": by_bundle,
    "rows": by_rows,
    "arrow": by_arrow,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", conformance.names())
def test_the_answers_are_the_librarys_own(
    made: Callable[[str], Case], name: str, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = made(name)
    if case.refusals:
        pytest.skip("it is refused")
    if not case.rows and way not in ("run", "bundle"):
        pytest.skip("its rows are not JSON lines")
    wrong = difference(WAYS[way](case, tmp_path), case.expected)
    assert wrong == "", capsys.readouterr().out


@pytest.mark.parametrize("count", [0, LARGE])
@pytest.mark.parametrize("name", conformance.names())
def test_any_number_of_rows(made: Callable[[str], Case], name: str, count: int, tmp_path: Path) -> None:
    case = made(name)
    if not case.large or not case.rows or case.refusals:
        pytest.skip("it has no rows to take many of")
    expected = [case.expected[at % len(case.expected)] for at in range(count)]
    wrong = difference(by_arrow(case, tmp_path, count), expected)
    assert wrong == ""


@pytest.mark.parametrize("name", conformance.names())
def test_what_cannot_be_right_is_refused(made: Callable[[str], Case], name: str) -> None:
    case = made(name)
    if not case.refusals:
        pytest.skip("it is scored")
    with pytest.raises(InvalidEnsemble) as caught:
        EnsembleModelHandler(case.file, parameters=case.parameters).load_model()
    for refusal in case.refusals:
        said = [
            one.message
            for one in caught.value.problems
            if (one.path, one.code) == (refusal.path, refusal.code)
        ]
        assert said, (refusal, caught.value.problems)
        assert all(words in said[0] for words in refusal.says), (refusal, said)


def _keep(change: Callable[[Any], Any], file: Path) -> Callable[[Any], None]:
    """Returns what appends elements to a file: the runner works in this process, and pickles functions."""

    def keep(element: Any) -> None:
        with file.open("ab") as out:
            pickle.dump(change(element), out)

    return keep


def _kept(file: Path) -> Iterator[Any]:
    if not file.exists():
        return
    with file.open("rb") as kept:
        while kept.peek(1):
            yield pickle.load(kept)


def _plain(value: Any) -> Any:
    """Returns a Beam row, and what is in it, as Python has it in JSON."""
    fields = getattr(value, "_asdict", None)
    if fields is not None:
        return {name: _plain(one) for name, one in fields().items()}
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _batches(file: str) -> Iterator[pa.RecordBatch]:
    """Reads record batches of a file: in ``Create``, Beam compresses them for seconds."""
    with pa.ipc.open_stream(file) as batches:
        yield from batches


def _dicts(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [dict(row) for row in batch.to_pylist(maps_as_pydicts="strict")]


def _by_id(scored: Iterable[Any], failed: Iterable[Any], count: int) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for row in scored:
        assert row["id"] not in found, f"row {row['id']} came out twice"
        found[row["id"]] = row
    for error in failed:
        assert error["element"]["id"] not in found, f"row {error['element']['id']} came out twice"
        found[error["element"]["id"]] = {"error": f"{error['node']} {error['code']}"}
    return [found.get(at, {}) for at in range(count)]


def test_clients_score_every_sort_of_input() -> None:
    def words(names: list[str]) -> set[str]:
        types = {
            str(type_) for name in names for type_ in conformance.inputs(conformance.CASES / name).values()
        }
        return {word for text in types for word in re.findall(r"array<\w+|\w+", text) if not word.isdigit()}

    elsewhere = {"bytes"}  # tests of either client's types
    assert words(conformance.names()) - words(conformance.of_clients()) == elsewhere
