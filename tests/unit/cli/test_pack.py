"""``pack``: what it prints, how it exits, and that the other verbs take what it makes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.bundles import packing
from beam_ensembles.bundles.store import VARIABLE
from beam_ensembles.cli.main import main
from tests.unit.bundles.conftest import LABELS

PICKLED = """\
ensemble: pickled
inputs: {{x: "array<float>[2]"}}
nodes:
  one: {{model: sklearn, uri: "{path}", inputs: [x], outputs: {{y: int64}}}}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An ensemble file in a folder of its own, which is the current one."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "named.yaml").write_text(LABELS)
    (folder / "names.txt").write_text("zero\none\n")
    monkeypatch.chdir(folder)
    return "named.yaml"


def bundle_here() -> str:
    (found,) = Path().glob("*.ensemble.zip")
    return str(found)


def test_it_says_what_is_packed(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", file]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    bundle = bundle_here()
    assert first.startswith(f"packed ensemble 'named': {bundle} (")
    assert second.split() == ["sha256", second.split()[1]]
    assert second.split()[1].startswith(bundle.removeprefix("named-").removesuffix(".ensemble.zip"))
    assert third == "  has     names.txt (9 bytes)"


def test_programs_get_it_as_json(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tools.py").write_text("X = 1\n")
    Path("needs.txt").write_text("numpy>=1\n")
    assert main(["pack", file, "--code", "tools.py", "--requirements", "needs.txt", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["bundle"] == bundle_here()
    assert said["code"] == ["tools"]
    assert said["requirements"] == ["numpy>=1"]
    assert said["places"] == {"names.txt": "files/names.txt"}
    assert said["files"]["files/names.txt"]["bytes"] == 9
    assert Path(said["bundle"]).stat().st_size == said["bytes"]


def test_the_other_verbs_take_a_bundle(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", file, "--output", str(tmp_path)]) == 0
    (bundle,) = map(str, tmp_path.glob("*.ensemble.zip"))
    shutil.rmtree(tmp_path / "here")
    (tmp_path / "rows.jsonl").write_text('{"x": 1}\n')
    scored = tmp_path / "scored.jsonl"
    for words in (["validate", bundle], ["plan", bundle], ["graph", bundle, "-o", str(tmp_path / "g.svg")]):
        assert main(words) == 0
    assert main(["run", bundle, "--input", str(tmp_path / "rows.jsonl"), "--output", str(scored)]) == 0
    assert json.loads(scored.read_text()) == {"x": 1, "name": "one"}
    assert "one" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.yaml"], "there is no file 'none.yaml'"),
        (["named.yaml", "--requirements", "none.txt"], "there is no file 'none.txt'"),
        (["named.yaml", "--output", "none/"], "there is no folder 'none/'"),
        (["b.ensemble.zip"], "'b.ensemble.zip' is a bundle already"),
        (["named.yaml", "--output", "b.zip"], "make it first, or end the name in .ensemble.zip\n"),
        (["named.yaml", "--output", "none/b.ensemble.zip"], "to write the bundle to; make it first\n"),
        (
            ["named.yaml", "--output", ""],
            "--output is empty; give a folder, or a name that ends in .ensemble.zip\n",
        ),
        (
            ["named.yaml", "--output", "names.txt"],
            "'names.txt' is not a folder; give one, or a name that ends in",
        ),
    ],
)
def test_a_wrong_call(words: list[str], said: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.ensemble.zip").touch()
    assert main(["pack", *words]) == 2
    assert said in capsys.readouterr().err


def test_what_cannot_be_packed_is_said_in_one_sentence(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", file, "--code", "nothing"]) == 1
    assert capsys.readouterr().err == "beam-ensembles pack: --code: there is no 'nothing'\n"
    Path("names.txt").unlink()
    assert main(["pack", file]) == 1
    assert "[missing_file] nodes.name.file: " in capsys.readouterr().err
    assert main(["pack", file, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["problems"][0]["code"] == "missing_file"
    assert not list(Path().glob("*.zip"))


def test_a_bundle_that_was_changed_is_not_valid(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", file]) == 0
    bundle = Path(bundle_here())
    bundle.write_bytes(bundle.read_bytes().replace(b"zero", b"nine"))
    assert main(["validate", str(bundle)]) == 1
    assert "[bad_bundle] $: " in capsys.readouterr().out


def test_requirements_in_another_encoding_are_no_traceback(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("needs.txt").write_text("numpy>=1\n", encoding="utf-16")
    assert main(["pack", file, "--requirements", "needs.txt"]) == 1
    assert capsys.readouterr().err == "beam-ensembles pack: 'needs.txt' is not UTF-8 text; save it as UTF-8\n"


def test_a_pack_that_is_ended_leaves_nothing(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bundle, scratch, before = packing.write_bundle, tmp_path / "scratch", set(os.listdir())
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    def write_and_be_ended(*args: Any) -> None:
        write_bundle(*args)
        assert os.listdir(scratch)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    monkeypatch.setattr(packing, "write_bundle", write_and_be_ended)
    assert main(["pack", file]) == 130
    assert "interrupted; nothing was written" in capsys.readouterr().err
    assert set(os.listdir()) == before
    assert not os.listdir(scratch)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_name_with_the_digest_of_another_bundle_is_refused(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "named-000000000000.ensemble.zip"
    before = set(os.listdir())
    assert main(["pack", file, "--output", wrong]) == 1
    said = capsys.readouterr().err
    assert said.startswith(
        f"beam-ensembles pack: '{wrong}' names SHA-256 000000000000, but that of the bundle is "
    )
    assert set(os.listdir()) == before
    assert main(["pack", file]) == 0
    right = bundle_here()
    assert main(["pack", file, "--output", right]) == 0


def test_a_folder_that_takes_no_files_is_named_without_the_unfinished_file(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pack", file, "--output", "/proc"]) in (1, 2)  # root is told by the attempt, others before
    said = capsys.readouterr().err
    assert said.startswith("beam-ensembles pack: the folder '/proc' cannot be written to")
    assert ".packing." not in said


@pytest.mark.parametrize("name", ["na\nmes.txt", "na\udcffmes.txt"])
def test_a_file_whose_name_no_bundle_can_have_is_to_be_renamed(
    name: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tools").mkdir()
    Path("tools/__init__.py").touch()
    Path("tools", name).touch()
    assert main(["pack", file, "--code", "tools"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.endswith("rename the file\n")


def test_a_file_that_is_not_trusted_asks_for_the_verbs_own_flag(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "names.pkl").write_bytes(b"x")
    Path(file).write_text(PICKLED.format(path=tmp_path / "names.pkl"))
    for words, stream in ((["pack", file], 1), (["validate", file], 0), (["pack", file, "--json"], 0)):
        assert main(words) == 1
        said = capsys.readouterr()[stream]
        assert "trust its folder (start with --trust FOLDER)" in said


CLIP = """\
import numpy as np
class Clip:
    def fit(self, x, y=None):
        return self
    def transform(self, x):
        return np.clip(x, 0, 1)
"""


@pytest.fixture
def clipped(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ensemble whose pickle needs a module that is on this process's path alone; gives that module."""
    import joblib
    import numpy as np
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline

    team = tmp_path / "team" / "clip_team.py"
    team.parent.mkdir()
    team.write_text(CLIP)
    monkeypatch.syspath_prepend(str(team.parent))
    monkeypatch.setenv("PYTHONPATH", f"{team.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    import clip_team

    x = np.array([[0.0, 1.0], [1.0, 0.5], [0.3, 0.2]])
    joblib.dump(make_pipeline(clip_team.Clip(), LinearRegression()).fit(x, x[:, 0]), "model.joblib")
    text = PICKLED.format(path="model.joblib").replace("float>", "double>").replace("y: int64", "y: double")
    Path("pickled.yaml").write_text(text)
    Path("isolated.yaml").write_text(text.replace("model: sklearn", "model: sklearn, isolate: process"))
    return team


def test_a_bundle_without_its_code_is_warned_of_and_does_not_run_alone(
    clipped: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["pack", "pickled.yaml", "--try"]) == 1
    out, err = capfd.readouterr()
    warning, *_, last = err.splitlines()
    assert warning == (
        "warning pickled.yaml: 'model.joblib' needs 'clip_team.Clip', but the module 'clip_team' is not packed: "
        f"--code {clipped}"
    )
    assert last.endswith(f"'{bundle_here()}' is written, but it does not run alone")
    assert "[load_failed] nodes.one.uri" in out
    assert "clip_team" in out


@pytest.mark.parametrize("name", ["pickled.yaml", "isolated.yaml"])
def test_a_bundle_with_its_code_runs_alone(
    clipped: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["pack", name, "--try", "--code", str(clipped)]) == 0
    out, err = capfd.readouterr()
    assert "warning" not in err
    assert "brings  clip_team" in out
    assert "loads  one: sklearn" in out


def test_processes_of_a_bundle_that_runs_alone_read_no_pth_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = "import sys\n\ndef same(x):\n    assert sys.flags.no_site\n    return x\n"
    Path("siteless.py").write_text(code)
    Path("few.jsonl").write_text('{"x": 1.0}\n')
    node = "{apply: python, function: siteless.same, isolate: process, inputs: [x], outputs: {y: double}}"
    Path("e.yaml").write_text(f"ensemble: e\ninputs: {{x: double}}\nnodes:\n  a: {node}\n")
    assert main(["pack", "e.yaml", "--try", "--rows", "few.jsonl", "--code", "siteless.py"]) == 0
    assert "scores 1 row" in capfd.readouterr().out


def test_a_bundle_is_asked_rows_of_ones_own(clipped: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("few.jsonl").write_text('{"x": [0.0, 2.0]}\n{"x": [1.0]}\n')
    call = ["pack", "pickled.yaml", "--try", "--rows", "few.jsonl", "--code", str(clipped), "--json"]
    assert main(call) == 1
    out, _ = capfd.readouterr()
    said = json.loads(out)
    assert said["code"] == ["clip_team"]
    assert said["trial"]["rows"]["scored"] + said["trial"]["rows"]["failed"] == 2
    assert said["trial"]["rows"]["failures"][0]["code"] == "wrong_length"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--rows", "names.txt"], "--rows is for the bundle that --try loads"),
        (["--try", "--rows", "nothing.jsonl"], "there is no file 'nothing.jsonl'"),
        (["--try", "--rows", "names.txt"], "names.txt"),
    ],
)
def test_rows_are_for_a_trial(
    file: str, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    assert main(["pack", file, *more]) == 2
    assert said in capsys.readouterr().err
    assert not list(Path().glob("*.zip"))
