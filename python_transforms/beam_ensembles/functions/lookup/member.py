"""A loaded lookup: the keys of a batch, one query for those that are not kept, and a record for each row."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterable
from typing import Final

from beam_ensembles.errors import BatchFailed, InvalidEnsemble, NodeError, Problem, SomeFailed
from beam_ensembles.functions.lookup.cache import Cache
from beam_ensembles.functions.lookup.described import find_table
from beam_ensembles.functions.lookup.engine import Database, make_connections
from beam_ensembles.functions.lookup.failures import Unreachable
from beam_ensembles.functions.lookup.settings import LookupOptions, Settings
from beam_ensembles.functions.lookup.table import Key, Record, Table
from beam_ensembles.functions.lookup.values import column_of
from beam_ensembles.graph.kinds import CheckedNode, Columns, valid_rows
from beam_ensembles.handlers.support.retrying import tried_again

_LOGGER: Final = logging.getLogger(__name__)


class LookupMember:
    """A lookup on a worker; threads share its connections and what it keeps.

    Args:
        node: The node.
        settings: How it looks up.

    Raises:
        InvalidEnsemble: The database cannot be used, or its table does not fit. One that does not answer is asked again
            with the first batch.
    """

    def __init__(self, node: CheckedNode[LookupOptions], settings: Settings) -> None:
        self._node, self._settings = node, settings
        options = node.options
        is_timed = options.timeout is not None
        self._connections = make_connections(Database(node, "url", options.url, settings.seconds, is_timed))
        weakref.finalize(self, self._connections.engine.dispose)
        self._cache: Cache[Key, Record | None] | None = None
        if settings.max_rows:
            self._cache = Cache(settings.max_rows, settings.max_age)
        self._table: Table | None = None
        try:
            self._table = find_table(node, self._connections)
        except Unreachable as error:
            _LOGGER.warning("node '%s': %s", node.spec.name, error)
        except NodeError as error:
            raise InvalidEnsemble([Problem(node.spec.path("url"), error.code, error.message)]) from None

    def __call__(self, columns: Columns) -> Columns:
        """Looks up every row.

        Raises:
            SomeFailed: Some rows have no record.
            BatchFailed: The database does not answer, or not to this caller.
        """
        keys = self._keys(columns)
        found = self._found(dict.fromkeys(key for key in keys if key is not None))
        records: list[Record] = []
        faults: dict[int, NodeError] = {}
        for at, key in enumerate(keys):
            record = self._or_missing(key, found.get(key) if key is not None else None)
            if isinstance(record, NodeError):
                faults[at] = record
            else:
                records.append(record)
        outputs = self._columns(records)
        if faults:
            raise SomeFailed(outputs, faults)
        return outputs

    def _keys(self, columns: Columns) -> list[Key | None]:
        """Returns the key of each row; None where a part of it is null, which no row of a table is equal to."""
        names = self._node.spec.columns
        parts = zip(*(columns[name].tolist() for name in names), strict=True)
        valid = zip(*(valid_rows(columns, name).tolist() for name in names), strict=True)
        return [key if all(is_there) else None for key, is_there in zip(parts, valid, strict=True)]

    def _found(self, keys: Iterable[Key]) -> dict[Key, Record | NodeError | None]:
        wanted = list(keys)
        kept = self._cache.get(wanted) if self._cache is not None else {}
        rest = [key for key in wanted if key not in kept]
        if not rest:
            return dict(kept)
        ask = tried_again(self._ask, self._settings.retries, lambda error: isinstance(error, Unreachable))
        found: dict[Key, Record | NodeError | None] = ask(rest)
        if self._cache is not None:
            self._cache.put({key: row for key, row in found.items() if not isinstance(row, NodeError)})
        return {**kept, **found}

    def _ask(self, keys: list[Key]) -> dict[Key, Record | NodeError | None]:
        table = self._table
        if table is None:
            try:
                table = self._table = find_table(self._node, self._connections)
            except InvalidEnsemble as error:
                raise BatchFailed(error.problems[0].code, error.problems[0].message) from None
        return table.rows(keys)

    def _or_missing(self, key: Key | None, record: Record | NodeError | None) -> Record | NodeError:
        if record is not None:
            return record
        if self._settings.may_lack:
            return (None,) * len(self._node.outputs)
        if key is None:
            return NodeError(
                "null_value", "a column of the key is null; 'missing: nullify' lets such rows go on"
            )
        shown = ", ".join(f"{name} {part!r}" for name, part in zip(self._node.spec.columns, key, strict=True))
        table = self._node.options.table
        return NodeError("key_not_found", f"'{table}' has no row for {shown}")

    def _columns(self, records: list[Record]) -> Columns:
        outputs: dict[str, object] = {}
        for at, (name, type_) in enumerate(self._node.outputs.items()):
            outputs |= column_of([record[at] for record in records], type_, name)
        return outputs  # type: ignore[return-value]
