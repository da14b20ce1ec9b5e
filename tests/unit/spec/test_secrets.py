"""Secrets: where they are kept, and that nobody sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.spec.secrets import Secret, SecretError, is_secret, read_secret


def test_a_variable_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "geheim")
    assert read_secret({"secret": "env:TOKEN"}).reveal() == "geheim"
    assert read_secret({"secret": "env:TOKEN", "prefix": "Bearer "}).reveal() == "Bearer geheim"


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_mounted_file_without_the_end_of_its_line(tmp_path: Path, end: str) -> None:
    (tmp_path / "token").write_bytes(f"ge heim {end}".encode())
    assert read_secret({"secret": f"file:{tmp_path}/token"}).reveal() == "ge heim "


@pytest.mark.parametrize(
    "value",
    [
        {"secret": "geheim"},
        {"secret": "env:"},
        {"secret": "env:A-B"},
        {"secret": "ENV:A"},
        {"secret": "file:run/secrets/x"},
        {"secret": "file:/run/../etc/shadow"},
        {"secret": "file:/"},
        {"secret": ["env:A"]},
        {"secret": "env:A", "prefix": 1},
        {"secret": "env:A", "prefx": "Bearer "},
    ],
    ids=str,
)
def test_what_is_no_secret(value: dict[str, Any]) -> None:
    with pytest.raises(SecretError) as caught:
        read_secret(value)
    assert "geheim" not in str(caught.value)


def test_what_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    monkeypatch.setenv("EMPTY", "")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for place, words in {
        "env:NOWHERE": "'NOWHERE' with a secret of this node is not there",
        "env:EMPTY": "'EMPTY' with a secret of this node is empty",
        f"file:{tmp_path}/none": "is not there",
        f"file:{tmp_path}/bytes": "cannot be read: it is not UTF-8",
        f"file:{tmp_path}": "cannot be read: Is a directory",
    }.items():
        with pytest.raises(SecretError, match=words):
            Secret(place).reveal()


def test_only_a_mapping_with_its_key_is_one() -> None:
    assert is_secret({"secret": 1})
    assert not any(map(is_secret, ("secret", ["secret"], {"prefix": "x"}, None)))
