"""A bundle's file from a stranger: whatever is wrong with it is found before, or while, it is unpacked."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import struct
import tracemalloc
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.bundles.archive import read_archive
from beam_ensembles.bundles.manifest import BadBundle
from beam_ensembles.files import archives

MANIFEST: dict[str, Any] = {
    "format": 1,
    "ensemble": "e",
    "file": "files/e.yaml",
    "places": {"m.onnx": "files/m.onnx"},
    "parameters": {},
    "code": [],
    "wheels": [],
    "requirements": [],
    "packed_with": {},
}
FILES = {"files/e.yaml": b"ensemble: e", "files/m.onnx": b"weights"}


def manifest_of(files: Mapping[str, bytes], /, **changes: Any) -> bytes:
    listed = {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()
    }
    return json.dumps({**MANIFEST, "files": listed, **changes}).encode()


def zipped(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as bundle:
        for name, data in members.items():
            bundle.writestr(zipfile.ZipInfo(name), data, method)  # equal files, equal bytes at any time
    return file


def bundle_of(files: Mapping[str, bytes] = FILES, **changes: Any) -> io.BytesIO:
    return zipped({**files, "manifest.json": manifest_of(files, **changes)})


def refusal(file: io.BytesIO, folder: Path, name: str = "e.ensemble.zip") -> str:
    with pytest.raises(BadBundle) as refused:
        read_archive(file, name).unpack(str(folder))
    return str(refused.value)


def test_what_was_packed_is_unpacked(tmp_path: Path) -> None:
    file = bundle_of()
    found = read_archive(file, "e.ensemble.zip")
    found.unpack(str(tmp_path))
    assert found.digest == hashlib.sha256(file.getvalue()).hexdigest()
    assert (tmp_path / "files" / "m.onnx").read_bytes() == b"weights"
    assert found.manifest.places == {"m.onnx": "files/m.onnx"}
    unpacked = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert unpacked == ["files/e.yaml", "files/m.onnx", "manifest.json"]


@pytest.mark.parametrize(
    "name", ["../out", "/etc/passwd", "files/../../out", "a//b", "a\\b", "./a", "a/.", "nul\0", "x" * 300]
)
def test_no_member_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    assert "is not a valid name of a file in it" in refusal(bundle_of({**FILES, name: b"x"}), tmp_path / "in")
    assert list(tmp_path.rglob("*")) in ([], [tmp_path / "in"])


def test_a_link_is_written_as_the_file_that_it_is_stored_as(tmp_path: Path) -> None:
    members = {**FILES, "files/link": b"/etc/passwd"}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as bundle:
        for name, data in {**members, "manifest.json": manifest_of(members)}.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = 0o120777 << 16
            bundle.writestr(info, data)
    read_archive(file, "e.ensemble.zip").unpack(str(tmp_path))
    assert not (tmp_path / "files" / "link").is_symlink()
    assert (tmp_path / "files" / "link").read_text() == "/etc/passwd"


@pytest.mark.parametrize("at", [b"ensemble: e", b"weights"])
def test_a_changed_file_is_found(at: bytes, tmp_path: Path) -> None:
    data = bundle_of().getvalue().replace(at, at.upper(), 1)
    assert "damaged" in refusal(io.BytesIO(data), tmp_path)
    files = {name: content.replace(at, at.upper()) for name, content in FILES.items()}
    file = zipped({**files, "manifest.json": manifest_of(FILES)})  # with the zip's own checksums right
    assert "is not the file that was packed: its SHA-256 is another" in refusal(file, tmp_path / "second")


def test_a_missing_member_and_one_too_many_are_found(tmp_path: Path) -> None:
    less = {"files/e.yaml": FILES["files/e.yaml"], "manifest.json": manifest_of(FILES)}
    assert "'files/m.onnx' is not the file that was packed" in refusal(zipped(less), tmp_path)
    more = {**FILES, "files/more": b"", "manifest.json": manifest_of(FILES)}
    assert "'files/more' is not the file that was packed" in refusal(zipped(more), tmp_path)


def test_compressed_members_are_refused_for_what_they_could_become(tmp_path: Path) -> None:
    files = {"files/e.yaml": b"\0" * 1_000_000}
    file = zipped({**files, "manifest.json": manifest_of(files)}, zipfile.ZIP_DEFLATED)
    assert "is compressed or encrypted" in refusal(file, tmp_path)


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """A directory may list one stored member many times, so that a small file unpacks to a large one."""
    names = [f"files/{number:05}" for number in range(100)]
    big = b"\0" * 10_000
    first = zipped({names[0]: big}).getvalue()
    at = first.index(b"PK\1\2")
    entry, end = first[at : first.index(b"PK\5\6")], first[-22:]
    entries = b"".join(entry.replace(names[0].encode(), name.encode()) for name in names)
    head = list(struct.unpack("<4s4H2LH", end))
    head[3], head[4], head[5] = len(names), len(names), len(entries)
    file = io.BytesIO(first[:at] + entries + struct.pack("<4s4H2LH", *head))
    assert "overlap" in refusal(file, tmp_path)


def test_a_directory_of_too_many_members_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = bundle_of()
    monkeypatch.setattr(archives, "MOST_FILES", 2)
    monkeypatch.setattr(zipfile, "ZipInfo", None)
    assert "its directory lists more than 2 files" in refusal(file, tmp_path)


def test_a_directory_of_the_larger_kind_of_zip_is_counted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    data = bytearray(bundle_of().getvalue())
    data[-14:-10] = b"\xff" * 4  # as where there are more than 65,535 members: the larger record counts
    assert read_archive(io.BytesIO(data), "e.ensemble.zip").manifest.ensemble == "e"
    monkeypatch.setattr(archives, "MOST_FILES", 2)
    assert "its directory lists more than 2 files" in refusal(io.BytesIO(data), tmp_path)


@pytest.mark.parametrize("data", [b"", b"PK", b"ensemble: e\n", b"PK\5\6" + b"\0" * 18, b"x" * 100_000])
def test_what_is_no_zip_is_refused(data: bytes, tmp_path: Path) -> None:
    assert refusal(io.BytesIO(data), tmp_path)


def test_a_zip_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    whole = bundle_of().getvalue()
    for size in range(0, len(whole), 37):
        assert refusal(io.BytesIO(whole[:size]), tmp_path / str(size))


def test_a_zip_of_something_else_is_refused(tmp_path: Path) -> None:
    assert "it has no 'manifest.json'" in refusal(zipped({"a": b""}), tmp_path)


def test_a_name_that_promises_another_digest_is_refused(tmp_path: Path) -> None:
    said = refusal(bundle_of(), tmp_path, "e-0123456789ab.ensemble.zip")
    assert "its name says 0123456789ab" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": 2}, "its format is 2, and this version reads 1; update beam-ensembles here"),
        ({"format": None}, "does not say its format"),
        ({"file": "files/other.yaml"}, "lacks its ensemble file"),
        ({"file": 1}, "has no 'file', or a wrong one"),
        ({"places": {"m": "files/none"}}, "lacks 'files/none', which 'm' names"),
        ({"places": {"m": "../../etc"}}, "lacks '../../etc'"),
        ({"places": {"m": 1}}, "wrong 'places'"),
        ({"code": ["os;x"]}, "is not a valid name of a module"),
        ({"code": "abc"}, "has no 'code'"),
        ({"requirements": [1]}, "wrong 'requirements'"),
        ({"requirements": ["not a requirement !!"]}, "'not a requirement !!' is not a requirement such as"),
        ({"requirements": ["a; " + "(" * 900]}, "is not a requirement such as"),
        ({"requirements": ["a; python_version ~= 'x'"]}, "is not a requirement such as"),
        ({"requirements": ["a"] * 1_001}, "needs more than 1000 other things"),
        ({"wheels": ["nonsense"]}, "'nonsense' is not the name of a wheel"),
        ({"wheels": [f"a-1-{'a.' * 100}b-{'a.' * 100}b-any.whl"]}, "is not the name of a wheel"),
        ({"file": "\ud800"}, "text that is not Unicode"),
        ({"places": {"\udfff": "files/m.onnx"}}, "text that is not Unicode"),
        ({"file": "a\nb\x1b[31mred"}, r"lacks its ensemble file 'a\nb\x1b[31mred'"),
        ({"places": {"\x1b": "\x1b"}}, r"lacks '\x1b', which '\x1b' names"),
        ({"ensemble": "../e"}, "'../e' is not a valid name of an ensemble"),
        ({"files": []}, "has no 'files'"),
        ({"files": {"files/e.yaml": {"size": True, "sha256": "0" * 64}}}, "does not say what"),
        ({"files": {"files/e.yaml": {"size": -1, "sha256": "0" * 64}}}, "does not say what"),
        ({"files": {"files/e.yaml": {"size": 1, "sha256": "0"}}}, "does not say what"),
        ({"files": {"files/e.yaml": None}}, "does not say what"),
    ],
)
def test_a_manifest_is_not_taken_on_trust(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = zipped({**FILES, "manifest.json": manifest_of(FILES, **changes)})
    assert said in refusal(file, tmp_path)


def test_a_manifest_that_is_no_json_or_nests_without_end_is_refused(tmp_path: Path) -> None:
    for text in (b"{", b"[" * 100_000, b"\xff", b'"\xed\xa0\x80"', b"1"):
        assert refusal(zipped({**FILES, "manifest.json": text}), tmp_path)


def test_names_are_neither_deep_nor_long(tmp_path: Path) -> None:
    deep = "/".join("x" * 33)
    assert "lies deeper than 31 folders" in refusal(bundle_of({**FILES, deep: b""}), tmp_path)
    long = "/".join(["é" * 100] * 3)  # 602 bytes
    assert "is not a valid name of a file in it" in refusal(bundle_of({**FILES, long: b""}), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_small_bundle_makes_no_large_tree(tmp_path: Path) -> None:
    deep = {f"others/{at}{'/x' * 29}/f": b"" for at in range(20)}
    said = refusal(bundle_of({**FILES, **deep}), tmp_path)
    assert "its 22 files lie in more than 144 folders" in said
    assert not list(tmp_path.iterdir())


def test_names_of_many_parts_need_little_memory(tmp_path: Path) -> None:
    files = dict.fromkeys((f"{at:04}{'/x' * 480}" for at in range(200)), b"")
    file = bundle_of({**FILES, **files})
    tracemalloc.start()
    try:
        refusal(file, tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(file.getvalue())


def test_a_folder_for_every_file_is_no_matter(tmp_path: Path) -> None:
    files = {f"files/{at}/{at}/f": b"" for at in range(300)}
    read_archive(bundle_of({**FILES, **files}), "e.ensemble.zip").unpack(str(tmp_path))
    assert (tmp_path / "files" / "299" / "299" / "f").is_file()


def test_a_file_cannot_be_a_folder_too(tmp_path: Path) -> None:
    assert "is there twice" in refusal(bundle_of({**FILES, "files/m.onnx/x": b""}), tmp_path)
    shutil.rmtree(tmp_path / "files", ignore_errors=True)
    assert "is there twice" in refusal(bundle_of({**FILES, "manifest.json": b""}), tmp_path)
    assert "'manifest.json' is there twice" in refusal(bundle_of({**FILES, "manifest.json/x": b""}), tmp_path)
