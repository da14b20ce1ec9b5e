"""How a node looks up: what stands on it, and what holds where it says nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.graph.options import option
from beam_ensembles.handlers.support.beam_config import AttemptOptions, BatchOptions
from beam_ensembles.spec.places import below

DEFAULT_SECONDS: Final = 30.0
DEFAULT_RETRIES: Final = 3
MISSING: Final = ("error", "nullify")
CACHE_KEYS: Final = ("max_rows", "max_age")


class LookupOptions(BatchOptions, AttemptOptions):
    """Where and how rows are looked up."""

    url: Any = option(
        None,
        "The database as SQLAlchemy's URL (postgresql+psycopg://HOST/DATABASE, sqlite:///FILE), a secret if it has a "
        "password.",
        required=True,
        accepts="string or secret",
    )
    table: str = option("", "The table, or SCHEMA.TABLE.", required=True)
    key: Any = option(
        None,
        "The column whose value is looked up, which no two rows of the table share, or a list of them; a mapping, "
        "{column: column of the table}, where the table has other names.",
        required=True,
        accepts="columns",
    )
    missing: str = option(
        "error",
        "Whether a row without a match fails or has nulls.",
        choices=MISSING,
    )
    cache: Mapping[str, Any] | None = option(
        None,
        "{max_rows: N, max_age: SECONDS}: how many rows of the table a worker keeps, and for how long; without it "
        "every batch asks the database.",
    )
    timeout: float | None = option(
        None, "Seconds that one query may take.", shown=f"{DEFAULT_SECONDS:g}", last=True
    )
    retries: int = option(
        DEFAULT_RETRIES, "How often a query that the database did not answer is made again.", last=True
    )


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


def settings_of(options: LookupOptions) -> Settings:
    """Returns the settings of a node's options, which were checked."""
    cache = options.cache or {}
    return Settings(
        seconds=float(DEFAULT_SECONDS if options.timeout is None else options.timeout),
        retries=options.retries,
        may_lack=options.missing == "nullify",
        max_rows=int(cache.get("max_rows", 0)),
        max_age=float(cache.get("max_age", 0)),
    )


def check_cache(node: NodeView[LookupOptions]) -> None:
    """Reports what is wrong with a node's ``cache``."""
    cache = node.options.cache
    if cache is None:
        return
    for key in cache:
        if key not in CACHE_KEYS:
            text = f"'cache' takes no key {key!r}{nearest(str(key), CACHE_KEYS)} (keys: {listed(CACHE_KEYS)})"
            node.problem("unknown_option", below("cache", str(key)), text)
    _check_number(node, cache, "max_rows", int, "how many rows are kept, a whole number of at least 1")
    _check_number(node, cache, "max_age", int | float, "how long a row is kept, in seconds, a number above 0")


def _check_number(node: NodeView, cache: Mapping[str, Any], key: str, of: Any, wanted: str) -> None:
    value = cache.get(key)
    if value is None:
        node.problem("missing_key", below("cache", key), f"a cache needs '{key}': {wanted}")
    elif isinstance(value, bool) or not isinstance(value, of) or not value > 0:
        node.problem("bad_value", below("cache", key), f"'{key}' is {value!r}; it is {wanted}")
