"""Fewer calls are under way while the server has no room, and more again when it answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

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


@pytest.mark.parametrize("calls", [20, 400])
def test_a_place_that_is_free_wakes_one_call(calls: int) -> None:
    """What a call costs does not grow with those that wait."""

    class Loop(asyncio.SelectorEventLoop):
        wakes = 0

        def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:  # type: ignore[override]
            self.wakes += 1
            return super().call_soon(callback, *args, context=context)

    async def run() -> None:
        places = Places(4)

        async def call() -> None:
            async with places.one():
                await asyncio.sleep(0)

        await asyncio.gather(*(call() for _ in range(calls)))

    loop = Loop()
    loop.run_until_complete(run())
    loop.close()
    assert loop.wakes <= 8 * calls


def test_the_first_that_waits_is_the_first_that_calls() -> None:
    async def run() -> list[int]:
        places, order = Places(2), []

        async def call(at: int) -> None:
            async with places.one():
                order.append(at)
                await asyncio.sleep(0.001)

        await asyncio.gather(*(call(at) for at in range(20)))
        return order

    assert asyncio.run(run()) == list(range(20))


def test_a_call_that_is_given_up_leaves_its_place() -> None:
    async def run() -> None:
        places = Places(1)

        async def call() -> None:
            async with places.one():
                await asyncio.sleep(60)

        async def quick() -> None:
            async with places.one():
                pass

        first = asyncio.create_task(call())
        await asyncio.sleep(0)
        waiting, has_place, last = (asyncio.create_task(quick()) for _ in range(3))
        await asyncio.sleep(0)
        waiting.cancel()
        first.cancel()
        await asyncio.gather(first, waiting, return_exceptions=True)
        has_place.cancel()  # it was just given one
        await asyncio.wait_for(last, 5)

    asyncio.run(run())
