"""The two sets of Python's packages, and which one is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.made import Made
from scripts.toolchains import python

PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The locks that are installed, in order; nothing really is."""
    calls: list[str] = []
    for lock, made in (("DEV_LOCK", "_ALL"), ("DEMO_LOCK", "_DEMO")):
        copy = tmp_path / lock
        copy.write_text(f"{lock}==1", encoding="utf-8")
        monkeypatch.setattr(python, lock, copy)
        monkeypatch.setattr(python, made, Made(tmp_path / made, (), lambda copy=copy: [copy]))

    def install(what: list[str | Path], *_: Path) -> None:
        calls.extend(word.name for word in what if isinstance(word, Path) and word.parent == tmp_path)

    monkeypatch.setattr(python, "install", install)
    return calls


def test_the_demos_versions_are_those_of_development() -> None:
    demo, dev = (
        set(PIN.findall(lock.read_text(encoding="utf-8"))) for lock in (python.DEMO_LOCK, python.DEV_LOCK)
    )
    assert demo
    assert demo <= dev


def test_a_demo_on_a_new_machine_installs_the_small_set_once(installed: list[str]) -> None:
    python.install_for_demo()
    python.install_for_demo()
    assert installed == ["DEMO_LOCK"]


def test_a_demo_is_content_with_all_packages(installed: list[str]) -> None:
    python.install_all()
    python.install_for_demo()
    assert installed == ["DEV_LOCK"]


def test_the_small_set_is_not_enough_for_development(installed: list[str]) -> None:
    python.install_for_demo()
    python.install_all()
    python.install_for_demo()
    assert installed == ["DEMO_LOCK", "DEV_LOCK"]


def test_what_is_installed_over_another_set_makes_that_one_stale(installed: list[str]) -> None:
    python.install_all()
    lock = python.DEV_LOCK.read_text(encoding="utf-8")
    python.DEV_LOCK.write_text("changed==2", encoding="utf-8")
    python.install_for_demo()
    python.DEV_LOCK.write_text(lock, encoding="utf-8")
    python.install_all()
    assert installed == ["DEV_LOCK", "DEMO_LOCK", "DEV_LOCK"]
