"""A digest of the code that a node names: a handler, the class of a model, modules to import."""

from __future__ import annotations

import hashlib
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

_DOTTED: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_INSTALLED: Final = tuple(
    Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def digest_of_code(options: Mapping[str, Any]) -> str:
    """Returns what changes with the sources of the modules that a node's options name.

    Of a name within a package, all sources of the package count. Modules that are installed do not: their versions are
    known. Modules that nobody has imported do not either.

    Args:
        options: The options of a node that is loaded.
    """
    digest = hashlib.sha256()
    for place in sorted({place for name in _names(options) for place in _sources(name)}):
        content = place.read_bytes()
        digest.update(f"{place.name}:{len(content)}:".encode("utf-8", "surrogatepass") + content)
    return digest.hexdigest()


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if _DOTTED.fullmatch(value):
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _names(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names(item)


def _sources(name: str) -> Iterator[Path]:
    module = sys.modules.get(name.partition(".")[0])
    found = getattr(module, "__file__", None)
    folders = [] if module is None else [Path(folder) for folder in getattr(module, "__path__", ())]
    for place in folders or ([] if found is None else [Path(found)]):
        if not any(place.resolve().is_relative_to(installed) for installed in _INSTALLED):
            yield from sorted(place.rglob("*.py")) if place.is_dir() else [place] if place.is_file() else []
