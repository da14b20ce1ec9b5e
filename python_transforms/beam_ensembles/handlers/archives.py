"""The exceptions of Python's ``zipfile`` for a damaged archive."""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import Final

DAMAGE: Final[tuple[type[Exception], ...]] = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
)
"""The exceptions of opening and reading an untrusted archive, besides ``OSError``."""
