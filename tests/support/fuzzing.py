"""Attacks with drawn input: how many a test makes, how bytes are mutated, and where a crash cannot end the test.

A property test that is decorated with ``fuzz`` makes ``EXAMPLES`` attacks, the same ones on every run. ``make fuzz``
repeats these tests with other seeds for as long as it is told, and keeps in ``build/fuzz`` what failed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import select
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.patience import SECONDS

EXAMPLES: Final = int(os.environ.get("FUZZ_EXAMPLES", "300"))
"""How many attacks each test makes."""

_MODULE: Final = "tests.support.fuzz_target"


def fuzz(*strategies: st.SearchStrategy[Any], examples: int = EXAMPLES) -> Callable[[Any], Any]:
    """Marks a property test as an attack: ``make fuzz`` repeats it with other seeds.

    Args:
        strategies: What the test is called with, as for ``hypothesis.given``.
        examples: How many attacks it makes; for tests whose attacks are slow, a fraction of ``EXAMPLES``.
    """

    def decorate(test: Any) -> Any:
        limits = settings(
            max_examples=examples,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
        )
        return pytest.mark.fuzz(limits(given(*strategies)(test)))

    return decorate


@st.composite
def mutated(draw: st.DrawFn, original: bytes) -> bytes:
    """Draws bytes that differ from the original in a few places: flipped, replaced, cut, repeated or inserted."""
    data = bytearray(original)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        width = draw(st.sampled_from([1, 1, 2, 4, 8, 16]))
        how = draw(st.sampled_from(["flip", "replace", "extreme", "cut", "repeat", "insert", "truncate"]))
        if how == "flip" and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "replace":
            data[at : at + width] = draw(st.binary(min_size=width, max_size=width))
        elif how == "extreme":
            value = draw(st.sampled_from([0, 1, -1, 2**7, 2**15, 2**31 - 1, -(2**31), 2**62, 2**63 - 1]))
            data[at : at + width] = value.to_bytes(16, "little", signed=True)[:width]
        elif how == "cut":
            del data[at : at + width]
        elif how == "repeat":
            data[at:at] = data[at : at + width] * draw(st.integers(1, 4))
        elif how == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=width))
        else:
            del data[at:]
    return bytes(data)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of one attack.

    Attributes:
        kind: ``answered``, ``raised`` (an exception of Python), ``crashed`` (the process ended) or ``hung``.
        value: What the function returned; the name of the exception's type and its text; the exit code.
        seconds: How long it took.
    """

    kind: Literal["answered", "raised", "crashed", "hung"]
    value: Any
    seconds: float


class Target:
    """A process that calls one function on what it is sent; a crash ends that process, and the next call has another.

    Args:
        function: ``module:function`` of this repository, which takes one value that can be pickled.
        seconds: How long a call may take.
        most_bytes: How much memory its calls may need.
    """

    def __init__(self, function: str, *, seconds: float = 100.0, most_bytes: int = 2 << 30) -> None:
        self._function = function
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._process: subprocess.Popen[bytes] | None = None

    def attack(self, value: Any) -> Outcome:
        """Calls the function in the process, and tells what came of it."""
        process = self._running()
        assert process.stdin is not None
        began = time.monotonic()
        text = pickle.dumps(value)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(struct.pack(">Q", len(text)) + text)
            process.stdin.flush()
        try:
            (size,) = struct.unpack(">Q", self._read(8, began))
            kind, answer = pickle.loads(self._read(size, began))
            return Outcome(kind, answer, time.monotonic() - began)
        except EOFError:
            return Outcome("crashed", process.wait(), time.monotonic() - began)
        except TimeoutError:
            self.close()
            return Outcome("hung", None, time.monotonic() - began)

    def close(self) -> None:
        """Ends the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            command = [sys.executable, "-m", _MODULE, self._function, str(self._most_bytes)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
            self._read(1, time.monotonic() + SECONDS - self._seconds)
        return self._process

    def _read(self, size: int, began: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        found = b""
        while len(found) < size:
            left = began + self._seconds - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise TimeoutError
            block = os.read(self._process.stdout.fileno(), size - len(found))
            if not block:
                raise EOFError
            found += block
        return found


@contextlib.contextmanager
def target(function: str, *, seconds: float = 100.0, most_bytes: int = 2 << 30) -> Iterator[Target]:
    """A target that ends with the block; see ``Target``."""
    found = Target(function, seconds=seconds, most_bytes=most_bytes)
    try:
        yield found
    finally:
        found.close()
