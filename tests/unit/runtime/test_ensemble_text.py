"""An ensemble file that the service reads for a client."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.runtime.ensemble_text import read_uri


def _code(uri: str, *trusted: str) -> str:
    with pytest.raises(InvalidEnsemble) as caught:
        read_uri(uri, Files(trusted=trusted))
    (problem,) = caught.value.problems
    assert problem.path == "spec_uri"
    return problem.code


def test_a_file_in_a_trusted_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text("ensemble: e")
    assert read_uri(str(tmp_path / "e.yaml"), Files(trusted=(str(tmp_path),))) == (
        "ensemble: e",
        str(tmp_path),
    )


def test_no_other_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password: 1")
    (tmp_path / "trusted").mkdir()
    (tmp_path / "trusted" / "link").symlink_to(tmp_path / "secret")
    trusted = str(tmp_path / "trusted")
    assert _code(str(tmp_path / "secret"), trusted) == "untrusted_file"
    assert _code(f"{trusted}/../secret", trusted) == "untrusted_file"
    assert _code(f"{trusted}/link", trusted) == "untrusted_file"
    assert _code("/dev/zero", "/") == "unreadable_file"


def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert _code(str(tmp_path / "pipe"), str(tmp_path)) == "unreadable_file"


def test_a_relative_path_is_relative_to_nothing() -> None:
    assert _code("digits.yaml") == "relative_uri_without_base"
