"""An ensemble file to a checked graph, for whoever names it himself."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from beam_ensembles.runtime.loading import graph_of_file


def test_what_could_not_be_checked_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as closed:
        closed.bind(("localhost", 0))
        uri = f"grpc://localhost:{closed.getsockname()[1]}/dense"
        node = {"model": "open_inference", "uri": uri, "inputs": {"a": "x"}, "outputs": {"y": "double"}}
        file = tmp_path / "remote.json"
        file.write_text(
            json.dumps({"ensemble": "remote", "inputs": {"x": "double"}, "nodes": {"dense": node}})
        )
        graph = graph_of_file(file)
    assert [warning.code for warning in graph.warnings] == ["server_unreachable"]
    assert [record.getMessage() for record in caplog.records] == [f"ensemble 'remote': {graph.warnings[0]}"]
