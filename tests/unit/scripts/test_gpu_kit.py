"""What the kit for machines with a GPU holds."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from scripts import gpu_kit
from scripts.layout import REQUIREMENTS


def test_its_versions_and_hashes_are_those_of_the_lock() -> None:
    lock = (REQUIREMENTS / "dev.txt").read_text()
    found = gpu_kit.requirements(lock)
    assert found.count("==") == len(gpu_kit.PACKAGES)
    assert "apache-beam==2.77.0 \\\n    --hash=sha256:" in found
    assert set(found.splitlines()) <= set(lock.splitlines())


def test_a_package_that_the_lock_does_not_pin_is_named() -> None:
    with pytest.raises(ValueError, match="the lock does not pin apache-beam, beartype"):
        gpu_kit.requirements("numpy==2.4.6 \\\n    --hash=sha256:00\n")


def test_tests_and_sources_are_left_out(tmp_path: Path) -> None:
    for name in (
        "beam/io.py",
        "beam/io_test.py",
        "beam/io.pyx",
        "beam/testing/util.py",
        "beam/tests/data.bin",
        "zstandard/_cffi.so",
        "bin/x",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    gpu_kit.strip(tmp_path)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["beam/io.py", "beam/testing/util.py"]


def test_the_same_files_make_the_same_archive(tmp_path: Path) -> None:
    folder = tmp_path / "kit"
    (folder / "beam").mkdir(parents=True)
    (folder / "beam" / "io.py").write_text("x = 1\n")
    gpu_kit.pack(folder, tmp_path / "kit.tar.gz")
    with tarfile.open(tmp_path / "kit.tar.gz") as file:
        assert [(info.name, info.mtime, info.uid) for info in file] == [("beam", 0, 0), ("beam/io.py", 0, 0)]
