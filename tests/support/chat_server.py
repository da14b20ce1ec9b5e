"""A stand-in for a server of OpenAI's chat completions: it says what a test tells it, over real HTTP.

Real servers answer in ``tests/integration/servers``; this one does what none does on request: it fails, is slow, cuts
answers, and counts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any


@dataclasses.dataclass
class Reply:
    """What the server sends for a request.

    Attributes:
        text: The text of the answer's message.
        status: The status.
        headers: Further headers.
        message: Further members of the message, such as ``refusal``.
        finish: Why the answer ends.
        body: The whole body, instead of a chat completion.
        seconds: How long it takes.
        logprobs: What it says of the probabilities of tokens.
    """

    text: str | None = None
    status: int = 200
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    message: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    finish: str = "stop"
    body: bytes | None = None
    seconds: float = 0.0
    logprobs: Any = None

    def content(self) -> bytes:
        if self.body is not None:
            return self.body
        if self.status >= 400:
            return json.dumps({"error": {"message": self.text or "no", "type": "error"}}).encode()
        message = {"role": "assistant", "content": self.text, **self.message}
        choice = {"index": 0, "message": message, "finish_reason": self.finish, "logprobs": self.logprobs}
        usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
        found = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
        return json.dumps(found).encode()


class ChatServer:
    """A running server.

    Attributes:
        url: Its base address.
        requests: The bodies of all requests, in the order in which they came.
        headers: Their headers.
        most: The most requests that were answered at one time.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.most = 0
        self.now = 0
        self.lock = threading.Lock()


@contextlib.contextmanager
def chat_server(answer: Callable[[dict[str, Any]], Reply]) -> Iterator[ChatServer]:
    """Runs a server on a free port of this machine.

    Args:
        answer: Returns what is sent for a request's body.
    """

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with found.lock:
                found.requests.append(body)
                found.headers.append({name.lower(): text for name, text in self.headers.items()})
                found.now += 1
                found.most = max(found.most, found.now)
            reply = answer(body)
            time.sleep(reply.seconds)
            with found.lock:
                found.now -= 1
            content = reply.content()
            self.send_response(reply.status)
            for name, text in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 256

    with Server(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        found = ChatServer(f"http://127.0.0.1:{server.server_port}/v1")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield found
        finally:
            server.shutdown()


def said(request: Mapping[str, Any]) -> str:
    """Returns the content of a request's last message."""
    return str(request["messages"][-1]["content"])
