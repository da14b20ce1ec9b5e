"""The attacks themselves: a crash, a hang and an exception are told apart, and end no test."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from tests.support.fuzzing import target


def victim(value: Any) -> Any:
    if value == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if value == "hang":
        time.sleep(3600)
    if value == "memory":
        return len(bytearray(1 << 31))
    return int(value)


def test_tells_apart_what_comes_of_an_attack() -> None:
    with target(f"{__name__}:victim", seconds=5.0, most_bytes=1 << 30) as found:
        assert (found.attack("7").kind, found.attack("7").value) == ("answered", 7)
        assert found.attack("x").value[0] == "ValueError"
        assert found.attack("memory").value[0] == "MemoryError"
        assert (found.attack("crash").kind, found.attack("crash").value) == ("crashed", -signal.SIGSEGV)
        assert found.attack("hang").kind == "hung"
        assert found.attack("8").value == 8
