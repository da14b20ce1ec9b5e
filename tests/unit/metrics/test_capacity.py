"""What a number of workers can do, from the metrics of a small run."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.cli.main import main
from beam_ensembles.errors import EnsembleError
from beam_ensembles.metrics.capacity import capacity_of

GOLDEN = Path(__file__).parents[2] / "golden"
METRICS = json.loads((GOLDEN / "metrics" / "expected.json").read_text(encoding="utf-8"))
VOTES = str(GOLDEN / "specs" / "votes.yaml")


def test_rates_time_and_cost() -> None:
    """100 rows took the nodes 90 and 12,500 µs: 125.9 µs a row, and 6 around them."""
    found = capacity_of(METRICS, "fraud", workers=10, rows=10**9, price=0.05)
    assert found.measured_rows == 100
    times = {node.node: node.seconds_per_row for node in found.nodes}
    assert times["forest"] == pytest.approx(125e-6)
    assert times["ab"] == pytest.approx(0.9e-6)
    assert times["never"] == 0.0
    assert next(iter(times)) == "forest"
    assert found.seconds_per_row == pytest.approx(131.9e-6, rel=1e-3)
    assert found.rows_per_second == pytest.approx(10 / found.seconds_per_row)
    assert found.load_seconds == pytest.approx(0.1525)
    assert found.model_bytes == 13_893_632
    assert found.seconds == pytest.approx(0.1525 + 1e9 * found.seconds_per_row / 10)
    assert found.cost == pytest.approx(10 * found.seconds / 3_600 * 0.05)


def test_a_node_that_runs_on_few_rows_costs_little() -> None:
    data = copy.deepcopy(METRICS)
    forest = next(node for node in data["ensembles"][0]["nodes"] if node["node"] == "forest")
    forest.update(num_inferences=10, failed_rows=0, skipped_rows=90)
    forest["inference_batch_latency_micro_secs"].update(sum=1_250)
    found = capacity_of(data, "fraud")
    assert {node.node: node.seconds_per_row for node in found.nodes}["forest"] == pytest.approx(12.5e-6)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "expected what 'beam-ensembles metrics --job ID --json'"),
        ({"jobs": []}, "expected what"),
        ({"ensembles": [1]}, "expected what"),
        ({"ensembles": [{"ensemble": "fraud", "nodes": [{"node": "a"}]}]}, "expected what"),
        ({"ensembles": [{"ensemble": "other", "nodes": []}]}, "the metrics are of 'other', not of 'fraud'"),
        ({"metrics": []}, "the metrics are of no ensemble, not of 'fraud'"),
        ({"metrics": [{"ensemble": "fraud", "nodes": []}]}, "of a run that scored no row"),
    ],
)
def test_data_that_are_no_metrics(data: Any, said: str) -> None:
    with pytest.raises(EnsembleError, match=said):
        capacity_of(data, "fraud")


@pytest.fixture
def metrics(tmp_path: Path) -> str:
    """The metrics of a run of the ensemble of votes."""
    data = {"metrics": [{**METRICS["ensembles"][0], "ensemble": "votes"}]}
    file = tmp_path / "metrics.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return str(file)


def test_what_a_person_reads(metrics: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["plan", VOTES, "--capacity", metrics, "--rows", "1e9", "--workers", "10", "--price", "0.05"]
    assert main(call) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "ensemble 'votes', from a run of 100 rows"
    assert "forest 125.00 95% 25 0.2 13.2" in lines
    assert "around the nodes 6.00 5%" in lines
    assert "rate 75,815 rows/s with 10 workers" in lines
    assert "memory 13 MiB of models in each, beside Python and the libraries" in lines
    assert "time 3 h 39 min for 1,000,000,000 rows, 0.2 s of them for loading" in lines
    assert "cost 1.83, at 0.05 per worker and hour" in lines


def test_what_a_program_reads(metrics: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", VOTES, "--capacity", metrics, "--json", "--around-micros", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ensemble"] == "votes"
    assert found["around_seconds"] == pytest.approx(1e-6)
    assert found["rows_per_second"] == pytest.approx(1 / found["seconds_per_row"])
    assert (found["seconds"], found["cost"]) == (None, None)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--rows", "1e9"], "--rows needs --capacity"),
        (["--around-micros", "0"], "--around-micros needs --capacity"),
    ],
)
def test_arguments_that_say_nothing(more: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", VOTES, *more]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("value", ["0", "1.5", "-3", "nan", "1e99", "many", "1_000", "\u0663"])
def test_rows_are_whole_numbers(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", VOTES, "--capacity", "metrics.json", f"--rows={value}"])
    assert ended.value.code == 2
    assert "is not a whole number from 1 to 1000000000000000" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--price", "--around-micros"])
def test_amounts_have_a_limit(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", VOTES, "--capacity", "metrics.json", f"{flag}=1e16"])
    assert ended.value.code == 2
    assert "is not a number from 0 to 1e+15" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\xff"])
def test_a_file_that_is_no_json(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "metrics.json"
    file.write_bytes(text.encode("latin-1"))
    assert main(["plan", VOTES, "--capacity", str(file)]) == 1
    assert "is not a JSON file of metrics" in capsys.readouterr().err


def test_a_file_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        assert main(["plan", VOTES, "--capacity", str(path)]) == 1
        assert f"'{path}' cannot be read: " in capsys.readouterr().err
