"""Calls of a server that speaks OpenAI's interface, many at a time, by the official client.

All calls of a node run in one event loop on a thread of its own, whichever threads ask for them.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import openai

from beam_ensembles.errors import BatchFailed, NodeError
from beam_ensembles.handlers.openai_interface.client import Server, Unreadable, make_client
from beam_ensembles.handlers.openai_interface.failures import failure, has_no_room, may_pass, wait_asked
from beam_ensembles.handlers.openai_interface.spending import Estimate, Limits, spend
from beam_ensembles.handlers.openai_interface.usage import count_usage
from beam_ensembles.handlers.remote.breaker import Breaker
from beam_ensembles.handlers.remote.places import Places
from beam_ensembles.handlers.remote.quota import QuotaQueue
from beam_ensembles.handlers.support.call_counts import RETRIES, call_took, count
from beam_ensembles.handlers.support.waits import wait_before
from beam_ensembles.limits import LARGEST_ANSWER

Make = Callable[[openai.AsyncOpenAI], Awaitable[Any]]
Ask = Callable[["Session", Any], Awaitable[Any]]
_LOGGER: Final = logging.getLogger(__name__)


class Session:
    """Call one server, within one event loop.

    Args:
        server: How the server is called.
        limits: What calls may take.
        breaker: Says whether it is called at all.
    """

    def __init__(self, server: Server, limits: Limits, breaker: Breaker) -> None:
        self._server, self._limits, self._breaker = server, limits, breaker
        self._queue = None if limits.quota is None else QuotaQueue(limits.quota)
        self._estimate = Estimate(limits.answer)
        self._api = make_client(server)
        self._places = Places(server.concurrency)
        self._answers = 0

    async def all(self, ask: Ask, requests: Sequence[Any]) -> list[Any]:
        """Returns what each request is answered (``Calls.all``)."""
        broken: list[NodeError] = []
        held = 0

        async def one(request: Any) -> Any:
            nonlocal held
            async with self._places.one():
                if broken:
                    return broken[0]
                try:
                    answer = await ask(self, request)
                    held += bytes_of(answer)
                    if held <= LARGEST_ANSWER:
                        return answer
                    text = f"the answers to one batch have more than {LARGEST_ANSWER >> 20} MiB together"
                    broken.append(NodeError("bad_output", f"{text}; lower 'batch.max'"))
                    return broken[0]
                except BatchFailed as error:
                    broken.append(error)
                    return broken[0]
                except Exception as error:  # whatever it is: the others' answers are paid for
                    return NodeError.of(error)

        return await asyncio.gather(*map(one, requests))

    async def call(self, make: Make, size: int) -> Any:
        """Returns what a call is answered; one that fails in passing is made again.

        Args:
            make: Makes the call by the client.
            size: About how many bytes of text the request has.

        Raises:
            BatchFailed: The server does not answer anybody, or refuses the caller, or the budget is spent.
            NodeError: It refuses this call, or answers others but not this one.
        """
        before = self._answers
        if self._limits.budget is not None:
            self._limits.budget.check()
        with self._breaker.guard() as is_trial:
            try:
                return await self._made(make, size, 0 if is_trial else self._server.retries)
            except NodeError:
                raise
            except (
                Exception,
                Unreadable,
            ) as error:  # the client raises anything at a body that it does not expect
                found = failure(error, self._server)
                if may_pass(error) and self._answers > before:  # others were answered meanwhile
                    raise NodeError(found.code, found.message) from None
                raise found from None

    async def _made(self, make: Make, size: int, retries: int) -> Any:
        for retry in itertools.count():
            await self._places.unpaused()
            expected = self._estimate.of(size)
            ticket = await self._queue.wait(expected.total) if self._queue is not None else None
            start = time.perf_counter()
            try:
                answer = await make(self._api)
            except openai.OpenAIError as error:
                if retry >= retries or not may_pass(error):
                    raise
                seconds = wait_before(retry) + (wait_asked(error) or 0.0)
                if has_no_room(error):
                    self._places.no_room(seconds)
                count(RETRIES)
                _LOGGER.warning("trying again in %.1f s: %s", seconds, _kind(error))
            else:
                self._answers += 1
                self._places.answered()
                usage = count_usage(answer)
                if usage.total:
                    self._estimate.learn(size, usage)
                spend(self._limits, usage if usage.total else expected)
                if self._queue is not None and ticket is not None and usage.total:
                    self._queue.correct(ticket, usage.total)
                return answer
            finally:
                call_took(time.perf_counter() - start)
            await asyncio.sleep(seconds)
        raise AssertionError("the last attempt returns or raises")


def bytes_of(answer: Any) -> int:
    """Returns about how many bytes the values of an answer take."""
    if isinstance(answer, np.ndarray):
        return answer.nbytes
    if isinstance(answer, Mapping):
        answer = list(itertools.chain.from_iterable(answer.items()))
    if isinstance(answer, list):
        return sum(8 + bytes_of(value) for value in answer)
    return len(answer) if isinstance(answer, str) else 24


def _kind(error: openai.OpenAIError) -> str:
    """Returns the kind of an error; what a server says may quote the row."""
    status = getattr(error, "status_code", None)
    return type(error).__name__ if status is None else f"{type(error).__name__}: {status}"


class Calls:
    """Calls a server, with a limited number of calls at one time.

    Args:
        server: How the server is called.
        limits: What calls may take.
    """

    def __init__(self, server: Server, limits: Limits) -> None:
        self._server, self._limits = server, limits
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: Session | None = None
        self._breaker = Breaker()

    def all(self, ask: Ask, requests: Sequence[Any]) -> list[Any]:
        """Returns what each request is answered, in their order: an error instead of an answer that failed.

        A server that does not answer, or refuses the caller, is asked no more for these requests: those that were not
        sent yet get the same error. So do they where the answers before them fill ``LARGEST_ANSWER`` bytes.

        Args:
            ask: Makes the calls of one request.
            requests: What it is called with.
        """
        return asyncio.run_coroutine_threadsafe(self._all(ask, requests), self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                threading.Thread(target=_run, args=(loop,), name="calls", daemon=True).start()
                weakref.finalize(self, loop.call_soon_threadsafe, loop.stop)
                self._loop = loop
            return self._loop

    async def _all(self, ask: Ask, requests: Sequence[Any]) -> list[Any]:
        if self._session is None:
            self._session = Session(self._server, self._limits, self._breaker)
        return await self._session.all(ask, requests)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
