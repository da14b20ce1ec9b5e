"""A node's cache: rows that were answered before are not asked again, and equal rows of a batch are asked once."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from beam_ensembles.columns.batch import concatenated, read_only
from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.execution.answer_digest import answer_digest, file_state
from beam_ensembles.execution.cache_worth import CacheWorth
from beam_ensembles.execution.kept_answers import BadAnswer, from_texts, to_texts
from beam_ensembles.execution.row_keys import row_keys
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, Work
from beam_ensembles.handlers.support.answered_rows import listening
from beam_ensembles.handlers.support.cache_options import CacheOptions, rows_of, seconds_of
from beam_ensembles.handlers.support.call_counts import CACHE_ERRORS, CACHE_HITS, CACHE_MISSES, SHARED, count
from beam_ensembles.handlers.support.member import not_installed

if TYPE_CHECKING:
    from beam_ensembles.execution.answer_store import AnswerStore

_LOGGER: Final = logging.getLogger(__name__)
_KEY: Final = "key!"
"""The column that says which row is which while the member runs; never a column's name."""
Ask = Callable[[Member, Columns, int], tuple[Columns, dict[int, NodeError]]]
"""Asks a member about some rows, and returns the columns of those that went well and the others' errors."""


class AnswerCache:
    """Stands between a node and its member.

    Args:
        node: The node, with a ``cache``.
        store: Where answers are kept.
        digest: What changes with everything that its answers depend on, besides the row.
    """

    def __init__(self, node: CheckedNode, store: AnswerStore, digest: bytes) -> None:
        self._types = tuple(sorted(node.inputs.items()))
        self._outputs = node.outputs
        self._digest = digest
        self._worth = None if node.kind.work is Work.ELSEWHERE else CacheWorth()
        self.store = store

    def answer(self, member: Member, columns: Columns, ask: Ask) -> tuple[Columns, dict[int, NodeError]]:
        """Returns the columns of the rows that went well, in order, and the errors of the others by their positions.

        Args:
            member: Answers rows that nobody has answered yet.
            columns: What the node reads.
            ask: Asks the member; it is handed one that tells this cache what the member answers.
        """
        if self._worth is None:
            found = self._looked_up(member, columns, ask)
            self.store.flush()  # what was paid for outlives a process that ends here
            return found
        rows = len(next(iter(columns.values())))
        if self._worth.is_given_up:
            return ask(member, columns, rows)
        times: list[float] = []
        start = time.perf_counter()
        found = self._looked_up(_timed(member, self._worth, times), columns, ask)
        if self._worth.looked_up(rows, time.perf_counter() - start - sum(times)):
            _LOGGER.warning("the model answers faster than its cache of answers, which is not used any more")
        return found

    def _looked_up(self, member: Member, columns: Columns, ask: Ask) -> tuple[Columns, dict[int, NodeError]]:
        keys = row_keys(self._digest, columns, self._types)
        kept, answers = self._kept(keys)
        known = frozenset(kept)
        firsts: dict[bytes, int] = {}
        for at, key in enumerate(keys):
            if key not in known:
                firsts.setdefault(key, at)
        hits = sum(key in known for key in keys) if known else 0
        count(CACHE_HITS, hits)
        count(CACHE_MISSES, len(keys) - hits)
        count(SHARED, len(keys) - hits - len(firsts))
        made, faults = self._asked(member, keys, columns, list(firsts.values()), ask)
        count(CACHE_ERRORS, self.store.taken_errors())
        if len(firsts) == len(keys):
            return made, faults
        return _together(keys, kept, answers, list(firsts), made, faults)

    def _kept(self, keys: Sequence[bytes]) -> tuple[list[bytes], Columns]:
        """Returns the keys that have an answer, and the answers' columns in their order."""
        found = self.store.get(list(dict.fromkeys(keys)))
        if not found:
            return [], {}
        try:
            return list(found), from_texts(list(found.values()), self._outputs)
        except BadAnswer as error:
            self.store.failed(str(error))
            return [], {}

    def _asked(
        self, member: Member, keys: Sequence[bytes], columns: Columns, rows: list[int], ask: Ask
    ) -> tuple[Columns, dict[int, NodeError]]:
        if not rows:
            return {}, {}
        some = columns
        if len(rows) < len(keys):
            some = {name: read_only(values[rows]) for name, values in columns.items()}
        named = np.empty(len(rows), object)
        named[:] = [keys[at] for at in rows]
        return ask(functools.partial(self._tell, member), {**some, _KEY: named}, len(rows))

    def _tell(self, member: Member, columns: Columns) -> Columns:
        """Calls a member, and keeps what it answers."""
        columns = dict(columns)
        keys = columns.pop(_KEY)
        told: set[int] = set()

        def keep(places: Sequence[int], answers: Columns) -> None:
            texts = to_texts(answers, self._outputs)
            told.update(places)
            self.store.put({keys[at]: text for at, text in zip(places, texts, strict=True)})

        with listening(keep):
            try:
                found = member(columns)
            except SomeFailed as error:
                if not told:
                    well = [at for at in range(len(keys)) if at not in error.faults]
                    keep(well, error.columns)
                raise
        if not told:
            keep(range(len(keys)), found)
        return found


def _timed(member: Member, worth: CacheWorth, times: list[float]) -> Member:
    def run(columns: Columns) -> Columns:
        start = time.perf_counter()
        try:
            return member(columns)
        finally:
            times.append(time.perf_counter() - start)
            worth.asked(len(next(iter(columns.values()))), times[-1])

    return run


def _together(
    keys: Sequence[bytes],
    kept: Sequence[bytes],
    answers: Columns,
    asked: Sequence[bytes],
    made: Columns,
    faults: Mapping[int, NodeError],
) -> tuple[Columns, dict[int, NodeError]]:
    """Returns the answers of all rows: those that were kept, and those that were just made.

    Args:
        keys: The key of each row.
        kept: The keys whose answers were kept.
        answers: Those, in the order of ``kept``.
        asked: The other keys.
        made: Their answers, without those that failed.
        faults: The errors of those, by the position among ``asked``.
    """
    errors = {asked[at]: error for at, error in faults.items()}
    good = [key for key in asked if key not in errors]
    parts = [part for part, some in ((answers, kept), (made, good)) if some]
    found = {at: errors[key] for at, key in enumerate(keys) if key in errors}
    if not parts:
        return {}, found
    places = {key: at for at, key in enumerate((*kept, *good))}
    rows = [places[key] for key in keys if key not in errors]
    return {name: values[rows] for name, values in concatenated(parts).items()}, found


def state_before(node: CheckedNode) -> Any:
    """Returns the ``file_state`` of a node with a cache that is about to be loaded; None where it has none."""
    return None if _said(node) is None else file_state(node)


def cache_of(node: CheckedNode, before: Any = None) -> AnswerCache | None:
    """Returns the cache of a node; None where it has none, or nobody knows which model it has loaded.

    Args:
        node: The node, which is loaded.
        before: Its ``state_before``. A file that was replaced meanwhile may not be the one that answers.

    Raises:
        InvalidEnsemble: SQLAlchemy or the database's driver is not installed, or the database's URL is none.
    """
    cache = _said(node)
    if cache is None:
        return None
    digest, after = answer_digest(node), file_state(node)
    if before is not None and after != before:
        _LOGGER.warning("the model's file changed while it was loaded, so that its answers are not kept")
        return None
    if _is_unknown(node, after):
        _LOGGER.warning(
            "nobody says when the model's file changes, so that its answers are not kept: pin it with 'sha256'"
        )
        return None
    try:
        from beam_ensembles.execution.answer_store import AnswerStore
    except ImportError as error:
        raise not_installed(node, "lookup", error) from error
    age, rows = seconds_of(cache.get("max_age")), rows_of(cache.get("max_rows"))
    return AnswerCache(node, AnswerStore(node, cache["uri"], age, rows), digest)


def _is_unknown(node: CheckedNode, state: Any) -> bool:
    """Whether a node's file lies elsewhere, and neither its pin nor its server tells its versions apart."""
    is_elsewhere = node.uri is not None and "://" in node.uri and node.kind.work is not Work.ELSEWHERE
    return is_elsewhere and "sha256" not in node.spec.options and not any(state or ())


def _said(node: CheckedNode) -> Mapping[str, Any] | None:
    """Returns what a node says of its ``cache``; None where it says nothing."""
    return (node.options.cache or None) if isinstance(node.options, CacheOptions) else None
