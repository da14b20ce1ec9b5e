"""The command itself: help, version, and calls that cannot be understood."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from beam_ensembles import __version__
from beam_ensembles.cli.main import SUMMARIES, main
from beam_ensembles.combiners.hard_vote import HardVoteKind


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"beam-ensembles {__version__}\n"


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert all(verb in text for verb in SUMMARIES)


def test_without_a_verb_it_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "start here" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["valdate", "x"], ["--verbose"], ["validate"], ["validate", "a", "--jsn"]]
)
def test_calls_that_cannot_be_understood(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: beam-ensembles" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["validat", "x"], "there is no verb 'validat'; did you mean 'validate'?"),
        (["validate", "a", "--jsn"], "validate: error: there is no option '--jsn'; did you mean '--json'?"),
        (["run", "a", "--inptu=rows.csv"], "there is no option '--inptu'; did you mean '--input'?"),
    ],
)
def test_the_nearest_name_is_given(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err


def test_behind_two_dashes_a_word_is_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--", "--jsn"]) == 2
    assert "there is no file '--jsn'" in capsys.readouterr().err


@pytest.mark.parametrize("verb", SUMMARIES)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([verb, "--help"])
    assert stopped.value.code == 0
    assert f"usage: beam-ensembles {verb}" in capsys.readouterr().out


def test_the_command_alone_imports_no_verb() -> None:
    code = (
        "import sys; from beam_ensembles.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith(('beam_ensembles.', 'apache_beam', 'yaml'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['beam_ensembles.cli', 'beam_ensembles.cli.main']"


def test_an_internal_error_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A kind of this project that fails in its check is a defect, and still no traceback for its user."""
    file = tmp_path / "vote.yaml"
    file.write_text(
        "ensemble: vote\ninputs: {a: string, b: string, c: string}\n"
        "nodes:\n  vote: {combine: hard_vote, inputs: [a, b, c], outputs: {label: string}}\n"
    )

    def broken(*_: object) -> None:
        raise KeyError("a")

    monkeypatch.setattr(HardVoteKind, "check", broken)
    assert main(["validate", str(file)]) == 1
    err = capsys.readouterr().err
    assert err.startswith(
        f"beam-ensembles validate: internal error of beam-ensembles {__version__}: KeyError: 'a'"
    )
    assert "(test_main.py, line " in err
    assert "Traceback" not in err
    assert err.count("\n") == 1
    monkeypatch.setenv("BEAM_ENSEMBLES_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["validate", str(file)])
