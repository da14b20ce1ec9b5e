"""Recorded benchmarks: a run of a part replaces what it measured anew, and what is compared is of one run."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks import records, report
from tests.benchmarks.comparisons import Comparison
from tests.benchmarks.measuring import Found
from tests.benchmarks.memory import Held
from tests.benchmarks.peak_memory import Peak
from tests.benchmarks.peers_table import of_rates
from tests.benchmarks.records import Record
from tests.benchmarks.sampling import Rate
from tests.benchmarks.service_load import Load

MACHINE = {"Processor": "one", "Commit": "abc"}


def found(ensemble: str, **rates: float) -> Found:
    names = {"loop": "bare loop", "python": "python", "ray": "ray"}
    made = {(ensemble, names[name]): Rate(rate, 1.0, 0.0, 10.0) for name, rate in rates.items()}
    return Found(made, list(of_rates(made)))


def record(what: Found, command: str = "make bench", **machine: str) -> Record:
    return Record(command, MACHINE | machine, what)


def everything() -> Found:
    whole = found("light", loop=10.0, python=5.0, ray=4.0)
    whole.held.append(Held("nothing", 1, 4.0))
    whole.peaks.append(Peak(*_values_of(Peak)))
    whole.loads.append(Load(200, 1.5, {200: 10, 10_000: 11}))
    return whole


def _values_of(type_: type) -> list[object]:
    given: dict[str, object] = {"str": "text", "int": 1, "float": 1.0}
    return [given[str(name)] for name in type_.__annotations__.values()]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    runs = [record(everything()), record(found("text", loop=1.0), "other")]
    records.write(runs, tmp_path / "results.json")
    assert records.read(tmp_path / "results.json") == runs


def test_there_is_nothing_before_the_first_run(tmp_path: Path) -> None:
    assert records.read(tmp_path / "results.json") == []


def test_a_run_of_a_part_leaves_the_rest() -> None:
    latest = record(found("light", loop=20.0, python=12.0))
    first, second = records.with_latest([record(everything())], latest)
    assert first == latest
    assert set(second.found.rates) == {("light", "ray")}
    assert not second.found.comparisons
    assert second.found.held
    assert second.found.loads


def test_a_run_of_which_nothing_is_left_goes() -> None:
    whole = everything()
    assert records.with_latest([record(found("light", loop=1.0)), record(whole)], record(whole)) == [
        record(whole)
    ]


def test_the_picture_compares_what_one_run_measured() -> None:
    older = record(found("light", loop=10.0, python=5.0, ray=4.0))
    text = record(found("text", loop=1.0))
    runs = records.with_latest([text, older], record(found("light", loop=20.0, python=12.0)))
    shown = {key: rate.rows_per_second for key, rate in records.in_one_picture(runs).items()}
    assert shown == {("light", "bare loop"): 20.0, ("light", "python"): 12.0, ("text", "bare loop"): 1.0}


def test_the_page_says_which_run_found_what(tmp_path: Path) -> None:
    page = tmp_path / "RESULTS.md"
    runs = records.with_latest(
        [record(everything(), Processor="two")], record(found("light", loop=20.0), "anew")
    )
    report.write_page(runs, "## How\n", page)
    text = page.read_text(encoding="utf-8")
    assert "1. `anew`, commit abc\n2. `make bench`, commit abc\n" in text
    assert "- Processor, run 2: two" in text
    assert "| bare model loop | 20 (1) |" in text
    assert "| Ray Data map_batches | 4 (2) |" in text
    assert "| reached | 2 |" in text
    assert text.endswith("## How\n")


def test_ensembles_come_in_their_order_and_before_all_else(tmp_path: Path) -> None:
    other = Found(comparisons=[Comparison("-", "service", "ready", "Beam", 1.0, seconds=1.0, target=1.0)])
    runs = [
        record(other),
        record(found("text", loop=1.0, python=1.0)),
        record(found("light", loop=1.0, python=1.0)),
    ]
    report.write_page(runs, "", tmp_path / "RESULTS.md")
    text = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert text.index("| light | python") < text.index("| text | python") < text.index("| - | service")


def test_a_page_of_one_run_has_no_numbers(tmp_path: Path) -> None:
    report.write_page([record(everything())], "## How\n", tmp_path / "RESULTS.md")
    text = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "Made by `make bench`. Do not edit." in text
    assert "| bare model loop | 10 |" in text
    assert "| target |  |\n" in text
    assert (
        "| light | python | ensemble | 5 rows/s | bare loop | 10 rows/s | 0.50 | at least 0.35 | reached |\n"
        in text
    )
