"""What a bundle says of itself: ``manifest.json``, its last member."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, Final, TypeVar

from beam_ensembles.bundles.code_requirements import requirement_of, tags_of
from beam_ensembles.files.bounded_json import read_json
from beam_ensembles.spec.language import is_name

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
FILES: Final = "files"
"""The ensemble file, and what lies in its folder."""
OTHERS: Final = "others"
"""What came from other places, each in a folder of its own."""
CODE: Final = "code"
"""The user's modules and packages: the folder that Python's import looks in."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_SURROGATE: Final = re.compile(rb"\\u[dD]")
_MOST_ITEMS: Final = 1_000_000
"""Of values in JSON each takes many times the memory of its text; a hundred thousand files have half as many."""
MOST_NEEDS: Final = 1_000
_LONGEST_NAME: Final = 512
_LONGEST_PART: Final = 255
"""Bytes of a name and of each of its parts, as file systems count them."""
_MOST_PARTS: Final = 32
_MOST_FOLDERS: Final = 20_000
_FOLDERS_OF_FEW: Final = 100
_FOLDERS_OF_ONE: Final = 2
_SHOWN: Final = 200
_T = TypeVar("_T")


class BadBundle(Exception):
    """A file is not a bundle, or was changed since it was packed; says why in one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class PackedFile:
    """One file of a bundle.

    Attributes:
        size: Its bytes.
        sha256: Its digest, 64 hexadecimal digits.
    """

    size: int
    sha256: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a bundle says of itself.

    Attributes:
        ensemble: Name of the ensemble.
        file: The ensemble file's name in the bundle.
        files: Every file, by its name in the bundle; the manifest itself is not among them.
        places: For each URI of the ensemble file that names one of them, or a folder of them, the name.
        parameters: Values of ``${name}`` that it was packed with, which hold where the caller says no others.
        code: The top-level modules and packages of the user that it brings.
        wheels: The wheels that some of them came from.
        requirements: What else they need, as in a requirements file, one a line.
        packed_with: Versions of Python, Beam and this package.
    """

    ensemble: str
    file: str
    files: Mapping[str, PackedFile]
    places: Mapping[str, str]
    parameters: Mapping[str, str]
    code: tuple[str, ...]
    wheels: tuple[str, ...]
    requirements: tuple[str, ...]
    packed_with: Mapping[str, str]

    def to_json(self) -> bytes:
        """Writes it; equal manifests give equal bytes."""
        data = {"format": FORMAT, **dataclasses.asdict(self)}
        return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def parse(cls, text: bytes) -> Manifest:
        """Reads it; nothing in it is taken on trust.

        Raises:
            BadBundle: It is none, or of a newer format.
        """
        if sum(map(text.count, (b",", b"[", b"{"))) > _MOST_ITEMS:
            raise BadBundle(f"its manifest holds more than {_MOST_ITEMS} items")
        try:
            data = read_json(text)
            if _SURROGATE.search(text):  # half a character is none, wherever it stands
                json.dumps(data, ensure_ascii=False).encode()
        except ValueError as exc:
            raise BadBundle("its manifest is not JSON, or holds text that is not Unicode") from exc
        if not isinstance(data, dict) or not isinstance(data.get("format"), int):
            raise BadBundle("its manifest does not say its format")
        if data["format"] != FORMAT:
            newer = "; update beam-ensembles here" if data["format"] > FORMAT else ""
            raise BadBundle(f"its format is {data['format']}, and this version reads {FORMAT}{newer}")
        found = cls(
            ensemble=_text(data, "ensemble"),
            file=_text(data, "file"),
            files={name: _file(name, item) for name, item in _get(data, "files", dict).items()},
            places=_texts_by_name(data, "places"),
            parameters=_texts_by_name(data, "parameters"),
            code=_texts(data, "code"),
            wheels=_texts(data, "wheels"),
            requirements=_texts(data, "requirements"),
            packed_with=_texts_by_name(data, "packed_with"),
        )
        found._check()
        return found

    def _check(self) -> None:
        folders = check_names(self.files)
        if self.file not in self.files:
            raise BadBundle(f"it lacks its ensemble file {_shown(self.file)}")
        for uri, name in self.places.items():
            if name not in self.files and name not in folders:
                raise BadBundle(f"it lacks {_shown(name)}, which {_shown(uri)} names")
        for name in self.code:
            if not name.isidentifier():
                raise BadBundle(f"{_shown(name)} is not a valid name of a module")
        if not is_name(self.ensemble):
            raise BadBundle(f"{_shown(self.ensemble)} is not a valid name of an ensemble")
        _check_needs(self.requirements, self.wheels)


def check_names(names: Iterable[str]) -> Set[str]:
    """Ensures that names are those of files in a folder, and stay within it.

    Returns:
        The folders that they are in. They are not many more than the files, so that a small bundle makes no large tree.

    Raises:
        BadBundle: One leads elsewhere, or is a file and a folder at once; or they need too many folders.
    """
    known = set(names)
    most = min(_MOST_FOLDERS, _FOLDERS_OF_FEW + _FOLDERS_OF_ONE * len(known))
    folders: set[str] = set()
    for name in known:
        _check_name(name)
        while (name := name.rpartition("/")[0]) and name not in folders:
            folders.add(name)
        if len(folders) > most:
            raise BadBundle(f"its {len(known)} files lie in more than {most} folders")
    twice = (known | {MANIFEST}) & folders or known & {MANIFEST}
    if twice:
        raise BadBundle(f"{_shown(min(twice))} is there twice")
    return folders


def _check_name(name: str) -> None:
    parts = name.split("/", _MOST_PARTS)
    is_plain = name.isprintable() and "\\" not in name and len(name.encode()) <= _LONGEST_NAME
    if not is_plain or any(part in ("", ".", "..") or len(part.encode()) > _LONGEST_PART for part in parts):
        raise BadBundle(f"{_shown(name)} is not a valid name of a file in it")
    if len(parts) > _MOST_PARTS:
        raise BadBundle(f"{_shown(name)} lies deeper than {_MOST_PARTS - 1} folders")


def _check_needs(requirements: Sequence[str], wheels: Sequence[str]) -> None:
    if len(requirements) + len(wheels) > MOST_NEEDS:
        raise BadBundle(f"its code needs more than {MOST_NEEDS} other things")
    try:
        for line in requirements:
            requirement_of(line)
        for wheel in wheels:
            tags_of(wheel)
    except ValueError as exc:
        raise BadBundle(str(exc)) from exc


def _get(data: Mapping[str, Any], key: str, type_: type[_T]) -> _T:
    value = data.get(key)
    if not isinstance(value, type_):
        raise BadBundle(f"its manifest has no '{key}', or a wrong one")
    return value


def _text(data: Mapping[str, Any], key: str) -> str:
    return _get(data, key, str)


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = _get(data, key, list)
    if not all(isinstance(item, str) for item in found):
        raise BadBundle(f"its manifest has a wrong '{key}'")
    return tuple(found)


def _texts_by_name(data: Mapping[str, Any], key: str) -> dict[str, str]:
    found: dict[str, Any] = _get(data, key, dict)
    if not all(isinstance(item, str) for item in found.values()):
        raise BadBundle(f"its manifest has a wrong '{key}'")
    return found


def _file(name: str, item: Any) -> PackedFile:
    size, sha256 = (item.get("size"), item.get("sha256")) if isinstance(item, dict) else (None, None)
    is_digest = isinstance(sha256, str) and _DIGEST.fullmatch(sha256) is not None
    if type(size) is not int or size < 0 or not is_digest:
        raise BadBundle(f"its manifest does not say what {_shown(name)} is")
    return PackedFile(size, str(sha256))


def _shown(text: str) -> str:
    """Returns a stranger's text for a message: quoted, in one line, without what a terminal would obey."""
    return repr(text[:_SHOWN])
