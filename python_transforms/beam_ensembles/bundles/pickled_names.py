"""The classes and functions that pickled files name, read without importing or running any of them.

A pickle is read by Python's own unpickler, in which every class and function is an inert stand-in. The files of joblib
hold arrays between its opcodes, which are skipped; those of PyTorch are archives with a pickle in them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import math
import pickle
from collections.abc import Mapping
from typing import IO, Any, ClassVar, Final

import numpy as np

from beam_ensembles.files.archives import DAMAGE, archive_of
from beam_ensembles.files.joblib_files import UNPACKING_ERRORS, unpacked

_UNPICKLER: Any = pickle._Unpickler  # that of C calls what it loads
_ARRAY: Final = ("joblib.numpy_pickle", "NumpyArrayWrapper")
_MOST_STREAMS: Final = 8
"""Pickles in a file, one after the other, as PyTorch once wrote them."""
_MOST_NAMES: Final = 10_000
_LONGEST: Final = 1 << 18
"""Longer texts and bytes are passed over. A frame, which holds opcodes, has half as many bytes at most."""
_LONGEST_DTYPE: Final = 100
_MOST_DIMENSIONS: Final = 64
_PART: Final = 1 << 20
_PROTOCOL: Final = b"\x80"
_ARCHIVE: Final = b"PK\x03\x04"


def names_in(path: str) -> frozenset[str]:
    """Returns the dotted names of what loading a file would import; none of a file that is no pickle.

    Of a huge file, or one that is small and would become huge, it returns those in what is read of it.

    Args:
        path: A pickle, compressed or not, or a zip archive with ``*.pkl`` in it.

    Raises:
        OSError: It cannot be read.
    """
    reading = _Reading()
    with open(path, "rb") as file:
        if file.peek(len(_ARCHIVE)).startswith(_ARCHIVE):
            with contextlib.suppress(*DAMAGE):
                _read_archive(file, reading)
        else:
            with contextlib.suppress(*UNPACKING_ERRORS):
                content = unpacked(file)
                if content.peek(1).startswith(_PROTOCOL):
                    _read(content, reading)
    return frozenset(reading.found)


def _read_archive(file: IO[bytes], reading: _Reading) -> None:
    with archive_of(file) as archive:
        for info in archive.infolist():
            if info.filename.endswith(".pkl"):
                with archive.open(info) as member:
                    _read(member, reading)


def _read(file: IO[bytes], reading: _Reading) -> None:
    """Reads one pickle after the other; what stands before a damaged place has been found then."""
    for _ in range(_MOST_STREAMS):
        try:
            _Reader(file, reading).load()
        except Exception:  # there is no limit to what a damaged pickle raises; loading it will say so
            return


@dataclasses.dataclass(slots=True)
class _Reading:
    """The names found in a file, and the memory and steps that reading it may still take.

    Attributes:
        found: The names.
        opcodes: How many more opcodes are followed; each may make an object.
        kept: How many more bytes are kept in memory.
        passed: How many more bytes of compressed content are passed over.
    """

    found: set[str] = dataclasses.field(default_factory=set)
    opcodes: int = 2_000_000
    kept: int = 64 << 20
    passed: int = 4 << 30


class _Short:
    """A file without its long texts and bytes, in whose place nothing is read."""

    def __init__(self, file: IO[bytes], reading: _Reading) -> None:
        self._file, self._reading = file, reading

    def read(self, size: int) -> bytes:
        if size > _LONGEST:
            self.skip(size)
            return b""
        return self._kept(self._file.read(size))

    def readline(self) -> bytes:
        return self._kept(self._file.readline(_LONGEST))

    def skip(self, size: int) -> None:
        if size < 0:
            raise ValueError(size)
        if isinstance(self._file, io.BufferedReader) and isinstance(self._file.raw, io.FileIO):
            self._file.seek(size, 1)
            return
        while size > 0 and (part := self._file.read(min(size, _PART))):
            size -= len(part)
            self._reading.passed -= len(part)
            if self._reading.passed < 0:
                raise pickle.UnpicklingError("too large")

    def _kept(self, data: bytes) -> bytes:
        self._reading.kept -= len(data)
        if self._reading.kept < 0:
            raise pickle.UnpicklingError("too large")
        return data


class _Inert:
    """Stands for a class, a function and whatever they would make."""

    __slots__ = ("args", "state")

    name: ClassVar[tuple[str, str]] = ("", "")

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


class _Tuple(tuple[Any, ...]):
    """A tuple that may be a key without its items being looked at.

    A tuple of two tuples, each of which is twice the same tuple, and so on, makes Python hang when it hashes it.
    """

    __slots__ = ()
    __hash__ = object.__hash__


class _Reader(_UNPICKLER):  # type: ignore[misc]
    """Reads a pickle, noting what it names."""

    dispatch: Mapping[int, Any] = dict(_UNPICKLER.dispatch)

    def __init__(self, file: IO[bytes], reading: _Reading) -> None:
        self._short = _Short(file, reading)
        super().__init__(self._short, encoding="bytes")
        self._file, self._reading = file, reading
        self._types: dict[tuple[str, str], type[_Inert]] = {}
        self.dispatch = _Counted(type(self).dispatch, reading)

    def find_class(self, module: str, name: str) -> Any:
        """Notes a name; nothing is imported."""
        found = self._types.get((module, name))
        if found is None:
            if len(self._reading.found) >= _MOST_NAMES:
                raise pickle.UnpicklingError("too many names")
            self._reading.found.add(f"{module}.{name}")
            found = type("Inert", (_Inert,), {"__slots__": (), "name": (module, name)})
            self._types[module, name] = found
        return found

    def get_extension(self, code: int) -> None:
        """Extensions have numbers instead of names, known to the process that wrote them."""
        self.append(_Inert)

    def persistent_load(self, _: Any) -> Any:
        """Tensors of PyTorch, whose numbers are elsewhere."""
        return _Inert()

    def load_bytearray8(self) -> None:
        """Push the bytes that are there; nothing is allocated by the length, which may lie."""
        self.append(self.read(int.from_bytes(self.read(8), "little")))

    def load_tuple(self) -> None:
        """Push a tuple of the items behind the mark."""
        items = self.pop_mark()  # which replaces ``append``
        self.append(_Tuple(items))

    def load_tuple1(self) -> None:
        """Push a tuple of the last item."""
        self.stack[-1:] = [_Tuple(self.stack[-1:])]

    def load_tuple2(self) -> None:
        """Push a tuple of the last two items."""
        self.stack[-2:] = [_Tuple(self.stack[-2:])]

    def load_tuple3(self) -> None:
        """Push a tuple of the last three items."""
        self.stack[-3:] = [_Tuple(self.stack[-3:])]

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
        dtype, shape = wrapper.get("dtype"), wrapper["shape"]
        code = dtype.args[0] if isinstance(dtype, _Inert) and dtype.args else "O"
        code = code.decode() if isinstance(code, bytes) else code
        if not isinstance(code, str) or len(code) > _LONGEST_DTYPE or len(shape) > _MOST_DIMENSIONS:
            raise pickle.UnpicklingError("no array")
        kind = np.dtype(code)
        if kind.hasobject:
            _Reader(self._file, self._reading).load()
            return
        if wrapper.get("numpy_array_alignment_bytes") is not None:
            (padding,) = self._file.read(1)
            self._short.skip(padding)
        self._short.skip(math.prod(shape) * kind.itemsize)

    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8  # type: ignore[index]
    dispatch[pickle.TUPLE[0]] = load_tuple  # type: ignore[index]
    dispatch[pickle.TUPLE1[0]] = load_tuple1  # type: ignore[index]
    dispatch[pickle.TUPLE2[0]] = load_tuple2  # type: ignore[index]
    dispatch[pickle.TUPLE3[0]] = load_tuple3  # type: ignore[index]
    dispatch[pickle.REDUCE[0]] = load_reduce  # type: ignore[index]
    dispatch[pickle.NEWOBJ[0]] = load_newobj  # type: ignore[index]
    dispatch[pickle.NEWOBJ_EX[0]] = load_newobj_ex  # type: ignore[index]
    dispatch[pickle.BUILD[0]] = load_build  # type: ignore[index]


class _Counted(dict[int, Any]):
    """The functions of opcodes, which are counted."""

    def __init__(self, functions: Mapping[int, Any], reading: _Reading) -> None:
        super().__init__(functions)
        self._reading = reading

    def __getitem__(self, opcode: int) -> Any:
        self._reading.opcodes -= 1
        if self._reading.opcodes < 0:
            raise pickle.UnpicklingError("too many opcodes")
        return super().__getitem__(opcode)


def _is_inert(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, _Inert)
