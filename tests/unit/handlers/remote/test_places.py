"""Fewer calls are under way while the server has no room, and more again when it answers."""

from __future__ import annotations

import asyncio

from beam_ensembles.handlers.remote.places import Places
from beam_ensembles.handlers.support.call_counts import THROTTLED, counting


def test_no_more_calls_than_places() -> None:
    async def run() -> int:
        places, now, most = Places(3), 0, 0

        async def call() -> None:
            nonlocal now, most
            async with places.one():
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.001)
                now -= 1

        await asyncio.gather(*(call() for _ in range(20)))
        return most

    assert asyncio.run(run()) == 3


def test_no_room_halves_once_and_answers_raise_it_again() -> None:
    async def run() -> None:
        places = Places(8)
        for _ in range(5):
            places.no_room(60)  # five calls that were under way together
        assert places.limit == 4
        for _ in range(100):
            places.answered()
        assert places.limit == 8

    asyncio.run(run())


def test_calls_wait_while_there_is_no_room() -> None:
    async def run() -> float:
        places, loop = Places(8), asyncio.get_running_loop()
        places.no_room(0.05)
        start = loop.time()
        await places.unpaused()
        return loop.time() - start

    with counting() as counts:
        assert asyncio.run(run()) >= 0.04
    assert counts.counters[THROTTLED] >= 40
