"""Answers in a real PostgreSQL, from two workers at once, and while it is gone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from beam_ensembles.execution.answer_cache import AnswerCache, cache_of
from beam_ensembles.handlers.support.call_counts import counting
from tests.support.nodes import check_node
from tests.support.postgres import Postgres, running_postgres
from tests.unit.execution.test_answer_cache import INPUTS, Asked, answered, ask, node, xs


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


def opened(folder: Path) -> AnswerCache:
    found = cache_of(
        check_node(folder, INPUTS, node(cache={"uri": {"secret": "env:TEST_DB"}, "max_rows": 1_000}))
    )
    assert found is not None
    return found


def test_workers_share_answers(tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_DB", postgres.url())
    caches = [opened(tmp_path) for _ in range(3)]

    def work(cache: AnswerCache) -> None:
        for first in range(0, 300, 10):
            cache.answer(Asked(), xs(*map(float, range(first, first + 10))), ask)
        cache.store.flush()

    threads = [threading.Thread(target=work, args=(cache,)) for cache in caches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    member = Asked()
    with counting() as counts:
        assert answered(caches[0], member, *map(float, range(300)))[7] == (14.0, "it is 7.0")
    assert member.rows == []
    assert counts.counters == {"cache_hits": 300}
    for cache in caches:
        cache.store.close()


def test_rows_go_on_while_it_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_postgres() as server:
        monkeypatch.setenv("TEST_DB", server.url())
        cache = opened(tmp_path)
        answered(cache, Asked(), 1)
    member = Asked()
    with counting() as counts:
        assert answered(cache, member, 1, 2)[0][0] == 2.0
    assert member.rows == [1, 2]
    assert counts.counters["cache_errors"] >= 1
    cache.store.close()
