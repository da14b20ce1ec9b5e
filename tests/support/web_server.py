"""A web server on this machine whose answers the tests choose."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import threading
import time
from collections.abc import Callable, Iterator, Mapping

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


class WebServer(http.server.ThreadingHTTPServer):
    """Answers by path, 404 for others; counts what is asked for.

    Args:
        answers: The answer at each path.
    """

    daemon_threads = True

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.asked: list[str] = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address before a path."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: WebServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        with self.server.lock:
            self.server.asked.append(self.path)
            self.server.at_once += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.at_once)
        try:
            self.server.answers.get(self.path, status(404))(self)
        finally:
            with self.server.lock:
                self.server.at_once -= 1

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


def content(body: bytes, **headers: str) -> Answer:
    """Returns an answer with a body, whose length it says unless a header does."""

    def answer(to: http.server.BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        for name, value in {"content_length": str(len(body)), **headers}.items():
            to.send_header(name.replace("_", "-"), value)
        to.end_headers()
        to.wfile.write(body)

    return answer


def zipped(body: bytes) -> Answer:
    """Returns a body with gzip around it, as servers do on the way."""
    return content(gzip.compress(body), content_encoding="gzip")


def chunked(*blocks: bytes) -> Answer:
    """Returns a body in blocks, without saying how long it is."""

    def answer(to: http.server.BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Transfer-Encoding", "chunked")
        to.end_headers()
        for block in (*blocks, b""):
            to.wfile.write(f"{len(block):x}\r\n".encode() + block + b"\r\n")

    return answer


def status(code: int, **headers: str) -> Answer:
    """Returns an answer that is nothing but a status."""

    def answer(to: http.server.BaseHTTPRequestHandler) -> None:
        to.send_response(code)
        for name, value in headers.items():
            to.send_header(name, value)
        to.send_header("Content-Length", "0")
        to.end_headers()

    return answer


def dripping(seconds: float) -> Answer:
    """Returns an answer of 100 bytes, one whenever so many seconds have gone."""

    def answer(to: http.server.BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Content-Length", "100")
        to.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(100):
                to.wfile.write(b".")
                to.wfile.flush()
                time.sleep(seconds)
        to.close_connection = True

    return answer


def after(seconds: float, then: Answer) -> Answer:
    """Returns an answer that comes late."""

    def answer(to: http.server.BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        then(to)

    return answer


def first(*answers: Answer) -> Answer:
    """Returns answers that differ from time to time; the last one stays."""
    waiting = list(answers)

    def answer(to: http.server.BaseHTTPRequestHandler) -> None:
        (waiting.pop(0) if len(waiting) > 1 else waiting[0])(to)

    return answer


@contextlib.contextmanager
def web_server(answers: Mapping[str, Answer]) -> Iterator[WebServer]:
    """Runs a server."""
    with WebServer(answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
