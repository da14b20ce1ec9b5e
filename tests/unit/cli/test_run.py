"""``run``: the call, both outputs, what it prints, how it exits."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beam_ensembles.cli.main import main
from beam_ensembles.tables.json_lines import JsonWriter
from tests.support.iris import expected, flowers, make_ensemble
from tests.support.patience import SECONDS

VOTE = """
ensemble: votes
inputs: {p: "array<double>[2]", q: "array<double>[2]"}
nodes:
  vote: {combine: soft_vote, inputs: [p, q], labels: ["${no}", "yes"], outputs: {label: string, confidence: double}}
"""
GOOD: dict[str, Any] = {"id": 1, "p": [0.25, 0.75], "q": [0.5, 0.5]}
ANSWER = {"label": "yes", "confidence": 0.625}


@pytest.fixture
def vote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ensemble without a model, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vote.yaml").write_text(VOTE)
    return tmp_path


def lines(path: str | Path) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def write(path: str, *rows: Any) -> str:
    text = "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    Path(path).write_text(text, encoding="utf-8")
    return path


def run(input_: str, output: str, *more: str) -> int:
    return main(["run", "vote.yaml", "--parameter", "no=no", "--input", input_, "--output", output, *more])


def test_the_answers_are_scikit_learns_own(tmp_path: Path) -> None:
    ensemble, rows, out = make_ensemble(tmp_path), tmp_path / "rows.csv", tmp_path / "out.jsonl"
    several = [*flowers().tolist(), ["nan", 1.0, 1.0, 1.0]]
    cells = "".join(f"{at:04},{','.join(map(str, row))}\n" for at, row in enumerate(several))
    rows.write_text(f"id,a,b,c,d\n{cells}")
    assert main(["run", str(ensemble), "--input", str(rows), "--output", str(out), "--batch-size", "64"]) == 1
    labels, confidences = expected(tmp_path)
    found = lines(out)
    assert list(found[0]) == ["id", "a", "b", "c", "d", "label", "confidence"]
    assert [row["id"] for row in found] == [f"{at:04}" for at in range(150)]
    assert [row["label"] for row in found] == labels
    assert [row["confidence"] for row in found] == pytest.approx(confidences)
    (failed,) = lines(tmp_path / "out.errors.jsonl")
    assert (failed["row"], failed["node"], failed["code"]) == (151, "linear", "model_error")
    assert list(failed) == ["row", "element", "ensemble", "node", "code", "msg"]
    assert str(failed["element"]["a"]) == "nan"


def test_failed_rows_stand_beside_the_output(vote: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = [
        {**GOOD, "p": None},
        {**GOOD, "p": [1]},
        {**GOOD, "q": ["x", 1]},
        "[1, 2]",
        '{"p": ',
        {"p": [0, 1]},
    ]
    write("rows.jsonl", *bad[:3], GOOD, *bad[3:])
    assert run("rows.jsonl", "out.jsonl") == 1
    assert lines("out.jsonl") == [GOOD | ANSWER]
    assert [(row["row"], row["element"], row["code"]) for row in lines("out.errors.jsonl")] == [
        (1, bad[0], "null_value"),
        (2, bad[1], "wrong_length"),
        (3, bad[2], "wrong_value"),
        (5, bad[3], "bad_line"),
        (6, '{"p": ', "bad_line"),
        (7, bad[5], "null_value"),
    ]
    printed = capsys.readouterr().out
    assert "PARTLY ensemble 'votes': 7 rows read, 1 scored, 6 failed" in printed
    assert "    2 rows: [null_value] the row itself" in printed
    assert "  errors  out.errors.jsonl" in printed


def test_an_errors_file_of_an_earlier_run_is_removed(vote: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("rows.jsonl", {}, GOOD)
    assert run("rows.jsonl", "out.jsonl", "--errors", "bad.jsonl") == 1
    assert Path("bad.jsonl").exists()
    write("rows.jsonl", GOOD)
    assert run("rows.jsonl", "out.jsonl", "--errors", "bad.jsonl") == 0
    assert not Path("bad.jsonl").exists()
    assert capsys.readouterr().out.splitlines()[-3].startswith("OK ensemble 'votes': 1 row read, 1 scored")


def test_the_summary_as_json(vote: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("rows.jsonl", GOOD, {"p": 1}, GOOD)
    assert run("rows.jsonl", "out.csv", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found.pop("seconds") >= 0
    assert found.pop("loading_seconds") > 0
    assert found.pop("rows_per_second") >= 0
    assert found == {
        "ensemble": "votes", "input": "rows.jsonl", "output": "out.csv", "errors": "out.errors.jsonl",
        "rows": 3, "scored": 2, "failed": 1, "failures": [{"node": "", "code": "wrong_value", "rows": 1}],
    }  # fmt: skip


def test_a_prefix(vote: Path) -> None:
    write("rows.jsonl", {**GOOD, "label": "mine"})
    assert run("rows.jsonl", "out.jsonl", "--prefix", "p_") == 0
    assert lines("out.jsonl") == [{**GOOD, "label": "mine", "p_label": "yes", "p_confidence": 0.625}]


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        ("rows.csv", "id,pp,q\n", {"missing_field"}),
        ("rows.jsonl", '{"pp": [0, 1], "label": 1}\n', {"missing_field", "column_exists"}),
        ("rows.csv", "p,q,label\n", {"column_exists"}),
        ("rows.csv", "p,q,q\n", {"duplicate_field"}),
        ("rows.csv", "", {"no_header"}),
        ("rows.csv", "\n1,2\n", {"no_header"}),
        ("rows.csv", "p;q\n", {"bad_file"}),
        ("rows.csv", '"p,q\n', {"bad_file"}),
        ("rows.parquet", "p,q\n", {"bad_file"}),
    ],
)
def test_input_that_cannot_be_right_is_refused_before_anything_runs(
    vote: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, codes: set[str]
) -> None:
    Path(name).write_text(text)
    assert run(name, "out.jsonl", "--json") == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert {problem["code"] for problem in problems} == codes
    assert not Path("out.jsonl").exists()


def test_a_missing_field_is_named_with_the_nearest(vote: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.csv").write_text("id,p,qq\n")
    assert run("rows.csv", "out.csv") == 1
    assert capsys.readouterr().err.splitlines() == [
        "not valid rows.csv: 1 problem",
        "  [missing_field] input.q: the ensemble reads 'q', which the incoming rows lack; did you mean 'qq'? "
        "(fields: id, p, qq)",
    ]


def test_a_wrong_ensemble(vote: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("rows.jsonl", GOOD)
    assert main(["run", "vote.yaml", "--input", "rows.jsonl", "--output", "out.jsonl"]) == 1
    assert "[missing_parameter] nodes.vote.labels[0]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("input_", "output", "more", "message"),
    [
        ("none.csv", "out.csv", (), "there is no file 'none.csv'"),
        (".", "out.csv", (), "'.' is a folder, not a file"),
        ("rows.json", "out.csv", (), "none of the suffixes .csv, .jsonl, .parquet; JSON lines end in .jsonl"),
        ("rows.csv.gz", "out.csv", (), "none of the suffixes .csv, .jsonl, .parquet; unpack it first"),
        ("rows.csv", "out.csv.gz", (), "it cannot be written compressed"),
        ("rows.csv", "out", (), "'out' has none of the suffixes"),
        ("rows.csv", "none/out.csv", (), "there is no folder"),
        ("rows.csv", "folder.csv", (), "'folder.csv' is a folder"),
        ("rows.csv", "rows.csv", (), "--output is 'rows.csv', and so is --input"),
        ("rows.csv", "link.csv", (), "--output is 'link.csv', and so is --input"),
        ("rows.csv", "out.csv", ("--errors", "e.csv"), "its suffix must be .jsonl"),
        ("rows.csv", "out.jsonl", ("--errors", "out.jsonl"), "--errors is 'out.jsonl', and so is --output"),
    ],
)
def test_a_wrong_call_is_one_sentence(
    vote: Path,
    capsys: pytest.CaptureFixture[str],
    input_: str,
    output: str,
    more: tuple[str, ...],
    message: str,
) -> None:
    for name in ("rows.csv", "rows.json", "rows.csv.gz"):
        Path(name).touch()
    Path("folder.csv").mkdir()
    Path("link.csv").symlink_to("rows.csv")
    assert run(input_, output, *more) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("beam-ensembles run: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_a_pipe_or_device_is_not_replaced(vote: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.csv").touch()
    os.mkfifo("pipe")
    Path("link.jsonl").symlink_to("pipe")
    assert run("rows.csv", "link.jsonl") == 2
    assert "'link.jsonl' is a device, pipe or socket" in capsys.readouterr().err
    assert run("rows.csv", "out.jsonl", "--errors=link.jsonl") == 2
    assert Path("pipe").is_fifo()


@pytest.mark.parametrize("size", ["0", "-1", "many", "²", "9" * 30, "9" * 5_000])
def test_a_wrong_batch_size(vote: Path, capsys: pytest.CaptureFixture[str], size: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        run("rows.csv", "out.csv", f"--batch-size={size}")
    assert "is not a whole number from 1 to 999999999" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_run_that_breaks_off_leaves_what_was_there(
    vote: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    error: BaseException,
) -> None:
    write("rows.jsonl", GOOD, {})
    Path(f"out{suffix}").write_text("before")
    before = set(os.listdir())

    def show(*_: Any, **about: Any) -> None:
        if about.get("rows"):
            raise type(error)(*error.args)

    monkeypatch.setattr("beam_ensembles.cli.run_progress._nothing", show)
    assert run("rows.jsonl", f"out{suffix}") == (130 if isinstance(error, KeyboardInterrupt) else 1)
    assert Path(f"out{suffix}").read_text() == "before"
    assert set(os.listdir()) == before
    message = (
        "interrupted after 2 rows; nothing was written"
        if isinstance(error, KeyboardInterrupt)
        else f"'out{suffix}': No space left on device"
    )
    assert capsys.readouterr().err == f"beam-ensembles run: {message}\n"


def test_sigterm_ends_it_as_ctrl_c_does(vote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("rows.jsonl", GOOD)
    before, write_rows = set(os.listdir()), JsonWriter.write

    def write_and_be_ended(*args: Any) -> None:
        write_rows(*args)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    monkeypatch.setattr(JsonWriter, "write", write_and_be_ended)
    assert run("rows.jsonl", "out.jsonl") == 130
    assert set(os.listdir()) == before
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.fixture
def full_disk() -> Iterator[Path]:
    """A disk of 64 KiB."""
    folder = Path(tempfile.mkdtemp())
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], check=False).returncode:
        pytest.skip("needs permission to mount a small disk")
    yield folder
    subprocess.run(["umount", folder], check=True)
    folder.rmdir()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_full_disk_leaves_nothing_and_is_named(
    vote: Path, full_disk: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("rows.jsonl", *([GOOD] * 20_000))
    output = full_disk / f"out{suffix}"
    if suffix == ".parquet":  # it would be small enough
        (full_disk / "other").write_bytes(bytes(64 << 10))
    before = os.listdir(full_disk)
    assert run("rows.jsonl", str(output)) == 1
    assert capsys.readouterr().err == f"beam-ensembles run: '{output}': No space left on device\n"
    assert os.listdir(full_disk) == before


def test_a_disk_too_full_for_the_errors_leaves_no_output_either(
    vote: Path, full_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(OSError):
        (full_disk / "other").write_bytes(bytes(64 << 10))
    write("rows.jsonl", GOOD, "no row", GOOD)
    before, errors = set(os.listdir()), str(full_disk / "failed.jsonl")
    assert run("rows.jsonl", "out.jsonl", "--errors", errors) == 1
    assert capsys.readouterr().err == f"beam-ensembles run: '{errors}': No space left on device\n"
    assert (set(os.listdir()), os.listdir(full_disk)) == (before, ["other"])


def test_a_signal_while_files_take_their_names_comes_too_late(
    vote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("rows.jsonl", GOOD, "no row")
    replace = os.replace

    def replace_and_be_ended(*args: Any) -> None:
        replace(*args)
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)

    monkeypatch.setattr("os.replace", replace_and_be_ended)
    assert run("rows.jsonl", "out.jsonl") == 1
    assert (len(lines("out.jsonl")), len(lines("out.errors.jsonl"))) == (1, 1)


@pytest.mark.parametrize("call", [["run", "vote.yaml", "--parameter=no=no"], ["list"]], ids=["run", "list"])
def test_a_full_standard_output_is_one_sentence(vote: Path, call: list[str]) -> None:
    write("rows.jsonl", GOOD)
    files = ["--input=rows.jsonl", "--output=out.csv"] if call[0] == "run" else []
    code = f"import sys; sys.path[:0] = {sys.path!r}\nfrom beam_ensembles.cli.main import main\n"
    command = [sys.executable, "-c", f"{code}sys.exit(main({call + files}))"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("No space left on device\n")
    assert done.stderr.startswith(f"beam-ensembles {call[0]}: ")


def started(stderr: int) -> subprocess.Popen[str]:
    call = ["run", "vote.yaml", "--parameter=no=no", "--input=rows.jsonl", "--output=out.csv", "--json"]
    code = f"import sys; sys.path[:0] = {sys.path!r}\nfrom beam_ensembles.cli.main import main; sys.exit(main({call}))"
    env = {**os.environ, "TERM": "xterm"}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=stderr, text=True, env=env
    )


def test_nothing_but_the_summary_is_printed_where_there_is_no_terminal(vote: Path) -> None:
    write("rows.jsonl", GOOD)
    stdout, stderr = started(subprocess.PIPE).communicate(timeout=SECONDS)
    assert stderr == ""
    assert json.loads(stdout)["scored"] == 1


def shown_on_a_terminal() -> bytes:
    """Scores rows with a terminal as standard error; returns what it showed."""
    write("rows.jsonl", *([GOOD] * 5_000))
    master, slave = pty.openpty()
    with started(slave) as process:
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal says that nobody writes to it any more
            while read := os.read(master, 65_536):
                shown += read
        stdout, _ = process.communicate(timeout=SECONDS)
    os.close(master)
    assert json.loads(stdout)["scored"] == 5_000
    return shown


def test_progress_is_shown_on_a_terminal_on_standard_error(vote: Path) -> None:
    assert b"scoring" in shown_on_a_terminal()


@pytest.mark.parametrize(
    ("name", "value"),
    [("JPY_PARENT_PID", "1"), ("MPLBACKEND", "module://matplotlib_inline.backend_inline")],
)
def test_a_notebook_gets_no_frames_of_the_progress(
    vote: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert shown_on_a_terminal() == b""


def test_parquet_of_some_failed_rows_has_the_scored_ones(vote: Path) -> None:
    pq.write_table(pa.table({"p": [[0.25, 0.75], None, [0.0]], "q": [[0.5, 0.5]] * 3}), "rows.parquet")
    assert run("rows.parquet", "out.parquet") == 1
    assert pq.read_table("out.parquet").to_pylist() == [{"p": [0.25, 0.75], "q": [0.5, 0.5], **ANSWER}]
    assert [row["element"] for row in lines("out.errors.jsonl")] == [
        {"p": None, "q": [0.5, 0.5]},
        {"p": [0.0], "q": [0.5, 0.5]},
    ]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("source", [".csv", ".jsonl"])
def test_batches_without_a_good_row(vote: Path, source: str, suffix: str) -> None:
    write("rows.jsonl", "no row", GOOD, "no row", {"p": None})
    cells = ["id,p,q", "no row", '1,"[0.25, 0.75]","[0.5, 0.5]"', "no row", "2,,"]
    Path("rows.csv").write_text("\n".join(cells))
    assert run(f"rows{source}", f"out{suffix}", "--batch-size", "1") == 1
    assert [row["row"] for row in lines("out.errors.jsonl")] == [1, 3, 4]
    if suffix == ".parquet":
        assert pq.read_table("out.parquet").select(["label", "confidence"]).to_pylist() == [ANSWER]


@pytest.mark.parametrize("form", ["folder", "package", "module", "wheel"])
def test_code_is_imported_from_where_the_call_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    name = f"our_code_in_a_{form}"
    places = {
        "folder": (f"src/{name}.py", "src"),
        "package": (f"src/{name}/__init__.py", f"src/{name}"),
        "module": (f"{name}.py", f"{name}.py"),
        "wheel": (f"{name}-1.0-py3-none-any.whl", f"{name}-1.0-py3-none-any.whl"),
    }
    file, given = (tmp_path / one for one in places[form])
    file.parent.mkdir(parents=True, exist_ok=True)
    code = "def twice(x):\n    return 2 * x\n"
    if form == "wheel":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(f"{name}.py", code)
    else:
        file.write_text(code)
    ensemble, rows, out = tmp_path / "e.yaml", tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    ensemble.write_text(
        f"ensemble: e\ninputs: {{x: double}}\nnodes:\n  y: {{apply: python, function: {name}.twice, inputs: [x], "
        "outputs: {y: double}}\n"
    )
    rows.write_text('{"x": 1.5}\n')
    call = ["run", str(ensemble), "--input", str(rows), "--output", str(out)]
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(call) == 1
    assert "--code DIR" in capsys.readouterr().err
    assert main([*call, "--code", str(given)]) == 0
    assert json.loads(out.read_text()) == {"x": 1.5, "y": 3.0}


def test_code_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "e.yaml", "--input", "a.csv", "--output", "b.csv", "--code", str(tmp_path / "none")])
    assert "there is no" in capsys.readouterr().err


def test_what_is_warned_of_is_shown(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(
        "ensemble: e\ninputs: {x: string}\nnodes:\n"
        "  r: {route: split, inputs: [x], arms: {a: 1, b: 1}, outputs: {arm: string}}\n"
        "  y: {apply: sql, when: arm = 'c', inputs: [x], select: {y: x}, outputs: {y: string}}\n"
    )
    (tmp_path / "rows.jsonl").write_text('{"x": "1"}\n')
    call = [sys.executable, "-m", "beam_ensembles.cli.main", "run", "e.yaml", "--output", "o.jsonl"]
    done = subprocess.run(
        [*call, "--input", "rows.jsonl"], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    assert "beam-ensembles run: ensemble 'e': [unknown_arm]" in done.stderr
