"""Let the C library overwrite memory, so that what a kernel has not written says nothing of what was there before."""

from __future__ import annotations

import ctypes
import functools
import logging
from typing import Final

_PERTURB: Final = -6
"""``M_PERTURB`` of glibc's ``malloc.h``."""
_ALL_BITS: Final = 255
"""The byte that freed memory is filled with; new memory is filled with its complement, 0."""

_log = logging.getLogger(__name__)


@functools.cache
def scrub_memory() -> bool:
    """Make this process overwrite memory when it is given back and when it is asked for; from now on.

    Small blocks that were given back before are not overwritten. Costs a few percent of what allocates much.

    Returns:
        Whether the C library can do so: glibc can.
    """
    try:
        is_scrubbed = bool(ctypes.CDLL(None).mallopt(_PERTURB, _ALL_BITS))
    except (AttributeError, OSError, TypeError):  # not glibc
        is_scrubbed = False
    if not is_scrubbed:
        _log.warning(
            "memory is not overwritten here: the C library cannot; run untrusted models on Linux with glibc"
        )
    return is_scrubbed
