"""Where a node runs: in a stage or a process of its own, or on workers with certain resources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.spec.mistakes import Mistakes
from beam_ensembles.spec.places import below

RESOURCES: Final = ("accelerator", "min_ram")
"""The resource hints of Beam that a node may give."""

_SIZE: Final = re.compile(r"\d+(\.\d+)?\s*([KMGTP]i?)?B")
_EXAMPLE: Final = "{accelerator: 'type:nvidia-tesla-t4;count:1;install-nvidia-driver', min_ram: 16GB}"


def own_stage(given: Mapping[str, Any], path: str, mistakes: Mistakes) -> bool:
    """Returns whether a node asks for a stage of its own.

    Args:
        given: The node's keys, as written.
        path: Its place.
        mistakes: Takes what is wrong.
    """
    return _is_said("stage", "own", given, path, mistakes)


def isolated(given: Mapping[str, Any], path: str, mistakes: Mistakes) -> bool:
    """Returns whether a node asks for a process of its own; the arguments are those of ``own_stage``."""
    return _is_said("isolate", "process", given, path, mistakes)


def _is_said(key: str, word: str, given: Mapping[str, Any], path: str, mistakes: Mistakes) -> bool:
    """Returns whether a key has the one value that it can have."""
    value = given.get(key)
    if value is not None and value != word:
        mistakes.add(below(path, key), "bad_value", f"'{key}' cannot be {value!r} (allowed: {word})")
    return value is not None and value == word


def resources(given: Mapping[str, Any], path: str, mistakes: Mistakes) -> dict[str, str]:
    """Reads a node's ``resources``; the arguments are those of ``own_stage``."""
    place = below(path, "resources")
    value = mistakes.mapping(given.get("resources", {}), place, _EXAMPLE) or {}
    for key, hint in value.items():
        if key not in RESOURCES:
            text = f"'resources' takes no key {key!r}{nearest(key, RESOURCES)} (keys: {listed(RESOURCES)})"
            mistakes.add(below(place, key), "unknown_option", text)
        elif not isinstance(hint, str):
            mistakes.wrong(hint, below(place, key), "text such as 16GB")
        elif key == "min_ram" and not _SIZE.fullmatch(hint):
            text = f"'min_ram' is {hint!r}; it is a number and a unit, such as 512MB or 16GiB"
            mistakes.add(below(place, key), "bad_value", text)
    return dict(value)
