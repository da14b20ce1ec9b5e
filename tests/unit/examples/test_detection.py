"""The detection example: COCO's names, and what Python and Beam YAML would write to BigQuery."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import fastavro
import jinja2
import pytest
import yaml
from apache_beam.io.gcp import bigquery_tools

from examples.detection import pipeline
from scripts.layout import EXAMPLES, ROOT

GOLDEN = json.loads((ROOT / "tests" / "golden" / "bigquery" / "detection.json").read_text(encoding="utf-8"))
FOLDER = EXAMPLES / "detection"


def test_the_names_are_those_of_torchvisions_weights() -> None:
    models = pytest.importorskip("torchvision.models.detection")
    names = models.MaskRCNN_ResNet50_FPN_Weights.COCO_V1.meta["categories"]
    assert (FOLDER / "coco.txt").read_text(encoding="utf-8").splitlines() == names


def test_the_table_has_a_repeated_record() -> None:
    assert GOLDEN["schema"] == pipeline.BIGQUERY


def scored(row: dict[str, Any]) -> SimpleNamespace:
    """Returns a row as the ensemble does."""
    return SimpleNamespace(file=row["file"], found=[SimpleNamespace(**thing) for thing in row["found"]])


@pytest.mark.parametrize("row", GOLDEN["rows"], ids=lambda row: row["file"])
def test_rows_are_as_the_table_takes_them(row: dict[str, Any]) -> None:
    """Beam writes rows to files of the Avro schema that it makes of the table's, and has BigQuery load these."""
    written = pipeline.as_dict(scored(row))
    assert written == row
    schema = fastavro.parse_schema(bigquery_tools.get_avro_schema_from_table_schema(pipeline.BIGQUERY))
    assert fastavro.validate(written, schema, raise_errors=True)
    wrong = {**written, "found": [{"label": "car", "box": 1.5, "score": 0.75}]}
    assert not fastavro.validate(wrong, schema, raise_errors=False)


def steps(**variables: str) -> list[dict[str, Any]]:
    """Returns the steps of the Beam YAML pipeline with these variables, which Beam fills in as strictly."""
    text = (FOLDER / "pipeline.yaml").read_text(encoding="utf-8")
    common = {"input": "*.jpg", "output": "found.parquet", "ensemble": "detection.yaml"}
    filled = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text).render(common | variables)
    found: list[dict[str, Any]] = yaml.safe_load(filled)["pipeline"]["transforms"]
    return found


def test_beam_yaml_writes_a_table_where_one_is_named() -> None:
    assert "WriteToBigQuery" not in [step["type"] for step in steps()]
    *_, last = steps(bigquery="project:dataset.table")
    assert last["type"] == "WriteToBigQuery"
    assert last["input"] == "Find"
    assert last["config"]["table"] == "project:dataset.table"
