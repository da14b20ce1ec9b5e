"""What an audit of dependencies tells: what is weak, and that nothing was audited where that is so."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.layout import REQUIREMENTS
from scripts.release import audit
from scripts.shell import CommandFailed, Missing

Answer = dict[str, Any]
CVE = {"id": "CVE-2018-18074", "fix_versions": ["2.20.0"], "aliases": [], "description": "It sends a header."}
Index = Callable[[Callable[[str, str], Answer]], None]


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Index:
    """Make pip-audit report what a function returns for each package."""

    def use(say: Callable[[str, str], Answer]) -> None:
        def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            pins = [line.split("==") for line in Path(command[-1]).read_text().splitlines()]
            answers = [{"name": name, "version": version} | say(name, version) for name, version in pins]
            return subprocess.CompletedProcess(command, 1, json.dumps({"dependencies": answers}), "")

        monkeypatch.setattr(subprocess, "run", run)
        monkeypatch.setattr(audit, "locked_environment", lambda name: tmp_path)

    return use


def well(name: str, version: str) -> Answer:
    """Knows one weakness, that of the package by which a source of advisories is known."""
    return {"vulns": [CVE] if (name, version) == ("requests", "2.19.0") else []}


def test_packages_without_known_weaknesses(index: Index) -> None:
    index(well)
    assert audit.of_python().endswith("packages, no known weaknesses")


def test_an_index_without_advisories_is_not_taken_for_good_news(index: Index) -> None:
    for answer in ({"vulns": []}, {"skip_reason": "not found on PyPI"}):
        index(lambda name, version, answer=answer: answer)  # type: ignore[misc]
        with pytest.raises(Missing, match="NOT AUDITED"):
            audit.of_python()


def test_what_pip_audit_cannot_say_is_not_taken_for_good_news(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(well)
    done = subprocess.CompletedProcess[str]([], 1, "", "Traceback\nConnectionError: no such host")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(Missing, match=r"NOT AUDITED: .*no such host"):
        audit.of_python()


def test_a_weakness_is_named_with_its_remedy(index: Index) -> None:
    index(lambda name, version: {"vulns": [CVE]} if name == "requests" else {"vulns": []})
    with pytest.raises(CommandFailed, match=r"requests==\S+: CVE-2018-18074, mended in 2\.20\.0"):
        audit.of_python()


def test_a_package_that_the_index_does_not_know_fails_the_audit(index: Index) -> None:
    index(lambda name, version: {"skip_reason": "not found"} if name == "numpy" else well(name, version))
    with pytest.raises(CommandFailed, match="numpy: not found"):
        audit.of_python()


def test_every_pin_of_a_lock_is_found() -> None:
    text = (REQUIREMENTS / "dev.txt").read_text(encoding="utf-8")
    assert len(audit.pins_of(REQUIREMENTS / "dev.txt")) == sum(
        "==" in line for line in text.splitlines() if line[0] not in " #"
    )


def test_no_list_has_two_versions_of_a_package() -> None:
    pins = [("a", "1"), ("a", "2"), ("b", "1")]
    assert audit.versions_apart(pins) == [[("a", "1"), ("b", "1")], [("a", "2")]]
