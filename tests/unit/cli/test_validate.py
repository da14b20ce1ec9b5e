"""``validate``: what it prints, how it exits, and that it starts at once."""

from __future__ import annotations

import json
import pathlib
import socket
import subprocess
import sys

import pytest

from beam_ensembles.cli.main import main
from tests.support.interpreter import run_python

ROOT = pathlib.Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
INVALID = GOLDEN / "specs_invalid"
HEAVY = (
    "apache_beam", "grpc", "joblib", "onnx", "onnxruntime", "pandas", "pyarrow", "scipy", "sklearn",
    "tensorflow", "torch", "xgboost",
)  # fmt: skip


def test_a_right_file(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(GOLDEN / "specs" / "votes.yaml")
    assert main(["validate", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"OK {path}: ensemble 'votes'"
    assert "  reads  x: array<double>[4]" in lines
    assert "  runs   vote: combine soft_vote" in lines
    assert "  adds   confidence: double" not in lines
    assert "  adds   answer: string" in lines


def test_a_wrong_file(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(INVALID / "bad_value_default.yaml")
    assert main(["validate", path]) == 1
    at = "nodes.network.on_error.default"
    assert capsys.readouterr().out.splitlines() == [
        f"not valid {path}: 2 problems",
        f"  [bad_value] {at}.probabilities: the default of 'probabilities' is [1, 2], "
        "which is not of type array<float>[3]",
        f"  [unknown_column] {at}.other: this node adds no column 'other' (it adds: probabilities)",
    ]


def test_what_could_not_be_checked_is_a_warning(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as closed:
        closed.bind(("localhost", 0))
        uri = f"grpc://localhost:{closed.getsockname()[1]}/dense"
        node = {"model": "open_inference", "uri": uri, "inputs": {"a": "x"}, "outputs": {"y": "double"}}
        path = tmp_path / "remote.json"
        path.write_text(
            json.dumps({"ensemble": "remote", "inputs": {"x": "double"}, "nodes": {"dense": node}})
        )
        assert main(["validate", str(path), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["problems"] == []
    assert printed.err.startswith(f"warning {path}: [server_unreachable] nodes.dense.uri: ")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    path = INVALID / "all_together.yaml"
    assert main(["validate", str(path), "--json"]) == 1
    wrong = json.loads(capsys.readouterr().out)
    assert list(wrong) == ["problems"]
    found = wrong["problems"]
    assert all(set(problem) == {"code", "path", "message"} for problem in found)
    wanted = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))["problems"]
    assert [{"code": problem["code"], "path": problem["path"]} for problem in found] == wanted
    assert main(["validate", str(GOLDEN / "specs" / "votes.yaml"), "--json"]) == 0
    right = json.loads(capsys.readouterr().out)
    assert main(["plan", str(GOLDEN / "specs" / "votes.yaml"), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    del plan["stages"]
    assert right == {"problems": [], **plan}
    assert list(plan) == ["ensemble", "description", "inputs", "outputs", "labels", "parameters"]
    assert all(plan[key] for key in ("inputs", "outputs", "labels"))


def test_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(GOLDEN / "specs" / "parameters.yaml")
    given = json.loads((GOLDEN / "specs" / "parameters.expected.json").read_text(encoding="utf-8"))[
        "parameters"
    ]
    assert main(["validate", path, *(f"--parameter={name}={value}" for name, value in given.items())]) == 0
    assert main(["validate", path]) == 1
    assert "missing_parameter" in capsys.readouterr().out


def test_trust(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(INVALID / "untrusted_file_outside.yaml")
    assert main(["validate", path]) == 1
    assert "untrusted_file" in capsys.readouterr().out
    assert main(["validate", path, "--trust", str(GOLDEN / "untrusted")]) == 0


@pytest.mark.parametrize(
    ("file", "sentence"), [("nowhere.yaml", "there is no file"), (".", "is a folder, not a file")]
)
def test_a_file_that_is_not_there(
    file: str, sentence: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(tmp_path / file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.count("\n") == 1


def test_a_parameter_without_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["validate", "a.yaml", "--parameter", "name"])
    assert stopped.value.code == 2
    assert "'name' is not NAME=VALUE" in capsys.readouterr().err


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(["validate", str(INVALID / "bad_value_isolate.yaml")])
    assert "\033[31mnot valid\033[0m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    main(["validate", str(INVALID / "bad_value_isolate.yaml")])
    assert "\033" not in capsys.readouterr().out


def test_it_imports_neither_beam_nor_a_framework() -> None:
    code = (
        "import sys; from beam_ensembles.cli.main import main\n"
        f"assert main(['validate', {str(GOLDEN / 'specs' / 'votes.yaml')!r}]) == 0\n"
        "print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(done.stdout.splitlines()[-1].split())


def test_only_what_a_file_uses_is_imported(tmp_path: pathlib.Path) -> None:
    """The file of the README: two models of scikit-learn and a vote."""
    for name in ("linear", "forest"):
        (tmp_path / f"{name}.joblib").write_bytes(b"never read")
    text = (
        (ROOT / "README.md").read_text(encoding="utf-8").partition("# flowers.yaml\n")[2].partition("```")[0]
    )
    file = tmp_path / "flowers.yaml"
    file.write_text(text, encoding="utf-8")
    code = (
        "from beam_ensembles.cli.main import main\n"
        f"assert main(['validate', {str(file)!r}]) == 0\n"
        f"print(sorted({HEAVY!r} & sys.modules.keys()))\n"
        "print(len([name for name in sys.modules if name.partition('.')[0] == 'beam_ensembles']))"
    ).replace(repr(HEAVY), repr({*HEAVY, "polars"}))
    *_, heavy, count = run_python(code).splitlines()
    assert heavy == "[]"
    assert int(count) < 120
