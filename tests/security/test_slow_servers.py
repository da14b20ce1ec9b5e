"""Web servers that send single bytes slowly: they hold a reader for as long as its limits say, and no longer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from beam_ensembles.errors import EnsembleError, NodeError
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.files.fetched_files import Patience, fetched
from beam_ensembles.functions.read.places import Places
from beam_ensembles.functions.read.reader import Limits, Reader
from beam_ensembles.interruption import Interrupted, while_wanted
from tests.support.patience import SECONDS

STATUS = b"HTTP/1.1 200 OK\r\n"
BODY = STATUS + b"Content-Length: 1000000000\r\n\r\n"


@contextlib.contextmanager
def dripping(start: bytes) -> Iterator[str]:
    """A server that sends the start of an answer, and then a byte every 50 ms for as long as anybody listens."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(65_536)
            connection.sendall(start)
            while not over.wait(0.05):
                connection.sendall(b"a")

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=drip, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/m.onnx"
    finally:
        over.set()
        listener.close()


@contextlib.contextmanager
def answering(whole: bytes) -> Iterator[str]:
    """A server that sends an answer to one request, and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with contextlib.suppress(OSError):  # it is closed, and nobody has asked
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(whole)

        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/m.onnx"


@pytest.mark.parametrize("start", [STATUS, BODY])
def test_a_file_is_there_in_time_or_not_at_all(start: bytes) -> None:
    began = time.monotonic()
    with (
        dripping(start) as url,
        pytest.raises(EnsembleError, match=r"cannot be read|too slowly"),
        fetched(url, patience=Patience(attempts=1, silence=1.0, seconds=1.5)),
    ):
        pass
    assert time.monotonic() - began < SECONDS


def test_a_request_that_nobody_waits_for_ends_while_a_file_comes() -> None:
    over = threading.Event()
    threading.Timer(1.0, over.set).start()
    began = time.monotonic()
    with (
        dripping(BODY) as url,
        while_wanted(lambda: not over.is_set()),
        pytest.raises(Interrupted),
        fetched(url, patience=Patience(attempts=1, silence=2 * SECONDS, seconds=2 * SECONDS)),
    ):
        pass
    assert time.monotonic() - began < SECONDS


@pytest.mark.parametrize("start", [STATUS, BODY])
def test_what_rows_name_is_there_in_time_or_not_at_all(start: bytes) -> None:
    began = time.monotonic()
    with dripping(start) as url:
        reader = Reader(
            Places((url.rpartition("/")[0],), Files()),
            Limits(max_bytes=1 << 30, seconds=1.0, retries=0, concurrency=4),
        )
        found = reader.read_all([url])[url]
    assert isinstance(found, NodeError)
    assert found.code == "server_unreachable"
    assert time.monotonic() - began < SECONDS


def test_a_whole_file_still_comes() -> None:
    with answering(STATUS + b"Content-Length: 3\r\n\r\nabc") as url, fetched(url) as copy:
        assert Path(copy).read_bytes() == b"abc"


def test_half_a_file_is_none() -> None:
    with (
        answering(STATUS + b"Content-Length: 300\r\n\r\nabc") as url,
        pytest.raises(EnsembleError, match="cannot be read"),
        fetched(url, patience=Patience(attempts=1)),
    ):
        pass
