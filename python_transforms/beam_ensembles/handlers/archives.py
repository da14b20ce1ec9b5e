"""How Python's ``zipfile`` says that an archive is damaged."""

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
"""What opening and reading an archive of a stranger raises, beside ``OSError``."""
