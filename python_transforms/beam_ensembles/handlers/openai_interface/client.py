"""The official client of OpenAI's interface, which reads no answer that is too large or too slow."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Mapping
from typing import Any, Final

import httpx2
import openai

from beam_ensembles.files.bounded_json import JsonError, check_memory
from beam_ensembles.limits import LARGEST_ANSWER

_MOST_READ: Final = 2
"""How many of the largest answers may be read at one time."""


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


def make_client(server: Server) -> openai.AsyncOpenAI:
    """Returns a client that follows no redirect and makes no call again by itself.

    Args:
        server: How the server is called.
    """
    return openai.AsyncOpenAI(
        api_key=server.key or "none",
        organization="",  # None would mean what the environment says
        project="",
        base_url=server.url,
        timeout=server.seconds,
        max_retries=0,
        http_client=_BoundedClient(server),
    )


def send(client: openai.AsyncOpenAI, path: str, body: Mapping[str, Any], answer: type) -> Awaitable[Any]:
    """Returns what a server answers to a body, which is sent as it is.

    The client's own methods, such as ``chat.completions.create``, walk through the messages and the schema of each body
    by the types that they declare, to change nothing. That took a quarter of a call's processor time, and so limited
    how much one worker can ask.

    Args:
        client: The client.
        path: The path below the server's base address.
        body: The request.
        answer: The client's class of the answer.
    """
    post: Any = client.post
    found: Awaitable[Any] = post(path, body=body, cast_to=answer, options={"security": {"bearer_auth": True}})
    return found


class Unreadable(BaseException):
    """An answer that is not read. Not an ``Exception``: the client would take it for a broken connection."""


class _BoundedClient(httpx2.AsyncClient):
    """Sends a server's own headers, and reads a whole answer within its time, up to ``LARGEST_ANSWER`` bytes."""

    def __init__(self, server: Server) -> None:
        most = server.concurrency
        limits = httpx2.Limits(max_connections=most, max_keepalive_connections=most)
        super().__init__(timeout=server.seconds, follow_redirects=False, limits=limits)
        self._server = server
        self._reading = 0
        """Bytes of the answers that are being read."""

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
        content = bytearray()
        try:
            packed = response.headers.get("content-encoding", "identity")
            if packed != "identity":
                raise Unreadable(f"the answer is packed ({packed!r}), which the request did not allow")
            async for block in response.aiter_raw():
                content += block
                self._reading += len(block)
                if len(content) > LARGEST_ANSWER:
                    raise Unreadable(f"the answer has more than {LARGEST_ANSWER:,} bytes")
                if self._reading > _MOST_READ * LARGEST_ANSWER:
                    most = _MOST_READ * LARGEST_ANSWER
                    raise Unreadable(f"the answers that come at one time have more than {most:,} bytes")
            check_memory(bytes(content))
        except JsonError as error:
            raise Unreadable(f"the answer is too large: {error}") from None
        finally:
            self._reading -= len(content)
            await response.aclose()
        headers = response.headers.copy()
        headers.pop("transfer-encoding", None)
        # What is read is UTF-8. The server could name any encoding of Python's, and some take the square of the time.
        headers["content-type"] = headers.get("content-type", "").partition(";")[0]
        return httpx2.Response(
            response.status_code, headers=headers, content=bytes(content), request=response.request
        )
