"""``Ensemble.explain`` and ``beam-ensembles explain``: what each node does with one row, as ``run`` does it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from beam_ensembles import Ensemble
from beam_ensembles.cli.main import main
from beam_ensembles.local.explanation import Explanation, NodeAccount

FILE = """\
ensemble: parcels
inputs: {id: int64, x: "array<double>[2]", y: "array<double>[2]", z: double, note: "string?"}
nodes:
  line: {model: sklearn, uri: line.joblib, inputs: [x], outputs: {made: double}, on_error: fail_row}
  words:
    apply: sql
    select: {size: "LENGTH(note)", far: "COALESCE(made > 3, FALSE)"}
    outputs: {size: "int64?", far: boolean}
  lane: {route: switch, cases: [{when: "z < 5", arm: low}], default: high, outputs: {lane: string}}
  slow:
    model: sklearn
    uri: line.joblib
    when: z > 9 AND far
    inputs: [y]
    outputs: {slow: double}
    on_error: nullify
  both: {combine: mean, quorum: 1, inputs: [made, slow], outputs: {both: double}}
  long: {apply: sql, select: {long: "slow + size"}, outputs: {long: "double?"}}
outputs: [lane, both, long]
"""
ROWS: list[dict[str, Any]] = [
    {"id": 10, "x": [1.0, 1.0], "y": [1.0, 4.0], "z": 1.0, "note": None},
    {"id": 11, "x": [2.0, 3.0], "y": [1.0, 4.0], "z": 10.0, "note": "<b>frail</b>"},
    {"id": 12, "x": [math.nan, 3.0], "y": [1.0, 4.0], "z": 10.0, "note": "x"},
    {"id": 11, "x": [2.0, 5.0], "y": [1.0, 4.0], "z": 10.0, "note": "x"},
    {"id": 14, "x": [2.0], "y": [1.0, 4.0], "z": 10.0, "note": "x"},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    model = LinearRegression().fit([[0, 0], [0, 1], [1, 0]], [0, 1, 1])
    joblib.dump(model, "line.joblib")
    Path("parcels.yaml").write_text(FILE)
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS) + "no row\n")
    Path("rows.csv").write_text('id,x,y,z,note\n10,"[1, 1]","[1, 1]",1,\n11,"[2, 3]","[1, 1]",10,frail\n')
    return tmp_path


def nodes(found: Explanation) -> dict[str, NodeAccount]:
    return {node.name: node for node in found.nodes}


def added(found: Explanation) -> dict[str, Any]:
    return {name: value.value for name, value in found.values.items()}


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["explain", "parcels.yaml", *words])
    return code, *capsys.readouterr()


def test_the_outputs_are_those_of_predict(folder: Path) -> None:
    ensemble = Ensemble("parcels.yaml")
    for row in ROWS[:2]:
        (scored,) = ensemble.predict([row])
        outputs = {value.column: value.value for value in ensemble.explain(row).outputs}
        assert outputs == {name: scored[name] for name in ("lane", "both", "long")}


def test_each_node_tells_what_it_did(folder: Path) -> None:
    found = Ensemble("parcels.yaml").explain(ROWS[0])
    told = nodes(found)
    assert {name: node.state for name, node in told.items()} == {
        "line": "answered", "words": "answered", "lane": "answered", "slow": "skipped", "both": "answered",
        "long": "answered",
    }  # fmt: skip
    assert added(found)["made"] == pytest.approx(2.0)
    assert (added(found)["lane"], added(found)["slow"]) == ("low", None)
    assert (told["slow"].when, told["slow"].holds) == ("z > 9 AND far", False)
    assert [value.column for value in told["slow"].judged] == ["z", "far"]
    assert {name: value.began for name, value in found.values.items() if value.began} == {
        "note": "null since the row's 'note' is null",
        "size": "null since the row's 'note' is null",
        "slow": "null since 'slow' was skipped",
        "long": "null since 'slow' was skipped",
    }
    assert told["line"].milliseconds > 0
    assert "slow   model: sklearn  [skipped]" in repr(found)


def test_a_row_that_fails(folder: Path) -> None:
    found = Ensemble("parcels.yaml").explain(ROWS[2])
    told = nodes(found)
    assert (told["line"].state, told["line"].code) == ("failed", "model_error")
    assert told["line"].policy == "on_error: fail_row: the row fails"
    assert {told[name].state for name in ("words", "slow", "both")} == {"not reached"}
    assert found.failed.startswith("node 'line': [model_error] ")
    assert (found.outputs, repr(found).splitlines()[-1][:22]) == ((), "failed at node 'line':")
    early = Ensemble("parcels.yaml").explain(ROWS[4])
    assert early.failed.startswith("the row itself: ")
    assert [value.value for value in early.inputs][:1] == [[2.0]]


@pytest.mark.parametrize("policy", ["nullify", "fail"])
def test_policies(policy: str, folder: Path) -> None:
    Path("parcels.yaml").write_text(FILE.replace("on_error: nullify", f"on_error: {policy}"))
    found = Ensemble("parcels.yaml").explain({**ROWS[1], "y": [math.nan, 1.0]})
    slow = nodes(found)["slow"]
    assert (slow.state, slow.holds) == ("failed", True)
    if policy == "nullify":
        assert slow.policy == "on_error: nullify: its columns are null"
        assert found.values["slow"].value is None
        assert found.values["long"].began == "null since 'slow' failed"
    else:
        assert slow.policy == "on_error: fail: the whole run fails"
        assert found.failed.startswith("node 'slow': [model_error] ")
        assert nodes(found)["long"].state == "not reached"


def test_a_row_of_a_dataframe(folder: Path) -> None:
    frame = pd.DataFrame(ROWS[:2])
    ensemble = Ensemble("parcels.yaml")
    whole = ensemble.explain(ROWS[1])
    for row in (frame.iloc[1], frame.iloc[1:], ROWS[1:2]):
        assert [value.value for value in ensemble.explain(row).outputs] == [
            one.value for one in whole.outputs
        ]
    with pytest.raises(ValueError, match="explain takes one row; found 2"):
        ensemble.explain(frame)
    with pytest.raises(TypeError, match="found: int"):
        ensemble.explain(3)


def test_notebooks_and_pictures(folder: Path) -> None:
    found = Ensemble("parcels.yaml").explain(ROWS[1])
    page = found._repr_html_()
    assert "<b>frail" not in page
    assert "&lt;b&gt;frail" in page
    drawn = found.to_svg()
    assert drawn.startswith("<svg")
    assert "lane = " in drawn
    assert "both = 5.0" in drawn


def test_a_numbered_row(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "--input", "rows.jsonl", "--row", "2", "--svg", "row.svg")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "ensemble 'parcels', row 2"
    assert Path("row.svg").read_text().startswith("<svg")
    code, out, _ = call(capsys, "--input", "rows.csv", "--row", "2", "--json")
    told = json.loads(out)
    assert [node["state"] for node in told["nodes"]] == ["answered"] * 6
    assert told["outputs"][0] == {"column": "lane", "type": "string", "value": "high"}


def test_the_first_row_that_matches(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "--input", "rows.jsonl", "--where", "id=11")
    assert (code, out.splitlines()[0]) == (0, "ensemble 'parcels', row 2")
    assert err == "beam-ensembles explain: 2 rows have id=11; this is the first, row 2\n"
    code, out, err = call(capsys, "--input", "rows.csv", "--where", "note=frail", "--json")
    assert (code, err, json.loads(out)["matches"], json.loads(out)["row"]) == (0, "", 1, "row 2")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--row", "9"], 1, "there is no row 9: 'rows.jsonl' has 6 rows"),
        (["--row", "6"], 1, "row 6 of 'rows.jsonl' cannot be read: [bad_line] the line is not JSON"),
        (["--where", "id=99"], 1, "none of the 5 rows of 'rows.jsonl' has id=99"),
        (["--where", "ids=11"], 1, "'rows.jsonl' has no field 'ids'; did you mean 'id'?"),
        (["--row", "1", "--svg", "row.png"], 2, "'row.png' is for a picture; its suffix must be .svg"),
        (["--row", "1", "--svg", "no/row.svg"], 2, "there is no folder for 'no/row.svg'; make it first"),
    ],
)
def test_mistakes(
    words: Sequence[str], code: int, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = call(capsys, "--input", "rows.jsonl", *words)
    assert (found, out) == (code, "")
    assert said in err
    assert len(err.splitlines()) == 1
