"""Nodes of language models on real Prism: what is counted, a worker that dies, a server that dies.

The server is a stand-in over real HTTP, which counts what it is asked and fails when a test says so.
"""

from __future__ import annotations

import collections
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import RunEnsemble, ensemble_metrics
from tests.support.chat_server import Reply, chat_server, said
from tests.support.patience import wait_until

ROWS = 400
CONCURRENCY = 4

# Sometimes Beam 2.77's Python client waits forever for a job that Prism has ended.
pytestmark = pytest.mark.flaky(reruns=1, only_rerun=["Timeout"])


def write(folder: Path, url: str, **more: Any) -> Path:
    """Writes an ensemble of one node."""
    node = {
        "model": "chat",
        "url": url,
        "name": "m",
        "text": True,
        "concurrency": CONCURRENCY,
        "messages": [{"role": "user", "content": "{ticket}"}],
        "inputs": ["ticket"],
        "outputs": {"said": {}},
        **more,
    }
    file = folder / "asked.json"
    file.write_text(
        json.dumps({"ensemble": "asked", "inputs": {"ticket": "string"}, "nodes": {"chat": node}})
    )
    return file


def run(prism: str, file: str, out: str, rows: int, *, errors: bool = False) -> Any:
    """Asks about rows on Prism, writes ``ticket answer`` lines into a folder, and returns the node's metrics."""
    flags = ["--runner=PortableRunner", f"--job_endpoint={prism}", "--environment_type=LOOPBACK"]
    pipeline = beam.Pipeline(options=PipelineOptions(flags))
    given = pipeline | beam.Create([beam.Row(ticket=f"t{at}") for at in range(rows)])
    if errors:
        scored, failed = given | RunEnsemble(file).with_errors()
    else:
        scored = given | RunEnsemble(file)
    lines: Any = scored | beam.Map(lambda row: f"{row.ticket} {row.said}")
    if errors:
        codes = failed | "Failed" >> beam.Map(lambda row: f"{row.element.ticket} {row.code}")
        lines = (lines, codes) | beam.Flatten()
    _ = lines | beam.io.WriteToText(f"{out}/lines")
    result = pipeline.run()
    result.wait_until_finish()
    (metrics,) = ensemble_metrics(result)
    (node,) = metrics.as_data()["nodes"]
    return node["usage"]


def lines_of(out: Path) -> list[str]:
    return sorted(line for file in out.glob("lines*") for line in file.read_text().splitlines())


def test_calls_and_tokens_are_counted(prism: str, tmp_path: Path) -> None:
    left = [Reply("busy", status=503)]
    file = tmp_path / "out"
    file.mkdir()
    with chat_server(lambda request: left.pop() if left else Reply(said(request).upper())) as server:
        found = run(prism, str(write(tmp_path, server.url, price={"input": 1, "output": 2})), str(file), 20)
    assert lines_of(file) == sorted(f"t{at} T{at}" for at in range(20))
    assert (found["calls"], found["retries"]) == (21, 1)
    assert (found["tokens_in"], found["tokens_out"]) == (20 * 7, 20 * 5)
    assert found["cost_billionths"] == 20 * (7 * 1_000 + 5 * 2_000)


def test_a_worker_that_dies_is_paid_once(prism: str, tmp_path: Path) -> None:
    """A job whose worker is killed at half of its rows, and the job that is started after it."""
    program = """
import sys
from tests.integration.servers import test_language_models_on_prism as test
test.run(sys.argv[1], sys.argv[2], sys.argv[3], test.ROWS)
"""
    out = tmp_path / "out"
    out.mkdir()

    def answer(request: dict[str, Any]) -> Reply:
        return Reply(said(request).upper(), seconds=0.05)

    with chat_server(answer) as server:
        file = write(tmp_path, server.url, cache={"uri": "sqlite:///kept.db"})
        command = [sys.executable, "-c", program, prism, str(file), str(out)]
        first = subprocess.Popen(command)
        wait_until(lambda: len(server.requests) >= ROWS // 2)
        first.kill()
        first.wait()
        subprocess.run(command, check=True)
    assert lines_of(out) == sorted(f"t{at} T{at}" for at in range(ROWS))
    asked = collections.Counter(map(said, server.requests))
    assert len(asked) == ROWS
    # Those that were under way, and those of the last moments, which no longer come to the database.
    assert len(server.requests) <= ROWS + CONCURRENCY + 0.02 * ROWS


def test_every_row_of_a_server_that_dies_is_answered_or_failed_once(prism: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    answered = ROWS // 4

    def answer(request: dict[str, Any]) -> Reply:
        if len(server.requests) > answered:
            return Reply("gone", status=503)
        return Reply(said(request).upper())

    with chat_server(answer) as server:
        found = run(prism, str(write(tmp_path, server.url, retries=0)), str(out), ROWS, errors=True)
    lines = [line.split() for line in lines_of(out)]
    assert sorted(ticket for ticket, _ in lines) == sorted(f"t{at}" for at in range(ROWS))
    told = collections.Counter("answered" if text == ticket.upper() else text for ticket, text in lines)
    assert told == {"answered": answered, "server_unreachable": ROWS - answered}
    assert found["calls"] == len(server.requests)
    # Those that were under way fail alone, as others were answered meanwhile; those after them close the way.
    assert len(server.requests) <= answered + 2 * CONCURRENCY
