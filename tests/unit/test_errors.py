"""The tree of exceptions, and the lines that clients of other languages read."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from beam_ensembles import RunEnsemble
from beam_ensembles.errors import (
    BatchFailed,
    EnsembleError,
    InvalidEnsemble,
    NodeError,
    Problem,
    RowFailed,
    listed,
    nearest,
)

PROBLEM = Problem("nodes.vote.inputs[1]", "unknown_column", "there is no\n  column 'a'")


def test_a_problem_is_one_line() -> None:
    assert str(PROBLEM) == "[unknown_column] nodes.vote.inputs[1]: there is no column 'a'"


def test_all_problems_of_a_file_in_one_text() -> None:
    error = InvalidEnsemble([PROBLEM, Problem("$", "syntax", "line 1"), PROBLEM], ensemble="digits")
    assert str(error).splitlines() == [
        "ensemble 'digits' is not valid: 2 problems",
        f"  {PROBLEM}",
        "  [syntax] $: line 1",
    ]
    assert str(InvalidEnsemble([PROBLEM])).startswith("the ensemble is not valid: 1 problem\n")


@pytest.mark.parametrize(
    "error",
    [
        InvalidEnsemble([PROBLEM], ensemble="digits"),
        NodeError("model_error", "it broke", stack="Traceback"),
        BatchFailed("server_unreachable", "nobody answers"),
        RowFailed("digits", "vote", "null_value", "pixels is null"),
    ],
)
def test_errors_cross_processes(error: EnsembleError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_a_failed_row_says_which_node_and_what_to_do() -> None:
    text = str(RowFailed("digits", "vote", "null_value", "pixels is null"))
    for call in ("with_errors()", "RunWithErrors", "withErrors()", "error_handling"):
        assert call in text
    assert "'digits'" in text
    assert "[null_value] nodes.vote: pixels is null" in text
    assert "error output" in text
    assert "\n" not in text


def test_a_message_of_a_member_is_one_line() -> None:
    assert str(NodeError("model_error", "a\n\tb")) == "a b"


def test_nearest() -> None:
    assert nearest("forst", ["forest", "vote"]) == "; did you mean 'forest'?"
    assert nearest("xyz", ["forest", "vote"]) == ""
    assert nearest("ID", ["IX", "id"]) == "; did you mean 'id'?"


def test_listed() -> None:
    assert listed([]) == "none"
    assert listed(["a", "b"]) == "a, b"
    assert listed(["a", "b", "c", "d"], limit=2) == "a, b and 2 more"


def test_beam_raises_these_errors_as_they_are() -> None:
    assert EnsembleError._tagged_with_step


def test_very_many_problems_are_cut_short() -> None:
    text = str(InvalidEnsemble(Problem(f"p{at:04}", "syntax", "no") for at in range(300)))
    assert text.count("\n") == 101
    assert text.endswith("and 200 more")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("RunEnsemble('nowhere.yaml')", "[missing_file] $: there is no file"),
        ("RunEnsemble('e.yaml')", "[unknown_column] nodes.m.select.y: there is no column 'z'"),
    ],
)
def test_a_notebook_shows_the_callers_frames_alone(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, cell: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.yaml").write_text(
        "ensemble: e\ninputs: {x: double}\nnodes: {m: {apply: sql, select: {y: z}, outputs: {y: {}}}}\n"
    )
    code = compile(f"def mine():\n    {cell}\nmine()", "<ipython-input-7>", "exec")
    with pytest.raises(InvalidEnsemble) as caught:
        exec(code, {"RunEnsemble": RunEnsemble})
    shown = caught.value._render_traceback_()
    frames = [
        line.strip() for line in shown if line.strip().startswith("File ") and "test_errors" not in line
    ]
    assert frames == [
        'File "<ipython-input-7>", line 3, in <module>',
        'File "<ipython-input-7>", line 2, in mine',
    ]
    assert shown[-1].startswith("InvalidEnsemble: ")
    assert said in shown[-1]
