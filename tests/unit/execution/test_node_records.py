"""What each node did with each row is noted by the run itself: the notes say what the ensemble returns."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from beam_ensembles.columns.batch import RowFailure
from beam_ensembles.errors import NodeFailed
from beam_ensembles.execution import batch_parts, node_steps
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.execution.node_records import ANSWERED, FAILED, SKIPPED, NodeRecorder
from beam_ensembles.local.frames import Rows
from beam_ensembles.local.scoring import columns_of, stage_of
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.loading import graph_of_file
from beam_ensembles.runtime.row_source import ScoredColumns, score

FILE = """\
ensemble: records
inputs: {x: "array<double>[2]", z: double, word: "string?"}
nodes:
  line: {model: sklearn, uri: line.joblib, batch: {max: 4}, inputs: [x], outputs: {made: double}, on_error: ERROR}
  twice: {apply: sql, select: {double_made: "made * 2"}}
  arm: {route: switch, cases: [{when: "z < 5", arm: low}], default: high, outputs: {arm: string}}
  few: {model: sklearn, uri: line.joblib, batch: {max: 3}, when: "z > 9", inputs: [x], outputs: {few: double}}
  mean: {combine: mean, quorum: 1, inputs: [made, few], outputs: {all_of_it: double}}
"""
ROWS, BAD = 23, (2, 17)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    line = LinearRegression().fit(np.eye(2), np.ones(2))
    line.coef_, line.intercept_ = np.ones(2), 0.0  # its answers are exact, in whichever order numpy adds
    joblib.dump(line, tmp_path / "line.joblib")
    return tmp_path


def loaded(folder: Path, on_error: str = "fail_row") -> tuple[StageCode, LoadedStage]:
    (folder / "records.yaml").write_text(FILE.replace("ERROR", on_error))
    graph = graph_of_file(folder / "records.yaml")
    code = stage_of(graph, columns_of(graph))
    return code, LoadedStage(code, this_machine())


def rows() -> Any:
    """Returns rows; scikit-learn refuses the NaN in ``x`` of some."""
    given = [
        {"x": [math.nan] * 2 if at in BAD else [at / 4, 1.5], "z": float(at), "word": None}
        for at in range(ROWS)
    ]
    (chunk,) = Rows(given).chunks(ROWS)
    return chunk


def why(failure: RowFailure) -> tuple[int, str, str, str]:
    return failure.index, failure.node, failure.error.code, failure.error.message


def watched(folder: Path, on_error: str = "fail_row") -> tuple[ScoredColumns, NodeRecorder]:
    code, stage = loaded(folder, on_error)
    plain, recorder = score(code, stage, rows()), NodeRecorder()
    found = score(code, stage, rows(), recorder)
    assert found.rows.tolist() == plain.rows.tolist()
    assert found.added == plain.added
    assert list(map(why, found.failures)) == list(map(why, plain.failures))
    return found, recorder


def noted(recorder: NodeRecorder, node: str, column: str) -> dict[int, Any]:
    """Returns a column's value of each row that was still there after its node."""
    values: dict[int, Any] = {}
    for record in recorder.of(node):
        valid = record.made.get(f"{column}?")
        for at, row in enumerate(record.left.tolist()):
            values[row] = record.made[column].tolist()[at] if valid is None or valid[at] else None
    return values


def states(recorder: NodeRecorder, node: str) -> dict[int, str]:
    return {row: one.state(at) for one in recorder.of(node) for at, row in enumerate(one.rows.tolist())}


@pytest.mark.parametrize("large", [1 << 60, 0], ids=["whole", "in parts"])
@pytest.mark.parametrize("on_error", ["fail_row", "nullify", "{default: {made: -1.0}}"])
def test_records_hold_the_answers(
    on_error: str, large: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_parts, "LARGE_BYTES", large)
    found, recorder = watched(folder, on_error)
    for (column, node), values in zip(
        (("double_made", "twice"), ("arm", "arm"), ("all_of_it", "mean")), found.added, strict=True
    ):
        answers = noted(recorder, node, column)
        assert [answers[row] for row in found.rows.tolist()] == values
    assert [row for row, state in states(recorder, "line").items() if state == FAILED] == list(BAD)
    there = range(ROWS) if on_error != "fail_row" else [at for at in range(ROWS) if at not in BAD]
    expected = {at: SKIPPED if at <= 9 else FAILED if at in BAD else ANSWERED for at in there}
    assert states(recorder, "few") == expected
    missing = noted(recorder, "line", "made").get(2, "left")
    assert missing == {"fail_row": "left", "nullify": None}.get(on_error, -1.0)


def test_nodes_beside_each_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_steps, "WORTH_NANOSECONDS", -1)
    _, recorder = watched(folder)
    assert sorted(one.name for one in recorder.records) == ["arm", "few", "line", "mean", "twice"]
    assert all(one.nanoseconds > 0 for one in recorder.records)
    few = recorder.of("few")[0]
    assert set(few.read) == {"x", "z"}
    assert few.answered().tolist() == [at > 9 for at in few.left]


def test_a_node_that_fails_the_batch(folder: Path) -> None:
    code, stage = loaded(folder, "fail")
    recorder = NodeRecorder()
    with pytest.raises(NodeFailed):
        score(code, stage, rows(), recorder)
    (record,) = recorder.records
    assert (record.name, sorted(record.faults), len(record.left)) == ("line", list(BAD), 0)
