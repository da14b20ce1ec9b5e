"""Remembers what something was made from, so that it is made again only when that has changed."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.layout import ROOT


@dataclasses.dataclass(frozen=True)
class Made:
    """Something that is made from files.

    Attributes:
        stamp: The file that remembers; in a folder that is thrown away together with what is made.
        products: The files to make; made again where one is missing.
        sources: Gives the files that it is made from.
    """

    stamp: Path
    products: tuple[Path, ...]
    sources: Callable[[], Sequence[Path]]

    def make(self, work: Callable[[], object]) -> bool:
        """Calls ``work`` unless it is current; returns whether it was. After a failure midway it is made again."""
        if self.current():
            return False
        self.forget()
        work()
        self.remember()
        return True

    def current(self) -> bool:
        """Whether it is there and was made from what the sources hold now."""
        if not all(path.exists() for path in (self.stamp, *self.products)):
            return False
        return self.stamp.read_text(encoding="utf-8") == self._digest()

    def remember(self) -> None:
        """Notes that it has just been made."""
        self.stamp.parent.mkdir(parents=True, exist_ok=True)
        self.stamp.write_text(self._digest(), encoding="utf-8")

    def forget(self) -> None:
        """Notes that it is about to be made."""
        self.stamp.unlink(missing_ok=True)

    def _digest(self) -> str:
        """What counts is the sources' names and contents, and the checkout's place: .venv cannot be moved."""
        digest = hashlib.sha256(str(ROOT).encode())
        for path in sorted(self.sources()):
            digest.update(b"\0" + str(path).encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()
