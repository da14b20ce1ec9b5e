"""An ensemble file to a checked graph, for the user who names it."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import joblib
import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler
from beam_ensembles.runtime.loading import graph_of_file


class Leaves:
    """What ends the program that loads it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return sys.exit, (0,)


def test_a_model_that_ends_the_program_cannot_be_loaded(tmp_path: Path) -> None:
    joblib.dump(Leaves(), tmp_path / "leaves.joblib")
    node = {"model": "sklearn", "uri": "leaves.joblib", "inputs": ["x"], "outputs": {"y": "double"}}
    file = tmp_path / "leaves.json"
    file.write_text(json.dumps({"ensemble": "leaves", "inputs": {"x": "double"}, "nodes": {"n": node}}))
    with pytest.raises(InvalidEnsemble, match=r"cannot load .*leaves\.joblib': SystemExit: 0") as caught:
        EnsembleModelHandler(file).load_model()
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [
        ("load_failed", "nodes.n.uri")
    ]


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
