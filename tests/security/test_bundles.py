"""Untrusted bundles: they write nothing outside of their folder, and nothing grows."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.bundles.archive import read_archive
from beam_ensembles.bundles.manifest import BadBundle, Manifest
from beam_ensembles.bundles.opening import open_bundle
from beam_ensembles.bundles.store import VARIABLE, Store
from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.files.ownership import is_foreign
from beam_ensembles.handlers.tensorflow import hub_cache
from tests.support.fuzzing import fuzz, mutated, target

FILES = {"files/e.yaml": b"ensemble: e", "files/m.onnx": b"weights"}
SAID: dict[str, Any] = {
    "format": 1, "ensemble": "e", "file": "files/e.yaml", "places": {"m.onnx": "files/m.onnx"}, "parameters": {},
    "code": [], "wheels": [], "requirements": [], "packed_with": {},
}  # fmt: skip


def manifest(files: Mapping[str, bytes] = FILES, **changes: Any) -> bytes:
    listed = {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()
    }
    return json.dumps({**SAID, "files": listed, **changes}).encode()


def zipped(*members: tuple[str, bytes, int]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as bundle:
        for name, data, mode in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            bundle.writestr(info, data)
    return file


def bundle(files: Mapping[str, bytes] = FILES, mode: int = 0o100644, **changes: Any) -> io.BytesIO:
    text = manifest(files, **changes)
    return zipped(*((name, data, mode) for name, data in files.items()), ("manifest.json", text, 0o100644))


ORIGINAL = bundle().getvalue()


def unpack(data: bytes) -> list[str]:
    """Unpacks a bundle into a folder of its own; gives what lies there, and fails where anything lies beside it."""
    with tempfile.TemporaryDirectory() as parent:
        folder = os.path.join(parent, "in")
        os.mkdir(folder)
        with contextlib.suppress(BadBundle):
            read_archive(io.BytesIO(data), "e.ensemble.zip").unpack(folder)
        assert os.listdir(parent) == ["in"]
        found = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
        assert all(os.path.isfile(path) and not os.path.islink(path) for path in found)
        assert sum(map(os.path.getsize, found)) <= len(data)
        return found


@pytest.fixture(scope="module")
def victim() -> Iterator[Any]:
    with target(f"{__name__}:unpack", most_bytes=1 << 30) as found:
        yield found


@fuzz(mutated(ORIGINAL))
def test_any_bytes_are_unpacked_within_their_folder_or_refused(victim: Any, data: bytes) -> None:
    outcome = victim.attack(data)
    assert outcome.kind == "answered", outcome


@pytest.mark.parametrize(
    "name",
    [
        "../x", "/x", "files/../../x", "files/..", "files//x", "./x", "files\\..\\x", "C:\\x", "files/a\0b", "files/\n",
        "\u202efiles", "files/" + "a" * 256, "a/" * 40 + "x", "", ".", "..", "manifest.json/x", "files/e.yaml/x",
    ],
)  # fmt: skip
def test_names_that_lead_elsewhere(name: str) -> None:
    said = manifest({**FILES, name: b"x"})
    members = [(one, data, 0o100644) for one, data in FILES.items()]
    data = zipped(*members, (name, b"x", 0o100644), ("manifest.json", said, 0o100644)).getvalue()
    assert unpack(data) == []
    with pytest.raises(BadBundle):
        read_archive(io.BytesIO(data), "e.ensemble.zip")


@pytest.mark.parametrize("mode", [0o120777, 0o060666, 0o020666, 0o010666, 0o140666, 0o104777, 0o040755])
def test_links_devices_and_special_modes_become_plain_files(mode: int, tmp_path: Path) -> None:
    read_archive(bundle(mode=mode), "e.ensemble.zip").unpack(str(tmp_path))
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or (
            path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o7777 == 0o444
        )


def test_a_member_cannot_go_through_a_link_that_is_another_member(tmp_path: Path) -> None:
    files = {**FILES, "files/way": b"/etc", "files/way/x": b"x"}
    with pytest.raises(BadBundle):
        read_archive(bundle(files, mode=0o120777), "e.ensemble.zip").unpack(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_names_that_differ_in_case_alone_are_two_files(tmp_path: Path) -> None:
    read_archive(bundle({**FILES, "files/M.onnx": b"other"}), "e.ensemble.zip").unpack(str(tmp_path))
    assert (tmp_path / "files" / "m.onnx").read_bytes() == b"weights"
    assert (tmp_path / "files" / "M.onnx").read_bytes() == b"other"


@pytest.mark.parametrize("twice", ["files/m.onnx", "manifest.json"])
def test_a_name_that_is_there_twice(twice: str) -> None:
    data = [(name, data, 0o100644) for name, data in FILES.items()] + [
        ("manifest.json", manifest(), 0o100644)
    ]
    with pytest.warns(UserWarning, match="Duplicate"):
        file = zipped(*data, (twice, b"x", 0o100644))
    with pytest.raises(BadBundle, match="twice"):
        read_archive(file, "e.ensemble.zip")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_nothing_is_inflated(method: int) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        made.writestr("files/e.yaml", b"\0" * (1 << 24))
        made.writestr("manifest.json", manifest({"files/e.yaml": b"\0" * (1 << 24)}))
    assert len(file.getvalue()) < 1 << 18
    with pytest.raises(BadBundle, match="compressed"):
        read_archive(file, "e.ensemble.zip")


def test_a_manifest_of_very_many_values_is_refused_before_it_is_parsed() -> None:
    for text in (b"[" + b"[]," * 2_000_000 + b"[]]", b"[" + b"1," * 2_000_000 + b"1]", b"{" * 2_000_000):
        with pytest.raises(BadBundle, match="more than"):
            Manifest.parse(text)
    many = {f"files/{number}": b"" for number in range(50_000)}
    assert len(Manifest.parse(manifest({**FILES, **many})).files) == 50_002


@pytest.mark.parametrize("count", [1 << 20, 1 << 31])
def test_a_directory_that_promises_too_much_is_not_read(count: int) -> None:
    data = bytearray(ORIGINAL)
    end = data.rindex(b"PK\5\6")
    place = len(data) - 22
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, 46 * count, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    tail = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    with pytest.raises(BadBundle):
        read_archive(io.BytesIO(bytes(data[:place]) + wide + locator + tail), "e.ensemble.zip")


def test_a_huge_ensemble_file_in_a_bundle_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "e.ensemble.zip").write_bytes(
        bundle({"files/e.yaml": b"#" * (17 << 20)}, places={}).getvalue()
    )
    with pytest.raises(InvalidEnsemble, match="is the most"):
        open_bundle(str(tmp_path / "e.ensemble.zip"), Files())


@pytest.mark.parametrize("kind", ["pipe", "device", "made up"])
def test_a_bundle_is_a_regular_file(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    place = tmp_path / "e.ensemble.zip"
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero" if kind == "device" else "/proc/version")
    for files, asked in (
        (Files(trusted=(str(tmp_path),)), False),
        (Files(trusted=("bundle:" + "0" * 64,)), True),
    ):
        with pytest.raises(InvalidEnsemble) as caught:
            open_bundle(str(place), files, is_asked_for=asked)
        assert caught.value.problems[0].code in ("unreadable_file", "untrusted_file")


def test_the_store_is_no_folder_that_another_user_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give folders away")
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "home").write_bytes(b"")  # a user whose home is a file
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    public = tmp_path / "tmp"
    public.mkdir()
    public.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(public))
    made = public / f"beam-ensembles-{os.getuid()}"
    (made / "bundles").mkdir(parents=True)
    for owner, mode in ((12345, 0o700), (12345, 0o777), (0, 0o777)):
        os.chown(made, owner, 0)
        made.chmod(mode)
        with pytest.raises(EnsembleError, match="others can"):
            Store.of_this_machine()
    os.rename(made, public / "theirs")
    made.symlink_to(public / "theirs")
    with pytest.raises(EnsembleError, match="others can"):
        Store.of_this_machine()


def test_a_cache_of_models_that_another_user_made_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = "https://tfhub.dev/google/nnlm-en-dim50/2"
    cache = tmp_path / "tfhub_modules"
    folder = cache / hashlib.sha1(handle.encode(), usedforsecurity=False).hexdigest()
    folder.mkdir(parents=True)
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(cache))
    assert hub_cache.cached(handle) == str(folder)
    cache.chmod(0o777)
    assert hub_cache.cached(handle) is None
    cache.chmod(0o755)
    folder.chmod(0o777)
    assert hub_cache.cached(handle) is None
    assert is_foreign(str(tmp_path / "none"))
