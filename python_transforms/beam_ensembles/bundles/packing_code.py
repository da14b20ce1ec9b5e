"""The user's own code on its way into a bundle: packages, modules and wheels, and what else they need."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from typing import Final

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from beam_ensembles.bundles.code_requirements import requirement_of
from beam_ensembles.bundles.manifest import CODE, MOST_NEEDS, BadBundle, check_names
from beam_ensembles.bundles.member_names import Members, files_below
from beam_ensembles.errors import EnsembleError
from beam_ensembles.files.archives import open_archive

_OURS: Final = ("apache_beam", "beam_ensembles", "beam_ensembles_service")
_MOST_BYTES: Final = 8 << 30
"""Unpacked bytes of one wheel."""
_HASH: Final = re.compile(r"\s--hash=\S+")
_COMMENT: Final = re.compile(r"(^|\s)#.*$")


@contextlib.contextmanager
def code_added(members: Members, paths: Sequence[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Adds code to a bundle; wheels are unpacked for as long as it is made.

    Args:
        members: Takes the files.
        paths: Package folders, modules (.py) and wheels.

    Yields:
        The names of top-level modules and packages, and those of the wheels.

    Raises:
        EnsembleError: One is none of these, or would hide a module that Python, Beam or this package needs.
    """
    with tempfile.TemporaryDirectory(prefix="beam-ensembles-") as folder:
        tops: dict[str, None] = {}
        wheels = []
        for at, path in enumerate(paths):
            if path.endswith(".whl"):
                wheels.append(os.path.basename(path))
                root = os.path.join(folder, str(at))
                _unpack_wheel(path, root)
                names = {inside: os.path.join(root, inside) for inside in files_below(root)}
            else:
                names = _code_files(path)
            for name, file in names.items():
                members.add(f"{CODE}/{name}", file)
                tops |= dict.fromkeys(filter(None, [_module_of(name)]))
        _check_tops(list(tops))
        yield tuple(sorted(tops)), tuple(sorted(wheels))


def read_requirements(path: str) -> tuple[str, ...]:
    """Reads a requirements file; what it asks for is looked for where the models run, never installed there.

    Args:
        path: Lines such as ``rapidfuzz>=3,<4``, with comments and hashes where there are any.

    Raises:
        EnsembleError: It is not text, or a line is not a requirement.
    """
    found = []
    for number, line in enumerate(_lines_of(path), start=1):
        text = _HASH.sub("", _COMMENT.sub("", line)).strip()
        if not text:
            continue
        try:
            wanted = requirement_of(text)
        except ValueError as exc:
            raise EnsembleError(f"'{path}', line {number}: {exc}") from exc
        if wanted.url is not None:
            raise EnsembleError(f"'{path}', line {number}: {text!r} names a URL; pack its wheel: --code")
        found.append(str(wanted))
    if len(found) > MOST_NEEDS:
        raise EnsembleError(f"'{path}' has {len(found)} requirements; {MOST_NEEDS} is the most")
    return tuple(sorted(found))


def _lines_of(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read().replace("\\\n", " ").splitlines()
    except UnicodeDecodeError as exc:
        raise EnsembleError(f"'{path}' is not UTF-8 text; save it as UTF-8") from exc


def _code_files(path: str) -> dict[str, str]:
    real = os.path.abspath(path)
    name = os.path.basename(real)
    if os.path.isfile(real) and name.endswith(".py"):
        return {name: real}
    if os.path.isfile(os.path.join(real, "__init__.py")):
        return {
            f"{name}/{inside}": os.path.join(real, inside) for inside in files_below(real) if _is_code(inside)
        }
    if os.path.isdir(real):
        raise EnsembleError(
            f"--code '{path}' has no __init__.py; name the package's own folder, or build a wheel of it"
        )
    if not os.path.exists(real):
        raise EnsembleError(f"--code: there is no '{path}'")
    raise EnsembleError(f"--code '{path}' must be a package folder, a module (.py) or a wheel (.whl)")


def _is_code(name: str) -> bool:
    parts = name.split(os.sep)
    return "__pycache__" not in parts and not any(part.startswith(".") for part in parts)


def _unpack_wheel(path: str, root: str) -> None:
    """Unpacks a wheel as an installer would, without files outside of Python's path (scripts, data)."""
    try:
        parse_wheel_filename(os.path.basename(path))
        with open_archive(path) as wheel:
            infos = [info for info in wheel.infolist() if not info.is_dir()]
            check_names(info.filename for info in infos)
            if sum(info.file_size for info in infos) > _MOST_BYTES:
                raise EnsembleError(f"--code '{path}' is larger than {_MOST_BYTES >> 30} GiB")
            for info in infos:
                inside = _installed(info.filename)
                if inside is not None:
                    target = os.path.join(root, inside)
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    with open(target, "wb") as file:
                        file.write(wheel.read(info))
    except (OSError, InvalidWheelFilename, zipfile.BadZipFile, BadBundle) as exc:
        raise EnsembleError(f"--code '{path}' is not a readable wheel: {exc}") from exc


def _installed(name: str) -> str | None:
    top, _, rest = name.partition("/")
    if not top.endswith(".data"):
        return name
    kind, _, inside = rest.partition("/")
    return inside if kind in ("purelib", "platlib") else None


def _module_of(name: str) -> str | None:
    """Returns the top-level module that a file is of; None where it is of none."""
    top, _, inside = name.partition("/")
    if inside:
        return top if top.isidentifier() else None
    stem, _, ending = top.partition(".")
    is_module = ending == "py" or ending.endswith(("so", "pyd"))
    return stem if is_module and stem.isidentifier() else None


def _check_tops(names: list[str]) -> None:
    for name in names:
        if name in _OURS or name in sys.stdlib_module_names:
            raise EnsembleError(
                f"--code: a module named '{name}' would hide the one that workers need; rename it"
            )
