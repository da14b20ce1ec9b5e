"""``graph``: what it writes where, what it draws of a file that is not right yet, and what it refuses."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from beam_ensembles.cli.main import main

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
VOTES = str(GOLDEN / "specs" / "votes.yaml")
INVALID = GOLDEN / "specs_invalid"


def test_without_a_name_it_prints_mermaid(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", VOTES]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith('---\ntitle: "votes"\n---\nflowchart LR\n')
    assert 'subgraph stage_1["stage votes' in printed.out
    assert printed.err == ""


@pytest.mark.parametrize(
    ("name", "arguments", "start"),
    [
        ("a.svg", [], "<svg "),
        ("a.mmd", [], "---"),
        ("a.txt", ["--format", "svg"], "<svg "),
        ("a.svg", ["--format", "mermaid"], "---"),
    ],
)
def test_the_format_is_that_of_the_suffix_or_the_one_asked_for(
    name: str, arguments: list[str], start: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    assert main(["graph", VOTES, "-o", str(path), *arguments]) == 0
    assert capsys.readouterr().out == ""
    assert path.read_text(encoding="utf-8").startswith(start)


def test_svg_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", VOTES, "--format", "svg"]) == 0
    assert ET.fromstring(capsys.readouterr().out).tag.endswith("svg")


@pytest.mark.parametrize("name", ["missing_file_model", "bad_weights_count", "missing_parameter_uri"])
def test_a_file_whose_names_are_right_is_drawn(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(INVALID / f"{name}.yaml")
    assert main(["graph", path]) == 0
    printed = capsys.readouterr()
    assert "flowchart LR" in printed.out
    assert "Drawn from names and declared types: the file has 1 problem." in printed.out
    assert "subgraph" not in printed.out
    first, second = printed.err.splitlines()
    assert first == f"warning {path}: not valid yet, so it is drawn from its names and declared types:"
    assert f"[{name.rpartition('_')[0]}]" in second


@pytest.mark.parametrize(
    "name", ["cycle_two", "unknown_column_typo", "duplicate_column_nodes", "syntax_tab", "no_kind_typo"]
)
def test_a_file_whose_names_are_wrong_is_not(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", str(INVALID / f"{name}.yaml")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"[{name.rpartition('_')[0]}]" in printed.err


def test_calls_that_are_not_right(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", str(tmp_path / "none.yaml")]) == 2
    assert main(["graph", VOTES, "-o", str(tmp_path / "a.png")]) == 2
    assert main(["graph", VOTES, "-o", VOTES]) == 2
    said = capsys.readouterr().err.splitlines()
    assert "there is no file" in said[0]
    assert "has none of the suffixes .svg, .mmd, .mermaid" in said[1]
    assert "is the ensemble file itself" in said[2]


def test_a_place_that_cannot_be_written_to(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", VOTES, "-o", str(tmp_path / "none" / "a.svg")]) == 1
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


def test_it_needs_neither_beam_nor_a_framework() -> None:
    heavy = "('apache_beam', 'grpc', 'onnx', 'pyarrow', 'scipy', 'sklearn', 'tensorflow', 'torch', 'xgboost')"
    code = (
        "import sys; from beam_ensembles.cli.main import main\n"
        f"main(['graph', {str(INVALID / 'missing_file_model.yaml')!r}])\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
