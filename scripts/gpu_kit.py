"""Packs the packages that a machine with PyTorch and a GPU may lack for ``scripts.gpu_acceptance``: ``make gpu-kit``.

The archive holds what the wheels for CPython 3.12 on Linux of x86-64 install, in the locked versions, without their
tests. Python finds the packages where it is unpacked and that folder is in ``PYTHONPATH``.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from scripts.layout import BUILD, REQUIREMENTS, UV, relative
from scripts.program import exit_code, say
from scripts.shell import log_path, run

ARCHIVE: Final = BUILD / "gpu-kit.tar.gz"
LARGEST: Final = 42_000_000
"""Bytes that the archive may have."""
PYTHON_VERSION: Final = "3.12"
_PLATFORM: Final = "x86_64-manylinux_2_28"
_LOCK: Final = REQUIREMENTS / "dev.txt"
PACKAGES: Final = (
    "apache-beam", "beartype", "certifi", "cffi", "charset-normalizer", "cryptography", "fastavro", "fasteners",
    "grpcio-health-checking", "grpcio-reflection", "httplib2", "hypothesis", "idna", "iniconfig", "jsonpickle",
    "markdown-it-py", "mdurl", "objsize", "packaging", "pluggy", "proto-plus", "pycparser", "pygments", "pyparsing",
    "pytest", "pytest-timeout", "python-dateutil", "pytz", "pyyaml", "requests", "rich", "six", "sortedcontainers",
    "threadpoolctl", "typing-extensions", "urllib3", "xxhash", "zstandard",
)  # fmt: skip
"""What Beam, this project without its extras, and its tests import; not what such a machine has: numpy, grpcio, ..."""
_LEFT_OUT: Final = ("__pycache__", "test", "tests", "testdata", "bin")
_NOT_OF: Final = frozenset(("hypothesis", "_pytest"))
"""Packages that need a folder of such a name themselves."""
_OTHER_BACKEND: Final = "zstandard/_cffi."
"""The half of zstandard that CPython does not import."""
_ENDINGS: Final = (".c", ".h", ".pxd", ".pyi", ".pyx", ".exe", "_test.py", "_test_it.py")


def requirements(lock: str) -> str:
    """Returns the lines of a lock, with their hashes, that pin the packages of the kit.

    Raises:
        ValueError: The lock does not pin one.
    """
    pins = {
        match[1]: match[0] for match in re.finditer(r"^([a-z0-9-]+)==(?:.*\\\n)*.*\n", lock, re.MULTILINE)
    }
    lacking = [name for name in PACKAGES if name not in pins]
    if lacking:
        raise ValueError(f"the lock does not pin {', '.join(lacking)}")
    return "".join(pins[name] for name in PACKAGES)


def strip(folder: Path) -> None:
    """Removes tests, sources of extensions and programs from installed packages."""
    for path in sorted(folder.rglob("*"), reverse=True):
        parts = path.relative_to(folder).parts
        if path.is_dir() and path.name in _LEFT_OUT and not _NOT_OF.intersection(parts):
            shutil.rmtree(path)
        elif path.is_file() and (path.name.endswith(_ENDINGS) or _OTHER_BACKEND in path.as_posix()):
            path.unlink()


def pack(folder: Path, archive: Path) -> None:
    """Packs a folder's contents, the same bytes for the same files."""

    def settled(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.mtime = info.uid = info.gid = 0
        info.uname = info.gname = ""
        return info

    with tarfile.open(archive, "w:gz", compresslevel=6) as file:
        for path in sorted(folder.iterdir()):
            file.add(path, path.name, filter=settled)


def install(folder: Path) -> None:
    """Installs the packages of the kit into a folder, for the machine that it is made for."""
    log = log_path("gpu-kit")
    with tempfile.TemporaryDirectory() as made:
        wanted = Path(made, "requirements.txt")
        wanted.write_text(requirements(_LOCK.read_text(encoding="utf-8")), encoding="utf-8")
        run(
            [
                UV, "pip", "install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "--python-version",
                PYTHON_VERSION, "--python-platform", _PLATFORM, "--target", folder, "-r", wanted,
            ],
            log=log, env={**os.environ, "UV_SYSTEM_CERTS": "true"},
        )  # fmt: skip


def make(archive: Path = ARCHIVE) -> bool:
    """Returns whether the archive that it makes is small enough."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "kit")
        install(folder)
        strip(folder)
        pack(folder, archive)
    size = archive.stat().st_size
    say(f"{relative(archive)}: {len(PACKAGES)} packages, {size / 1e6:.1f} MB of at most {LARGEST / 1e6:.0f}")
    return size < LARGEST


if __name__ == "__main__":
    sys.exit(exit_code(make))
