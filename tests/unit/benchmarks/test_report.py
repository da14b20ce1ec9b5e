"""What the benchmarks say of what they found: lines with targets, JSON, the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import measuring, report, ways
from tests.benchmarks import workload as workloads
from tests.benchmarks.report import Found, Line
from tests.benchmarks.sampling import Rate


def line(measured: float, unit: str, against: float, **target: float) -> Line:
    return Line("light", "python", "ensemble", measured, unit, "bare loop", against, **target)


@pytest.mark.parametrize(
    ("one", "texts"),
    [
        (
            line(5e3, "rows/s", 1e4, at_least=0.5),
            ["5,000 rows/s", "10,000 rows/s", "0.50", "at least 0.5", "reached"],
        ),
        (
            line(4e3, "rows/s", 1e4, at_least=0.5),
            ["4,000 rows/s", "10,000 rows/s", "0.40", "at least 0.5", "missed"],
        ),
        (line(0.03, "s", 0.02, at_most=1.5), ["30.0 ms", "20.0 ms", "1.50", "at most 1.5", "reached"]),
        (
            line(5.0, "s", 2.0, more_at_most=1.5),
            ["5.00 s", "2.00 s", "2.50", "at most 1.50 s more", "missed"],
        ),
        (
            line(9e8, "bytes", 5e8, more_at_most=5e8),
            ["900 MB", "500 MB", "1.80", "at most 500 MB more", "reached"],
        ),
        (line(9e8, "bytes", 5e8), ["900 MB", "500 MB", "1.80", "", ""]),
    ],
)
def test_a_line_says_what_was_to_be_reached_and_whether_it_was(one: Line, texts: list[str]) -> None:
    names = ["light", "python", "ensemble"]
    assert one.cells() == [*names, texts[0], "bare loop", *texts[1:]]


def test_a_line_without_anything_to_compare_with() -> None:
    assert Line("-", "service", "calls", 9.6, "s").cells() == [
        "-",
        "service",
        "calls",
        "9.60 s",
        "",
        "",
        "",
        "",
        "",
    ]


def test_what_is_found_is_compared_and_written(tmp_path: Path) -> None:
    rates = {
        ("light", "bare loop"): Rate(10.0, 1.0, 0.0, 10.0),
        ("light", "python"): Rate(5.0, 1.0, 2.0, 10.0),
    }
    found = Found(rates, list(measuring._compared(rates)))
    report.write_json(found, tmp_path / "found.json", machine={"Commit": "abc"})
    report.write_page(found, {"Commit": "abc"}, "## How\n", tmp_path / "page.md")
    report.draw(found.rates, tmp_path / "chart.svg")
    written = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert written["machine"] == {"Commit": "abc"}
    assert [(one["caller"], one["rows_per_second"]) for one in written["rates"]] == [
        ("bare loop", 10),
        ("python", 5),
    ]
    assert [(one["against"], one["ratio"], one["reached"]) for one in written["lines"]] == [
        ("bare loop", 0.5, True)
    ]
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert (
        "| light | python | ensemble | 5 rows/s | bare loop | 10 rows/s | 0.50 | at least 0.35 | reached |"
        in page
    )
    assert "| ensemble, Python | 5 |" in page
    assert "| ensemble, Python | 1.0, 10% (+ 2.0 once) |" in page
    assert page.endswith("## How\n")
    assert "ensemble, Python" in (tmp_path / "chart.svg").read_text(encoding="utf-8")


def test_every_caller_has_a_name_and_rows() -> None:
    callers = {caller for provider in ways.PROVIDERS.values() for caller in provider.callers}
    assert callers == set(report._CALLERS)
    assert callers | set(ways.ONE_NODE.callers) == set(ways._ROWS)
    for ensemble, caller, against, _ in measuring.TARGETS:
        assert ensemble in ways._ROWS[caller]
        assert ensemble in ways._ROWS[against]


@pytest.mark.parametrize("name", workloads.NAMES)
def test_a_workload_is_where_its_name_says(name: str) -> None:
    workload = workloads.load(name)
    assert workload.name == name
    assert workload.ensemble.is_file()
    assert workload.answer[0] in workload.outputs
    assert workload.one_node.is_file() == (workload.one_node_member is not None)
