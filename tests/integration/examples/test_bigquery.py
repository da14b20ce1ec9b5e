"""What the object detection example in Java would write to BigQuery, which cannot be reached from tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scripts.layout import ROOT
from tests.support import dataflow_java

# The first time Maven fetches Beam's connectors to Google's services: 160 MB.
pytestmark = pytest.mark.timeout(900)
GOLDEN = json.loads((ROOT / "tests" / "golden" / "bigquery" / "detection.json").read_text(encoding="utf-8"))
SOURCE = Path(__file__).with_name("BigQueryTable.java")
OTHER_NAMES = {"FLOAT64": "FLOAT", "STRUCT": "RECORD"}
"""BigQuery knows two names of some types."""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What Java says: the table's schema, the rows, and the transforms that write them."""
    if shutil.which("mvn") is None:
        pytest.skip("there is no mvn here")
    folder = tmp_path_factory.mktemp("bigquery")
    rows = folder / "rows.jsonl"
    rows.write_text("".join(f"{json.dumps(row)}\n" for row in GOLDEN["rows"]), encoding="utf-8")
    examples = dataflow_java.PROJECT / "examples" / "target" / "examples.jar"
    path = os.pathsep.join(map(str, [*dataflow_java.class_path(), examples]))
    command = ["java", "-cp", path, str(SOURCE), str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def plain(value: Any) -> Any:
    """Returns a table's schema with the names of types, or a row with the numbers, that other languages have."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    try:
        return float(value)
    except ValueError:
        return OTHER_NAMES.get(value, value)


def test_the_table_has_a_repeated_record(lines: list[str]) -> None:
    assert plain(json.loads(lines[0])) == GOLDEN["schema"]


def test_rows_are_as_the_table_takes_them(lines: list[str]) -> None:
    assert [plain(json.loads(line)) for line in lines[1 : 1 + len(GOLDEN["rows"])]] == GOLDEN["rows"]


def test_they_are_written_by_beams_bigqueryio(lines: list[str]) -> None:
    assert "org.apache.beam.sdk.io.gcp.bigquery.BatchLoads" in lines
