"""The release: one version everywhere, and nothing is published without being asked for by its version."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import beam_ensembles
from scripts.layout import ROOT
from scripts.release import coordinates, publishing, versions
from scripts.shell import CommandFailed


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that hold the version, in a folder of their own."""
    for place in versions.PLACES:
        (tmp_path / place.file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / place.file, tmp_path / place.file)
    return tmp_path


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The commands that publishing would run, where nothing stands against it."""
    monkeypatch.setattr(publishing, "obstacles", lambda version: [])
    monkeypatch.setattr(publishing, "locked_environment", lambda name: tmp_path)
    return []


def test_all_places_say_the_same() -> None:
    assert versions.agreed() == beam_ensembles.__version__


def test_a_version_is_written_everywhere(copy: Path) -> None:
    versions.write("1.20.3rc1", copy)
    assert versions.agreed(copy) == "1.20.3rc1"
    before, after = (root / "pyproject.toml" for root in (ROOT, copy))
    changed = set(before.read_text().splitlines()) ^ set(after.read_text().splitlines())
    assert changed == {f'version = "{beam_ensembles.__version__}"', 'version = "1.20.3rc1"'}


@pytest.mark.parametrize("place", versions.PLACES, ids=lambda place: place.file)
def test_a_place_that_says_something_else_is_found(place: versions.Place, copy: Path) -> None:
    file = copy / place.file
    hit = place.pattern.search(file.read_text())
    assert hit is not None
    text = file.read_text()
    file.write_text(text[: hit.start(1)] + "9.9.9" + text[hit.end(1) :])
    with pytest.raises(CommandFailed, match=rf"9\.9\.9  {place.file}"):
        versions.agreed(copy)


def test_a_place_without_a_version_is_found(copy: Path) -> None:
    (copy / "docs" / "get-started" / "installing.md").write_text("nothing")
    with pytest.raises(CommandFailed, match=r"docs/get-started/installing\.md: holds no version"):
        versions.agreed(copy)


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3 ", "1.2.3.dev1"])
def test_what_is_no_version_is_not_written(version: str, copy: Path) -> None:
    with pytest.raises(CommandFailed, match="is not a version"):
        versions.write(version, copy)
    assert versions.agreed(copy) == beam_ensembles.__version__


def test_another_version_than_the_checkouts_is_not_published(calls: list[list[str]], tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"the checkout holds 1\.0\.0, not 1\.0\.1"):
        publishing.publish("1.0.1", "1.0.0", tmp_path, lambda command, folder: calls.append(command))
    assert calls == []


def test_a_version_without_a_section_in_the_changelog_is_not_published(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n## [1.0.0]\n")
    assert "CHANGELOG.md has no section [1.0.1]" in publishing.obstacles("1.0.1", tmp_path)
    assert "CHANGELOG.md has no section [1.0.0]" not in publishing.obstacles("1.0.0", tmp_path)


def test_packages_come_last(calls: list[list[str]], tmp_path: Path) -> None:
    packages = tmp_path / "python"
    packages.mkdir()
    (packages / "one.whl").touch()
    publishing.publish("1.0.0", "1.0.0", packages, lambda command, folder: calls.append(command))
    programs = [Path(command[0]).name for command in calls]
    assert programs == ["docker"] * 6 + ["git"] * 3 + ["twine", "mvn"]
    assert calls[8][-2:] == ["v1.0.0", "go_examples/ensemble/v1.0.0"]
    assert calls[9][-1] == str(packages / "one.whl")
    assert "-Prelease,central" in calls[10]


def test_the_module_is_where_its_path_says() -> None:
    go_mod = (ROOT / "go_examples" / "ensemble" / "go.mod").read_text()
    assert go_mod.startswith(f"module {coordinates.GO_MODULE_PATH}\n")
    assert coordinates.GO_MODULE_PATH.endswith(coordinates.go_tag("1").removesuffix("/v1"))
