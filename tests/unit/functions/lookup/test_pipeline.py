"""Files, a database and a function in one pipeline: what comes out, what fails, and what nobody sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from beam_ensembles.transforms import RunEnsemble
from tests.support.web_server import content, web_server

SPEC = {
    "ensemble": "enriched",
    "inputs": {"card": "string", "url": "string"},
    "nodes": {
        "account": {
            "apply": "lookup",
            "url": {"secret": "env:ENRICHED_DB"},
            "table": "accounts",
            "key": ["card"],
            "missing": "nullify",
            "cache": {"max_rows": 100, "max_age": 60},
            "outputs": {"age_days": "double?", "land": {"from": "country", "type": "string?"}},
        },
        "fetch": {"apply": "read", "inputs": ["url"], "retries": 0, "outputs": {"data": "bytes"}},
        "score": {
            "apply": "python",
            "function": "tests.support.column_functions.scaled",
            "inputs": ["weight"],
            "outputs": {"scaled": "double"},
        },
        "weight": {"apply": "sql", "select": {"weight": "COALESCE(age_days, 1.0)"}},
    },
    "outputs": ["age_days", "land", "data", "scaled"],
}


def test_rows_are_enriched_and_the_secret_is_in_no_pipeline(
    accounts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENRICHED_DB", f"sqlite:///{accounts}/accounts.db")
    with web_server({"/a.png": content(b"png")}) as server:
        spec: Any = json.loads(json.dumps(SPEC))
        spec["nodes"]["fetch"]["under"] = [server.url]
        file = accounts / "enriched.json"
        file.write_text(json.dumps(spec))
        rows = [("a", "a.png"), ("none", "a.png"), ("a", "none.png"), ("b", "a.png"), ("a", "/etc/passwd")]
        pipeline = beam.Pipeline(runner=FnApiRunner())
        given = pipeline | beam.Create([beam.Row(card=card, url=url) for card, url in rows])
        good, errors = given | RunEnsemble(file).with_errors()
        found = good | beam.Map(lambda row: (row.card, row.age_days, row.land, row.data, row.scaled))
        found | "all good" >> beam.combiners.ToList() | "good" >> beam.Map(_expect_good)
        failed = errors | "codes" >> beam.Map(lambda row: (row.element.card, row.node, row.code))
        failed | "all bad" >> beam.combiners.ToList() | "bad" >> beam.Map(_expect_bad)
        assert b"accounts.db" not in pipeline.to_runner_api().SerializeToString()
        pipeline.run().wait_until_finish()


def _expect_good(rows: list[Any]) -> None:
    assert sorted(rows, key=str) == [("a", 3.5, "de", b"png", 7.0), ("none", None, None, b"png", 2.0)]


def _expect_bad(rows: list[Any]) -> None:
    assert sorted(rows) == [
        ("a", "fetch", "missing_file"),
        ("a", "fetch", "untrusted_file"),
        ("b", "account", "key_not_unique"),
    ]
