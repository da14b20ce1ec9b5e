"""Calls of a server that speaks OpenAI's interface, many at a time, by the official client.

All calls of a node run in one event loop on a thread of its own, whichever threads ask for them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import httpx2
import openai

from beam_ensembles.errors import BatchFailed, NodeError
from beam_ensembles.limits import LARGEST_ANSWER
from beam_ensembles.messages.foreign_errors import described, text_of

_PASSING: Final = (
    openai.APIConnectionError,
    openai.RateLimitError,
    openai.ConflictError,
    openai.InternalServerError,
)
"""What the client tries again by itself, and what then says that the server is not there."""
_REFUSED: Final = (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError)
_REQUEST_TIMEOUT: Final = 408
_FIRST_ERROR: Final = 400
Ask = Callable[["Client", Any], Awaitable[Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """How a server is called.

    Attributes:
        url: Its base address, such as ``https://api.openai.com/v1``.
        key: The key of the caller; empty where the server wants none.
        headers: Headers of every request.
        seconds: How long one attempt may take.
        retries: How often a call that failed in passing is made again.
        concurrency: How many calls may be on their way at one time.
    """

    url: str
    key: str
    headers: Mapping[str, str]
    seconds: float
    retries: int
    concurrency: int


class Client:
    """The official client, which follows no redirect, and reads no answer that is too large or too slow.

    Args:
        server: How the server is called.
    """

    def __init__(self, server: Server) -> None:
        self.api = openai.AsyncOpenAI(
            api_key=server.key or "none",
            organization="",  # None would mean what the environment says
            project="",
            base_url=server.url,
            timeout=server.seconds,
            max_retries=server.retries,
            http_client=_BoundedClient(server),
        )

    async def complete(self, messages: list[dict[str, Any]], request: Mapping[str, Any]) -> Any:
        """Returns the chat completion of some messages; the rest of the request is ``request``."""
        create: Any = self.api.chat.completions.create
        return await create(messages=messages, **request)


class _BoundedClient(httpx2.AsyncClient):
    """Sends a server's own headers, and reads a whole answer within its time, up to ``LARGEST_ANSWER`` bytes."""

    def __init__(self, server: Server) -> None:
        super().__init__(timeout=server.seconds, follow_redirects=False)
        self._server = server

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Sends a request; the response that it returns has been read."""
        for name in (
            "OpenAI-Organization",
            "OpenAI-Project",
            *(() if self._server.key else ("Authorization",)),
        ):
            request.headers.pop(name, None)
        request.headers.update({"Accept-Encoding": "identity", **self._server.headers})
        seconds = self._server.seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._read(await super().send(request, **{**options, "stream": True}))
        except TimeoutError:
            raise httpx2.ReadTimeout(f"no whole answer within {seconds:g} s", request=request) from None

    async def _read(self, response: httpx2.Response) -> httpx2.Response:
        try:
            packed = response.headers.get("content-encoding", "identity")
            if packed != "identity":
                raise _Unreadable(f"the answer is packed ({packed!r}), which the request did not allow")
            content = bytearray()
            async for block in response.aiter_raw():
                content += block
                if len(content) > LARGEST_ANSWER:
                    raise _Unreadable(f"the answer has more than {LARGEST_ANSWER:,} bytes")
        finally:
            await response.aclose()
        headers = [
            (name, text) for name, text in response.headers.multi_items() if name != "transfer-encoding"
        ]
        return httpx2.Response(
            response.status_code, headers=headers, content=bytes(content), request=response.request
        )


class _Unreadable(BaseException):
    """An answer that is not read. Not an ``Exception``: the client would ask again."""


class Calls:
    """Calls a server, with a limited number of calls at one time.

    Args:
        server: How the server is called.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Client | None = None
        self._places: asyncio.Semaphore | None = None

    def all(self, ask: Ask, requests: Sequence[Any]) -> list[Any]:
        """Returns what each request is answered, in their order: an error instead of an answer that failed.

        A server that does not answer, or refuses the caller, is asked no more for these requests: those that were not
        sent yet get the same error.

        Args:
            ask: Makes one call.
            requests: What it is called with.
        """
        return asyncio.run_coroutine_threadsafe(self._all(ask, requests), self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                threading.Thread(target=_run, args=(loop,), name="chat", daemon=True).start()
                weakref.finalize(self, loop.call_soon_threadsafe, loop.stop)
                self._loop = loop
            return self._loop

    async def _all(self, ask: Ask, requests: Sequence[Any]) -> list[Any]:
        if self._client is None or self._places is None:
            self._client, self._places = Client(self._server), asyncio.Semaphore(self._server.concurrency)
        client, places = self._client, self._places
        broken: list[BatchFailed] = []

        async def one(request: Any) -> Any:
            async with places:
                if broken:
                    return broken[0]
                try:
                    return await ask(client, request)
                except NodeError as error:
                    return error
                except (
                    openai.OpenAIError,
                    ValueError,
                    _Unreadable,
                ) as error:  # ValueError: a body that is no JSON
                    found = _failure(error, self._server)
                    if not isinstance(found, BatchFailed):
                        return found
                    broken.append(found)
                    return broken[0]

        return await asyncio.gather(*map(one, requests))


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _failure(error: BaseException, server: Server) -> NodeError:
    """Returns what a failed call means: the server is not there, does not let the caller in, or refuses the request."""
    if isinstance(error, _PASSING) or getattr(error, "status_code", 0) == _REQUEST_TIMEOUT:
        return BatchFailed("server_unreachable", f"{server.url} does not answer: {_said(error)}")
    status = getattr(error, "status_code", _FIRST_ERROR)
    if isinstance(error, _REFUSED) or status < _FIRST_ERROR:
        return BatchFailed("server_refused", f"{server.url} refuses the call: {_said(error)}")
    if isinstance(error, openai.APIStatusError):
        return NodeError("model_error", f"{server.url} refuses the request: {_said(error)}")
    return NodeError("bad_output", f"{server.url}: {_said(error)}")


def _said(error: BaseException) -> str:
    if isinstance(error, openai.APIStatusError):
        return f"{error.status_code} {text_of(error)}"
    cause = error.__cause__
    return described(cause) if isinstance(cause, Exception) else text_of(error)
