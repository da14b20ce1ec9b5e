"""How bundles' files are named."""

from __future__ import annotations

import re
from typing import Final

SUFFIX: Final = ".ensemble.zip"
"""How the name of a bundle's file ends, by which it is known from an ensemble file."""

_WITHOUT_QUERY: Final = re.compile(r"https?://[^?#]*", re.IGNORECASE)


def name_of(ensemble: str, digest: str) -> str:
    """Returns the name of a bundle's file: that of the ensemble and the digest's first twelve digits."""
    return f"{ensemble}-{digest[:12]}{SUFFIX}"


def is_bundle(place: str) -> bool:
    """Whether a path or URI names a bundle, by the end of its name; a web address may go on after it."""
    found = _WITHOUT_QUERY.match(place)
    return (found[0] if found else place).endswith(SUFFIX)


def digest_in(name: str) -> str | None:
    """Returns the first digits of the digest that a bundle's name holds, if it does."""
    found = re.search(r"-([0-9a-f]{12})\.ensemble\.zip$", name)
    return found[1] if found else None
