"""``cache``: where the answers of a model are kept, so that the same row is asked once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.database_urls import check_database
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.graph.options import Mistake, Options, option
from beam_ensembles.spec.places import below
from beam_ensembles.spec.secrets import is_secret

URI: Final = "cache.uri"
_KEYS: Final = ("uri", "max_age", "max_rows")
_AGE: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_MOST: Final = 1e12


class CacheOptions(Options):
    """Where answers are kept."""

    cache: Mapping[str, Any] = option(
        {},
        "{uri: sqlite:///FILE.db, max_age: 30d, max_rows: N}: where answers are kept, or in PostgreSQL, how long, and "
        "how many; the model is asked only about other rows.",
        last=True,
    )

    def mistakes(self) -> Iterator[Mistake]:
        """Finds keys of ``cache`` that it does not have, and ages and numbers that cannot be."""
        yield from super().mistakes()
        for key in self.cache:
            if key not in _KEYS:
                text = f"'cache' takes no key {key!r}{nearest(str(key), _KEYS)} (keys: {listed(_KEYS)})"
                yield Mistake(below("cache", str(key)), "unknown_option", text)
        if not self.cache:
            return
        uri = self.cache.get("uri")
        if uri is None:
            yield Mistake(
                "cache", "missing_key", "a cache needs 'uri': sqlite:///FILE.db, or a database in PostgreSQL"
            )
        elif not isinstance(uri, str) and not is_secret(uri):
            yield Mistake(URI, "bad_value", f"'uri' is {uri!r}; it is a text or a secret")
        if "max_age" in self.cache and seconds_of(self.cache["max_age"]) is None:
            text = f"'max_age' is {self.cache['max_age']!r}; it is a number of seconds, or a text such as 12h or 30d"
            yield Mistake(below("cache", "max_age"), "bad_value", text)
        if "max_rows" in self.cache and rows_of(self.cache["max_rows"]) is None:
            text = f"'max_rows' is {self.cache['max_rows']!r}; it is a whole number of at least 1"
            yield Mistake(below("cache", "max_rows"), "bad_value", text)

    def check_node(self, node: NodeView) -> None:
        """Reports a database that nobody allowed."""
        super().check_node(node)
        if self.cache:
            check_database(node, URI, self.cache.get("uri"), is_written=True)


def seconds_of(age: Any) -> float | None:
    """Returns an age in seconds; None where it is something else."""
    found = _AGE.fullmatch(age) if isinstance(age, str) else None
    seconds = float(found[1]) * _UNITS[found[2]] if found else age
    return float(seconds) if _is_number(seconds) and 0 < seconds <= _MOST else None


def rows_of(count: Any) -> int | None:
    """Returns a number of rows, which YAML may have as 1e7; None where it is something else."""
    is_whole = _is_number(count) and 1 <= count <= _MOST and count == int(count)
    return int(count) if is_whole else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
