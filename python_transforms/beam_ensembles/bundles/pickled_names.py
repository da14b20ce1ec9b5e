"""The classes and functions that pickled files name, read without importing or running any of them.

A pickle is read by Python's own unpickler, in which every class and function is an inert stand-in. The files of joblib
hold arrays between its opcodes, which are skipped; those of PyTorch are archives with a pickle in them.
"""

from __future__ import annotations

import contextlib
import io
import math
import pickle
from collections.abc import Mapping
from typing import IO, Any, Final

import numpy as np

from beam_ensembles.handlers.archives import DAMAGE, archive_of
from beam_ensembles.handlers.packed_files import UNPACKING_ERRORS, unpacked

_UNPICKLER: Any = pickle._Unpickler  # that of C calls what it loads
_ARRAY: Final = ("joblib.numpy_pickle", "NumpyArrayWrapper")
_MOST_STREAMS: Final = 8
"""Pickles in a file, one after the other, as PyTorch once wrote them."""
_MOST_BYTES: Final = 4 << 30
_PART: Final = 1 << 20
_PROTOCOL: Final = b"\x80"
_ARCHIVE: Final = b"PK\x03\x04"


def names_in(path: str) -> frozenset[str]:
    """Returns the dotted names of what loading a file would import; none of a file that is no pickle.

    Args:
        path: A pickle, compressed or not, or a zip archive with ``*.pkl`` in it.

    Raises:
        OSError: It cannot be read.
    """
    found: set[str] = set()
    with open(path, "rb") as file:
        if file.peek(len(_ARCHIVE)).startswith(_ARCHIVE):
            with contextlib.suppress(*DAMAGE):
                _read_archive(file, found)
        else:
            with contextlib.suppress(*UNPACKING_ERRORS):
                content = unpacked(file)
                if content.peek(1).startswith(_PROTOCOL):
                    _read(content, found)
    return frozenset(found)


def _read_archive(file: IO[bytes], found: set[str]) -> None:
    with archive_of(file) as archive:
        for info in archive.infolist():
            if info.filename.endswith(".pkl") and info.file_size <= _MOST_BYTES:
                _read(io.BytesIO(archive.read(info)), found)


def _read(file: IO[bytes], found: set[str]) -> None:
    """Reads one pickle after the other; what stands before a damaged place has been found then."""
    for _ in range(_MOST_STREAMS):
        try:
            _Reader(file, found).load()
        except Exception:  # there is no limit to what a damaged pickle raises; loading it will say so
            return


class _Inert:
    """Stands for a class, a function and whatever they would make."""

    name: tuple[str, str] = ("", "")

    def __init__(self, *args: Any, **_: Any) -> None:
        self.args = args
        self.state: Any = None

    def __new__(cls, *_: Any, **__: Any) -> _Inert:
        return super().__new__(cls)

    def __setitem__(self, *_: Any) -> None:
        pass

    def append(self, *_: Any) -> None:
        pass

    extend = add = append


class _Reader(_UNPICKLER):  # type: ignore[misc]
    """Reads a pickle, noting what it names."""

    dispatch: Mapping[int, Any] = dict(_UNPICKLER.dispatch)

    def __init__(self, file: IO[bytes], found: set[str]) -> None:
        super().__init__(file, encoding="bytes")
        self._file = file
        self._found = found

    def find_class(self, module: str, name: str) -> Any:
        """Notes a name; nothing is imported."""
        self._found.add(f"{module}.{name}")
        return type("Inert", (_Inert,), {"name": (module, name)})

    def get_extension(self, code: int) -> None:
        """Extensions have numbers instead of names, known to the process that wrote them."""
        self.append(type("Inert", (_Inert,), {}))

    def persistent_load(self, _: Any) -> Any:
        """Tensors of PyTorch, whose numbers are elsewhere."""
        return _Inert()

    def load_reduce(self) -> None:
        """Calls nothing but stand-ins."""
        args = self.stack.pop()
        function = self.stack[-1]
        self.stack[-1] = function(*args) if _is_inert(function) else _Inert()

    def load_newobj(self) -> None:
        """Make nothing but stand-ins."""
        args = self.stack.pop()
        cls = self.stack.pop()
        self.append(cls(*args) if _is_inert(cls) else _Inert())

    def load_newobj_ex(self) -> None:
        """Make nothing but stand-ins."""
        self.stack.pop()
        self.load_newobj()

    def load_build(self) -> None:
        """Keeps an object's state, and skips the array that may stand behind it."""
        state = self.stack.pop()
        made = self.stack[-1]
        if isinstance(made, _Inert):
            made.state = state
            if made.name == _ARRAY and isinstance(state, dict):
                self._skip_array(state)

    def _skip_array(self, wrapper: Mapping[Any, Any]) -> None:
        dtype = wrapper.get("dtype")
        code = dtype.args[0] if isinstance(dtype, _Inert) and dtype.args else "O"
        kind = np.dtype(code.decode() if isinstance(code, bytes) else code)
        if kind.hasobject:
            _Reader(self._file, self._found).load()
            return
        if wrapper.get("numpy_array_alignment_bytes") is not None:
            (padding,) = self._file.read(1)
            self._skip(padding)
        self._skip(math.prod(wrapper["shape"]) * kind.itemsize)

    def _skip(self, size: int) -> None:
        if size < 0:
            raise ValueError(size)
        if self._file.seekable():
            self._file.seek(size, 1)
            return
        while size > 0 and (part := self._file.read(min(size, _PART))):
            size -= len(part)

    dispatch[pickle.REDUCE[0]] = load_reduce  # type: ignore[index]
    dispatch[pickle.NEWOBJ[0]] = load_newobj  # type: ignore[index]
    dispatch[pickle.NEWOBJ_EX[0]] = load_newobj_ex  # type: ignore[index]
    dispatch[pickle.BUILD[0]] = load_build  # type: ignore[index]


def _is_inert(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, _Inert)
