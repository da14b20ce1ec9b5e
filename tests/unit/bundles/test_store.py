"""Unpacked bundles: once per machine, whole or not at all, and nobody else's."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from beam_ensembles.bundles import store as store_module
from beam_ensembles.bundles.archive import Archive, read_archive
from beam_ensembles.bundles.manifest import BadBundle
from beam_ensembles.bundles.store import VARIABLE, Store
from beam_ensembles.errors import EnsembleError
from tests.unit.bundles.test_archive import bundle_of

NAME = "e.ensemble.zip"


def test_a_bundle_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "store"))
    folder, manifest = store.unpack(bundle_of(), NAME)
    monkeypatch.setattr(Archive, "unpack", None)
    assert store.unpack(bundle_of(), NAME) == (folder, manifest)
    assert os.listdir(store.folder).count(os.path.basename(folder)) == 1


def test_what_an_unpacked_bundle_says_counts(tmp_path: Path) -> None:
    """A file that was written over after its digest was computed must not speak for the bundle of that digest."""
    store = Store(str(tmp_path / "store"))
    file = bundle_of()
    digest = read_archive(file, NAME).digest
    first = store.unpack(file, NAME)
    assert store.unpack(bundle_of(parameters={"x": "other"}), NAME, digest) == first


def test_several_that_come_at_once_unpack_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    unpack = Archive.unpack
    monkeypatch.setattr(Archive, "unpack", lambda self, folder: (calls.append(folder), unpack(self, folder)))
    with ThreadPoolExecutor(8) as threads:
        found = list(
            threads.map(lambda _: Store(str(tmp_path / "store")).unpack(bundle_of(), NAME)[0], range(8))
        )
    assert len(set(found)) == 1
    assert len(calls) == 1


@pytest.mark.parametrize("harm", ["remove", "shorten", "replace"])
def test_what_is_not_whole_any_more_is_unpacked_again(harm: str, tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    folder, manifest = store.unpack(bundle_of(), NAME)
    digest = os.path.basename(folder).removesuffix(".unpacked")
    model = Path(folder, "files", "m.onnx")
    model.unlink()
    if harm != "remove":
        model.write_bytes(b"w" if harm == "shorten" else b"another")
    assert store.find(digest) is None
    assert store.unpack(bundle_of(), NAME) == (folder, manifest)
    assert store.find(digest) == folder
    assert model.read_bytes() == b"weights"


def test_nothing_is_left_of_a_bundle_that_is_refused(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    data = bytearray(bundle_of().getvalue())
    data[data.index(b"weights")] ^= 1
    file = tmp_path / NAME
    file.write_bytes(data)
    with file.open("rb") as opened, pytest.raises(BadBundle):
        store.unpack(opened, NAME)
    assert os.listdir(store.folder) == []


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(EnsembleError, match="others can write"):
        Store(str(shared))


@pytest.mark.parametrize("way", ["", "own/", "link/"])
def test_a_folder_that_others_can_replace_is_refused(way: str, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "own").mkdir(parents=True)
    (tmp_path / "link").symlink_to(shared / "own")
    shared.chmod(0o777)
    folder = str(tmp_path / "link" / "bundles" if way == "link/" else shared / way / "bundles")
    with pytest.raises(EnsembleError, match=f"others can replace .* since '{shared}' is theirs"):
        Store(folder)
    shared.chmod(0o1777)  # as that of all temporary files
    assert Store(folder).folder == folder


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("mode", [0o777, 0o755, 0o1777])
def test_a_folder_below_another_users_is_refused(mode: int, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    other.chmod(mode)
    os.chown(other, 65_534, 65_534)
    with pytest.raises(EnsembleError, match="others can replace"):
        Store(str(other / "bundles"))
    (tmp_path / "link").symlink_to(tmp_path)
    os.lchown(tmp_path / "link", 65_534, 65_534)
    with pytest.raises(EnsembleError, match="others can replace"):
        Store(str(tmp_path / "link" / "bundles"))


def test_a_volume_of_a_pod_is_good_though_all_in_the_pod_can_write_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a mount that root owns, with mode 0777, which a test cannot make: ``ismount`` says so instead."""
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume").chmod(0o777)
    monkeypatch.setattr(store_module.os.path, "ismount", lambda path: path == str(tmp_path / "volume"))
    assert Store(str(tmp_path / "volume" / "bundles")).folder


def test_a_file_in_the_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "bundles").write_text("")
    with pytest.raises(EnsembleError, match="cannot be made"):
        Store(str(tmp_path / "bundles"))


def test_folders_that_are_made_are_for_their_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    try:
        Store("a/b/bundles")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/bundles")] == [0o700] * 3


def test_the_stores_folder_is_for_its_user_alone(tmp_path: Path) -> None:
    assert os.stat(Store(str(tmp_path / "a" / "b")).folder).st_mode & 0o077 == 0


def test_a_user_without_a_home_has_a_store_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", os.devnull)
    monkeypatch.setattr(store_module.tempfile, "gettempdir", lambda: str(tmp_path))
    assert Store.of_this_machine().folder.startswith(str(tmp_path))


def test_what_was_fetched_is_kept(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    file = tmp_path / NAME
    shutil.copyfileobj(bundle_of(), file.open("wb"))
    kept = store.keep(str(file), "0" * 64)
    assert file.exists()
    assert Path(kept).read_bytes() == file.read_bytes()
    assert store.keep(str(file), "0" * 64) == kept
