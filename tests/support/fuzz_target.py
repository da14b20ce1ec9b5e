"""Calls a function on each message of standard input, and tells on standard output what came of it."""

from __future__ import annotations

import importlib
import os
import pickle
import resource
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main(name: str, most_bytes: int) -> None:
    """Answers until standard input ends.

    Args:
        name: ``module:function``; the function takes what was sent and returns something that can be pickled.
        most_bytes: Address space that the calls may need beside what importing the module needed.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the function prints is not an answer
    module, _, function = name.partition(":")
    call: Callable[[Any], Any] = getattr(importlib.import_module(module), function)
    answers.write(b"\0")
    answers.flush()
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + most_bytes, held + most_bytes))
    while head := sys.stdin.buffer.read(8):
        sent = pickle.loads(sys.stdin.buffer.read(*struct.unpack(">Q", head)))
        try:
            answer = ("answered", call(sent))
        except Exception as exc:
            answer = ("raised", (type(exc).__name__, str(exc)))
        text = pickle.dumps(answer)
        answers.write(struct.pack(">Q", len(text)) + text)
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
