"""Which version of its library a model was saved with, so that errors can say where it differs from the worker's."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.metadata
import logging
import os
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from beam_ensembles.errors import NodeError
from beam_ensembles.files.archives import open_archive
from beam_ensembles.files.joblib_files import UNPACKING_ERRORS, unpacked
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member

_LOGGER: Final = logging.getLogger(__name__)

_PART: Final = 1 << 20
_OVERLAP: Final = 1 << 10
_MOST_READ: Final = 1 << 30
"""Unpacked bytes of a file that are searched for a version."""
_NUMBER: Final = rb"(\d{1,4}\.\d{1,4}(?:\.\d{1,4})?(?:[.-]?(?:a|b|rc|dev|post)\d{1,4})?)"
_IN_FILES: Final = {
    "sklearn": re.compile(  # a pickle's text, in its three lengths, or skops's JSON
        rb'_sklearn_version(?:\x94|q.|r.{4})?(?:\x8c.|X.{4}|\x8d.{8}|".{0,300}?"content": "\\")' + _NUMBER,
        re.DOTALL,
    ),
    "keras": re.compile(rb'"keras_version": "' + _NUMBER),
    "tensorflow": re.compile(rb"\x2a." + _NUMBER + rb"\x32.(?:v\d|unknown)", re.DOTALL),
    "xgboost": re.compile(
        rb'"version"\s*:\s*\[(\d{1,4}(?:\s*,\s*\d{1,4}){2})\]|version\[#L\0{7}\x03(i.i.i.)', re.DOTALL
    ),
}
"""What states the version in a file, by the library's module."""
_NAMES: Final = {
    "keras": "Keras",
    "numpy": "NumPy",
    "sklearn": "scikit-learn",
    "tensorflow": "TensorFlow",
    "xgboost": "XGBoost",
}
_DAMAGE: Final = (*UNPACKING_ERRORS, zipfile.BadZipFile, KeyError, RuntimeError, ValueError)


@dataclasses.dataclass(slots=True)
class Versions:
    """The versions that a model was saved with, as far as they are known to differ.

    Attributes:
        text: Such as ``saved with scikit-learn 1.2.2, this worker has 1.9.1``; empty where none is known to differ.
    """

    text: str = ""

    @contextlib.contextmanager
    def noted(self, subject: str) -> Iterator[None]:
        """Notes and logs once what scikit-learn warns of each estimator that is loaded within the block.

        Args:
            subject: The model, for the log.
        """
        with warnings.catch_warnings(record=True) as caught:
            own = getattr(sys.modules.get("sklearn.exceptions"), "InconsistentVersionWarning", None)
            if own is not None:
                warnings.simplefilter("always", own)
            try:
                yield
            finally:
                rest = [one for one in caught if not self._take(one.message)]
        for one in rest:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        if self.text:
            _LOGGER.warning("%s: %s; its answers may be invalid: save it again", subject, self.text)

    def _take(self, message: Warning | str) -> bool:
        saved = getattr(message, "original_sklearn_version", None)
        if saved is None:
            return False
        worker = getattr(message, "current_sklearn_version", "another version")
        self.text = _differs("sklearn", str(saved), str(worker))
        return True

    def find(self, path: str | None, error: BaseException) -> None:
        """Looks for the reason why a file could not be loaded in the versions that it, or the error, names."""
        if not self.text:
            self.text = _of_error(error) or ("" if path is None else _of_file(path))

    def told_by(self, member: Member) -> Member:
        """Returns a loaded model whose errors name the versions, where they are known to differ."""
        return _SaysVersions(member, self) if self.text else member

    def behind(self, text: str) -> str:
        """Returns a message with what is known of the versions behind it."""
        return f"{text} ({self.text})" if self.text else text


@dataclasses.dataclass(frozen=True, slots=True)
class _SaysVersions:
    """A loaded model that was saved with another version, which a call may fail for."""

    member: Member
    versions: Versions

    def __call__(self, columns: Columns) -> Columns:
        """Runs it."""
        try:
            return self.member(columns)
        except NodeError:
            raise
        except Exception as exc:
            error = NodeError.of(exc)
            raise NodeError(error.code, self.versions.behind(error.message), stack=error.stack) from exc


def version_here(module: str) -> str | None:
    """Returns the version of a library that is imported on this worker, or None where it names none."""
    found = getattr(sys.modules.get(module), "__version__", None)
    return str(found) if isinstance(found, str) else None


def versions_of(node: CheckedNode) -> dict[str, str]:
    """Returns the versions of the libraries that a node's kind needs, those of a handler's own package among them."""
    names = [name.partition(".")[0] for text in node.kind.modules for name in text.split("|")]
    handler = node.spec.options.get("handler") if node.kind.name == "python" else None
    found = {name: _version_of(name) for name in (*names, *([handler.partition(".")[0]] if handler else []))}
    return {name: version for name, version in found.items() if version}


def _version_of(module: str) -> str | None:
    known = version_here(module)
    if known is not None:
        return known
    with_names = _distributions().get(module, [module])
    try:
        return importlib.metadata.version(with_names[0])
    except importlib.metadata.PackageNotFoundError:
        return None


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def _differs(module: str, saved: str, worker: str) -> str:
    return f"saved with {_NAMES.get(module, module)} {saved}, this worker has {worker}"


def _of_error(error: BaseException) -> str:
    """Reads the version from the name of a module that is not there: NumPy 2 renamed its own."""
    here = version_here("numpy")
    name = str(getattr(error, "name", None) or "")
    if isinstance(error, ImportError) and here is not None and name.startswith("numpy._core"):
        return _differs("numpy", "2 or newer", here)
    return ""


def _of_file(path: str) -> str:
    for module, pattern in _IN_FILES.items():
        here = version_here(module)
        saved = None if here is None else _search(path, pattern)
        if here is not None and saved not in (None, here):
            return _differs(module, str(saved), here)
    return ""


def _search(path: str, pattern: re.Pattern[bytes]) -> str | None:
    with contextlib.suppress(*_DAMAGE):
        for part in _parts(path):
            found = pattern.search(part)
            if found is not None:
                return _version(next(group for group in found.groups() if group is not None))
    return None


def _version(found: bytes) -> str:
    if found[:1] == b"i":  # UBJSON: a byte a number
        return ".".join(str(found[at]) for at in (1, 3, 5))
    return re.sub(r"\s*,\s*", ".", found.decode("ascii", "replace")).rstrip(".")


def _parts(path: str) -> Iterator[bytes]:
    """Yields the unpacked content of a file in overlapping parts; of a zip that which describes the model."""
    if os.path.isdir(path):
        path = os.path.join(path, "saved_model.pb")
    with open(path, "rb") as file:
        start = file.read(4)
    if start.startswith(b"PK\x03\x04"):
        with open_archive(path) as archive:
            for name in ("metadata.json", "schema.json"):
                if name in archive.namelist():
                    with archive.open(name) as file:
                        yield from _overlapping(file.read)
        return
    with open(path, "rb") as file:
        yield from _overlapping(unpacked(file).read)


def _overlapping(read: Callable[[int], bytes]) -> Iterator[bytes]:
    last, total = b"", 0
    while total < _MOST_READ and (part := read(_PART)):
        yield last + part
        last, total = part[-_OVERLAP:], total + len(part)
