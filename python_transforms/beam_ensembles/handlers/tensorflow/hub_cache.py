"""Handles of TensorFlow Hub: models of ``tfhub.dev`` that are in a worker's cache. Nothing is ever downloaded."""

from __future__ import annotations

import hashlib
import os
import tempfile
from typing import Final

from beam_ensembles.files.ownership import is_foreign

_HANDLES: Final = "https://tfhub.dev/"
_VARIABLE: Final = "TFHUB_CACHE_DIR"


def is_handle(uri: str) -> bool:
    """Returns whether a URI is a handle such as ``https://tfhub.dev/google/nnlm-en-dim50/2``."""
    return uri.startswith(_HANDLES)


def cached(handle: str) -> str | None:
    """Returns the folder of a handle's model in this machine's cache.

    None where it is not there, or where others can write to the cache: it lies in the temporary folder unless
    ``TFHUB_CACHE_DIR`` names another one, so that anybody may have made it.
    """
    digest = hashlib.sha1(handle.encode(), usedforsecurity=False).hexdigest()
    folder = os.path.join(cache_folder(), digest)
    return folder if os.path.isdir(folder) and not is_foreign(folder) else None


def cache_folder() -> str:
    """Returns the folder in which tensorflow_hub keeps models by the SHA-1 of their handles."""
    return os.environ.get(_VARIABLE) or os.path.join(tempfile.gettempdir(), "tfhub_modules")
