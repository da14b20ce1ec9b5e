"""What a running pipeline goes by to see that a model has changed: its files, those beside it, and files of the web."""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from beam_ensembles.files.file_changes import state_of
from beam_ensembles.handlers.onnx.model import OnnxKind
from tests.support.models import write_graph


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """A web server of the test's folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing."""

    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_file_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    file = tmp_path / "model" / "weights.bin"
    assert state_of(str(file)) == state_of(str(tmp_path / "model" / "none"))
    states = []
    for content in ("a", "ab"):
        file.write_text(content)
        states.append((state_of(str(file)), state_of(file.parent.as_uri())))
    assert states[0][0] != states[1][0]
    assert states[0][1] != states[1][1]


def test_weights_beside_an_onnx_graph(tmp_path: Path) -> None:
    bias = numpy_helper.from_array(np.array([10, 20], np.float32), "bias")
    node = ("Add", ["X", "bias"], ["Y"], {})
    ports = [("X", "FLOAT", ["N", 2])], [("Y", "FLOAT", ["N", 2])]
    path = write_graph(tmp_path / "split.onnx", [node], *ports, [bias])
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    before, alone = state_of(str(path), OnnxKind().files_beside), state_of(str(path))
    os.utime(tmp_path / "weights.bin", ns=(1, 1))
    assert state_of(str(path), OnnxKind().files_beside) != before
    assert state_of(str(path)) == alone


def test_a_file_of_the_web_is_known_by_what_its_server_says(tmp_path: Path, site: str) -> None:
    file = tmp_path / "model.bin"
    file.write_text("one")
    os.utime(file, (1_000, 1_000))
    before = state_of(f"{site}/model.bin")
    assert before is not None
    assert state_of(f"{site}/model.bin") == before
    os.utime(file, (2_000, 2_000))
    assert state_of(f"{site}/model.bin") != before


@pytest.mark.parametrize("place", ["none.bin", "http://127.0.0.1:9/none.bin", "nowhere://bucket/none.bin"])
def test_what_cannot_be_looked_at_has_no_state(site: str, place: str) -> None:
    assert state_of(place if ":" in place else f"{site}/{place}") is None
