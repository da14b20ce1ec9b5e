"""Every part of the language in a Python pipeline: what Go's and Java's tests compare with too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.testing.util import assert_that
from apache_beam.typehints.row_type import RowTypeConstraint

from beam_ensembles.transforms import RunEnsemble
from tests.support import whole_language

FIELDS = [
    ("id", int), ("user", str | None), ("x", Sequence[float]), ("amount", float), ("note", str | None),
    ("weight", np.int32 | None), ("code", int), ("guess", str), ("second", str | None),
    ("names", Sequence[str]), ("tags", Mapping[str, int]),
]  # fmt: skip
ARROW = pa.schema(
    [
        ("id", pa.int64()), ("user", pa.string()), ("x", pa.list_(pa.float64())), ("amount", pa.float64()),
        ("note", pa.string()), ("weight", pa.int32()), ("code", pa.int64()), ("guess", pa.string()),
        ("second", pa.string()), ("names", pa.list_(pa.string())), ("tags", pa.map_(pa.string(), pa.int64())),
    ]
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("language")
    whole_language.write(made)
    return made


def plain(value: Any) -> Any:
    """Returns a value as JSON would hold it."""
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, beam.Row):
        return plain(value.as_dict())
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def check_rows(found: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]]) -> None:
    wanted = {one["row"]["id"]: one["expected"] for one in answers if "expected" in one}
    assert sorted(row["id"] for row in found) == sorted(wanted)
    assert len({row["provenance"].pop("digest") for row in found}) == 1
    for row in found:
        for name, value in wanted[row["id"]].items():
            assert close(row[name], value), (row["id"], name, row[name], value)


def close(found: Any, wanted: Any) -> bool:
    """Fractions agree to nine digits, all else is equal."""
    if isinstance(wanted, float):
        return bool(abs(found - wanted) < 1e-9)
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(close(found[name], wanted[name]) for name in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    return type(found) is type(wanted) and bool(found == wanted)


def check_errors(found: Sequence[tuple[int, str, str]], answers: Sequence[Mapping[str, Any]]) -> None:
    refused = [one for one in answers if "error" in one]
    assert sorted(found) == [
        (one["row"]["id"], one["error"]["node"], one["error"]["code"]) for one in refused
    ]


def test_rows(folder: Path) -> None:
    answers = json.loads((folder / "language.json").read_text(encoding="utf-8"))
    with beam.Pipeline() as pipeline:
        elements = [beam.Row(**one["row"]) for one in answers]
        rows = pipeline | beam.Create(elements).with_output_types(RowTypeConstraint.from_fields(FIELDS))
        good, bad = rows | RunEnsemble(folder / "language.yaml", provenance=True).with_errors()
        failed = bad | beam.Map(lambda row: (row.element.id, row.node, row.code))
        assert_that(good | beam.Map(plain), lambda found: check_rows(found, answers), label="scored")
        assert_that(failed, lambda found: check_errors(found, answers), label="failed")


def test_record_batches(folder: Path) -> None:
    answers = json.loads((folder / "language.json").read_text(encoding="utf-8"))
    batch = pa.RecordBatch.from_pylist([one["row"] | {"tags": []} for one in answers], ARROW)
    with beam.Pipeline() as pipeline:
        ensemble = RunEnsemble(folder / "language.yaml", provenance=True).with_arrow_schema(ARROW)
        good, bad = pipeline | beam.Create([batch], reshuffle=False) | ensemble.with_errors()
        scored = good | beam.FlatMap(lambda found: found.to_pylist(maps_as_pydicts="strict"))
        failed = bad | "Failed" >> beam.FlatMap(
            lambda found: [(row["element"]["id"], row["node"], row["code"]) for row in found.to_pylist()]
        )
        assert_that(scored, lambda found: check_rows(found, answers), label="scored")
        assert_that(failed, lambda found: check_errors(found, answers), label="failed")
