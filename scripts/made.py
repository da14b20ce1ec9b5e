"""Remembers what something was made from, so that it is made again only when that has changed."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from scripts.layout import BUILD, ROOT

_LOCKS: Final = BUILD / "locks"


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
        """Calls ``work`` unless it is current; returns whether it was. After a failure midway it is made again.

        Whoever wants it at the same time, another thread or process of this checkout, waits until it is made.
        """
        with self._alone():
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

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        _LOCKS.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(str(self.stamp).encode()).hexdigest()
        with (_LOCKS / name).open("w") as lock:  # not beside the stamp, whose folder may be made anew
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _digest(self) -> str:
        """What counts is the sources' names and contents, and the checkout's place: .venv cannot be moved."""
        digest = hashlib.sha256(str(ROOT).encode())
        for path in sorted(self.sources()):
            digest.update(b"\0" + str(path).encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()
