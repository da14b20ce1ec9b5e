"""Python pipelines whose elements are Arrow record batches or tables."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.testing.test_pipeline import TestPipeline as Pipeline
from apache_beam.testing.util import assert_that, equal_to

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.transforms import RunEnsemble
from tests.support.iris import expected, flowers

SCHEMA = pa.schema(
    [
        ("price", pa.decimal128(5, 2)),
        ("when", pa.timestamp("ns", tz="UTC")),
        ("colour", pa.dictionary(pa.int8(), pa.string())),
        *((name, pa.float32()) for name in "abcd"),
    ]
)


def flower_batch(count: int, **changed: Any) -> pa.RecordBatch:
    columns = {
        "price": [decimal.Decimal("1.10")] * count,
        "when": [datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)] * count,
        "colour": ["red"] * count,
        **{name: flowers()[:count, at].tolist() for at, name in enumerate("abcd")},
        **changed,
    }
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def as_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch.slice(0, 1), batch.slice(1)])


def not_null(batch: pa.RecordBatch, name: str) -> pa.RecordBatch:
    fields = [field.with_nullable(field.name != name) for field in batch.schema]
    return pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))


@pytest.mark.parametrize("made", [as_batch, as_table])
def test_elements_come_out_as_what_they_were_with_the_columns_added(iris: Path, made: Any) -> None:
    labels, confidences = expected(iris.parent)
    batch = flower_batch(150)

    def scored(found: Any) -> None:
        (element,) = found
        assert type(element) is type(made(batch))
        assert element.select(SCHEMA.names).to_pylist() == batch.to_pylist()
        assert element.schema.names == [*SCHEMA.names, "label", "confidence"]
        assert element.schema.field("colour") == SCHEMA.field("colour")
        assert element.column("label").to_pylist() == labels
        assert element.column("confidence").to_pylist() == pytest.approx(confidences.tolist())

    with Pipeline() as p:
        assert_that(p | beam.Create([made(batch)]) | RunEnsemble(iris).with_arrow_schema(SCHEMA), scored)


def test_rows_that_cannot_be_scored_come_out_apart(iris: Path) -> None:
    batch = flower_batch(3, b=[1.0, None, 1.0])
    with Pipeline() as p:
        run = RunEnsemble(iris).with_arrow_schema(SCHEMA).with_errors()
        scored, errors = p | beam.Create([batch]) | run
        counts = scored | beam.Map(lambda found: found.num_rows)
        failed = errors | "failed" >> beam.Map(
            lambda found: [(row["code"], row["element"]["colour"]) for row in found.to_pylist()]
        )
        assert_that(counts, equal_to([2]), label="scored")
        assert_that(failed, equal_to([[("null_value", "red")]]), label="errors")


def test_a_table_without_rows_gives_nothing(iris: Path) -> None:
    with Pipeline() as p:
        run = RunEnsemble(iris).with_arrow_schema(SCHEMA)
        assert_that(p | beam.Create([SCHEMA.empty_table()]) | run, equal_to([]))


@pytest.mark.parametrize(
    ("element", "said"),
    [
        (flower_batch(1).drop_columns("price"), "fewer columns, or another order"),
        (flower_batch(1).rename_columns([*SCHEMA.names[:-1], "e"]), r"found e: float"),
        (not_null(flower_batch(1), "a"), "found a: float not null where a: float was announced"),
        ({"a": 1.0}, "an element is dict, which is not an Arrow record batch or table"),
    ],
)
def test_an_element_that_is_not_as_announced_fails_in_one_sentence(
    iris: Path, element: Any, said: str
) -> None:
    with pytest.raises(Exception, match=said), Pipeline() as p:
        _ = p | beam.Create([element]) | RunEnsemble(iris).with_arrow_schema(SCHEMA)


@pytest.mark.parametrize(
    ("field", "code", "path"),
    [
        (pa.field("d", pa.string()), "field_type", "input.d"),
        (pa.field("d", pa.decimal128(5, 2)), "field_type", "input.d"),
        (pa.field("e", pa.float64()), "missing_field", "input.d"),
        (pa.field("a", pa.float64()), "duplicate_field", "input.a"),
    ],
)
def test_a_schema_that_does_not_fit_is_refused_before_anything_runs(
    iris: Path, field: pa.Field, code: str, path: str
) -> None:
    schema = pa.schema([*((name, pa.float64()) for name in "abc"), field])
    with pytest.raises(InvalidEnsemble) as caught:
        _ = Pipeline() | beam.Create([1]) | RunEnsemble(iris).with_arrow_schema(schema)
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [(code, path)]


def test_what_is_no_schema_is_refused_where_it_is_given(iris: Path) -> None:
    with pytest.raises(TypeError, match=r"takes a pyarrow.Schema, not dict; pyarrow.schema\(...\) makes one"):
        RunEnsemble(iris).with_arrow_schema({"a": pa.float64()})  # type: ignore[arg-type]


def test_a_list_with_a_point_in_time_that_is_too_far_away_fails_alone(tmp_path: Path) -> None:
    file = tmp_path / "times.yaml"
    file.write_text(
        "ensemble: times\ninputs: {times: array<timestamp>}\n"
        "nodes:\n  count: {apply: sql, select: {n: ARRAY_LENGTH(times)}}\noutputs: [n]\n"
    )
    schema = pa.schema([("times", pa.list_(pa.timestamp("s")))])
    batch = pa.RecordBatch.from_pydict({"times": [[0, 1], [0, 2**62], [5]]}, schema=schema)
    with Pipeline() as p:
        run = RunEnsemble(file).with_arrow_schema(schema).with_errors()
        scored, errors = p | beam.Create([batch]) | run
        counts = scored | "n" >> beam.FlatMap(lambda found: found.column("n").to_pylist())
        said = errors | "said" >> beam.FlatMap(lambda found: found.column("msg").to_pylist())
        text = "input 'times' has a point in time that is farther away than a timestamp can be"
        assert_that(counts, equal_to([2, 1]), label="scored")
        assert_that(said, equal_to([text]), label="errors")
