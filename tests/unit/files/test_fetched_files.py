"""Model files of other places: a real web server, and folders of a storage that Beam knows."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from beam_ensembles.errors import EnsembleError
from beam_ensembles.files import fetched_files
from beam_ensembles.files.fetched_files import fetched


class Server(http.server.BaseHTTPRequestHandler):
    """Answers by path; ``/flaky`` breaks off once."""

    breaks = 1

    def do_GET(self) -> None:
        if self.path == "/flaky" and Server.breaks:
            Server.breaks -= 1
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"half")
            return
        places = {"/here": "/model", "/there": "http://127.0.0.2:1/model", "/loop": "/loop"}
        if self.path in places:
            self.send_response(302)
            self.send_header("Location", places[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        found = self.path in ("/model", "/flaky")
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", "5" if found else "0")
        self.end_headers()
        self.wfile.write(b"model" if found else b"")

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


@pytest.fixture
def web() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", ["/model", "/here", "/flaky"])
def test_a_file_of_the_web(web: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "breaks", 1)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with fetched(web + path) as copy:
        assert Path(copy).read_bytes() == b"model"
    assert not Path(copy).exists()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/none", "the server says 404"),
        ("/there", "leads to another host: name 'http://127.0.0.2:1/model' itself"),
        ("/loop", "the server says 302"),
    ],
)
def test_what_the_web_refuses(web: str, path: str, text: str) -> None:
    with pytest.raises(EnsembleError, match=text), fetched(web + path):
        pass


def test_a_file_that_is_too_large(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetched_files, "MOST_BYTES", 3)
    with pytest.raises(EnsembleError, match="is too large"), fetched(f"{web}/model"):
        pass


def test_a_caller_says_what_is_too_large(web: str, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"model")
    for place in (f"{web}/model", str(tmp_path / "model")):  # the second one by Beam's FileSystems
        with pytest.raises(EnsembleError, match="is too large"), fetched(place, most=4):
            pass
        with fetched(place, most=5) as copy:
            assert Path(copy).read_bytes() == b"model"


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    with (
        pytest.raises(EnsembleError, match="ConnectionError after 3 attempts"),
        fetched("http://127.0.0.1:9/model"),
    ):
        pass


def test_a_folder_with_all_that_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "model" / "variables").mkdir(parents=True)
    (tmp_path / "model" / "saved_model.pb").write_bytes(b"graph")
    (tmp_path / "model" / "variables" / "data").write_bytes(b"weights")
    with fetched(f"{tmp_path}/model", folders=True) as copy:
        assert Path(copy, "saved_model.pb").read_bytes() == b"graph"
        assert Path(copy, "variables", "data").read_bytes() == b"weights"


def test_of_a_pattern_the_newest_match_is_fetched(tmp_path: Path) -> None:
    for name, seconds in (("line-1.pt", 30), ("line-2.pt", 20)):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (seconds, seconds))
    with fetched(f"{tmp_path}/line-*.pt") as copy:
        assert Path(copy).read_text() == "line-1.pt"
    with pytest.raises(EnsembleError, match="no file matches the pattern"), fetched(f"{tmp_path}/x-*.pt"):
        pass
