"""How a node looks up: what stands on it, and what holds where it says nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.spec.places import below

DEFAULT_SECONDS: Final = 30.0
DEFAULT_RETRIES: Final = 3
MISSING: Final = ("error", "nullify")
CACHE_KEYS: Final = ("max_rows", "max_age")


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """How a node looks up.

    Attributes:
        seconds: How long one query may take.
        retries: How often a query that failed in passing is made again.
        may_lack: Whether a row without a record has nulls, rather than failing.
        max_rows: How many rows of the database are kept; 0: none.
        max_age: For how many seconds.
    """

    seconds: float
    retries: int
    may_lack: bool
    max_rows: int
    max_age: float


def settings_of(options: Mapping[str, Any]) -> Settings:
    """Gives the settings of a node's options, which were checked."""
    cache = options.get("cache") or {}
    return Settings(
        seconds=float(options.get("timeout", DEFAULT_SECONDS)),
        retries=int(options.get("retries", DEFAULT_RETRIES)),
        may_lack=options.get("missing") == "nullify",
        max_rows=int(cache.get("max_rows", 0)),
        max_age=float(cache.get("max_age", 0)),
    )


def check_cache(node: NodeView) -> None:
    """Reports what is wrong with a node's ``cache``."""
    cache = node.option("cache")
    if cache is None:
        return
    for key in cache:
        if key not in CACHE_KEYS:
            text = f"'cache' takes no key {key!r}{nearest(str(key), CACHE_KEYS)} (keys: {listed(CACHE_KEYS)})"
            node.problem("unknown_option", below("cache", str(key)), text)
    _check_number(node, cache, "max_rows", int, "how many rows are kept, a whole number of at least 1")
    _check_number(node, cache, "max_age", int | float, "for how many seconds a row is kept, a number above 0")


def _check_number(node: NodeView, cache: Mapping[str, Any], key: str, of: Any, wanted: str) -> None:
    value = cache.get(key)
    if value is None:
        node.problem("missing_key", below("cache", key), f"a cache needs '{key}': {wanted}")
    elif isinstance(value, bool) or not isinstance(value, of) or not value > 0:
        node.problem("bad_value", below("cache", key), f"'{key}' is {value!r}; it is {wanted}")
