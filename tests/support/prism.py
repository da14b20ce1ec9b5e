"""Prism, Beam's local runner, in a process of its own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from scripts.servers import PRISM_VARIABLE, prism


@contextlib.contextmanager
def running_prism() -> Iterator[str]:
    """Returns the address of a Prism's job service: one that runs already, or one of its own."""
    given = os.environ.get(PRISM_VARIABLE)
    if given:
        yield given
    else:
        with prism() as address:
            yield address
