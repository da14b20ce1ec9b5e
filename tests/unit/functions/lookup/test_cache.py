"""What a lookup keeps: against a plain list of what was used last."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.functions.lookup.cache import Cache

STEPS = st.lists(
    st.tuples(st.sampled_from(["get", "put"]), st.integers(0, 5), st.floats(0, 4)), min_size=1, max_size=40
)


@given(steps=STEPS, max_rows=st.integers(1, 4), max_age=st.floats(0.5, 8))
def test_it_keeps_what_was_used_last_and_is_not_too_old(
    steps: list[tuple[str, int, float]], max_rows: int, max_age: float
) -> None:
    now = 0.0
    cache: Cache[int, float] = Cache(max_rows, max_age, lambda: now)
    wanted: list[tuple[int, float]] = []  # key and time, the one that was used last at the end
    for action, key, wait in steps:
        now += wait
        kept = dict(wanted)
        if action == "put":
            cache.put({key: now})
            wanted = [pair for pair in wanted if pair[0] != key] + [(key, now)]
            wanted = wanted[-max_rows:]
        elif key not in kept:
            assert cache.get([key]) == {}
        else:
            wanted.remove((key, kept[key]))
            is_fresh = kept[key] > now - max_age
            assert cache.get([key]) == ({key: kept[key]} if is_fresh else {})
            wanted += [(key, kept[key])] if is_fresh else []
        assert len(cache) == len(wanted)


def test_threads_use_it_side_by_side() -> None:
    cache: Cache[int, int] = Cache(50, 60)

    def work(start: int) -> None:
        for number in range(start, start + 2_000):
            cache.put({number % 97: number})
            assert all(value % 97 == key for key, value in cache.get(range(97)).items())

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == 50
