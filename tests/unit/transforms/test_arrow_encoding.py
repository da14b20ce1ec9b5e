"""``encoding: arrow``: batches of rows in, batches of rows out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.metrics.metric import MetricsFilter
from apache_beam.testing.test_pipeline import TestPipeline as Pipeline
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms import window
from apache_beam.transforms.window import TimestampedValue

from beam_ensembles.columns.schemas import schema_of
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.runtime.timed_choice import Trials
from beam_ensembles.transforms import RunEnsembleConfig, RunEnsembleFromConfig
from beam_ensembles.types import parse_type
from tests.support.arrow_batches import read, record_batch, stream
from tests.support.iris import expected, flowers
from tests.support.machines import Have
from tests.support.machines import have as have

FIELDS = {
    "id": "int64",
    "a": "double",
    "b": "double",
    "c": "double?",
    "d": "double",
    "note": "array<string?>",
}
Values = tuple[Any, ...]


def rows(count: int = 150) -> list[Values]:
    return [(at, *map(float, four), [None, str(at)]) for at, four in enumerate(flowers()[:count].tolist())]


def batch(values: list[Values]) -> bytes:
    return stream(record_batch(FIELDS, values, [1_000 * row[0] for row in values]))


def serialized(**fields: str) -> bytes:
    schema = schema_of((name, parse_type(type_)) for name, type_ in fields.items())
    return bytes(schema.SerializeToString())


def run(iris: Path, *, errors: bool = False, **options: Any) -> RunEnsembleFromConfig:
    given = {"spec_uri": str(iris), "encoding": "arrow", "input_schema": serialized(**FIELDS), **options}
    if errors:
        given["error_handling"] = {"output": "bad"}
    config = RunEnsembleConfig.from_mapping(given)
    return RunEnsembleFromConfig(config, Files(trusted=(str(iris.parent),)))


def tables(test: Callable[[list[dict[str, Any]]], None]) -> Callable[[Iterable[bytes]], None]:
    """Tests the rows of all elements, in the order of their event times."""

    def tested(found: Iterable[bytes]) -> None:
        values = [row for data in found for row in read(data).to_pylist()]
        test(sorted(values, key=lambda row: row["__event_time"]))

    return tested


def test_the_answers_are_scikit_learns_own_and_what_no_model_reads_is_untouched(iris: Path) -> None:
    labels, confidences = expected(iris.parent)

    def same(found: list[dict[str, Any]]) -> None:
        assert list(found[0]) == [*FIELDS, "label", "confidence", "__event_time"]
        assert [row["label"] for row in found] == labels
        assert [row["confidence"] for row in found] == pytest.approx(confidences.tolist())
        assert [(row["id"], row["note"]) for row in found] == [(at, [None, str(at)]) for at in range(150)]

    with Pipeline() as p:
        outputs = p | beam.Create([batch(rows()[:1]), batch(rows()[1:]), batch([])]) | run(iris)
        assert_that(outputs["output"], tables(same))


def test_the_output_has_the_callers_order_and_only_its_columns(iris: Path) -> None:
    wanted = serialized(confidence="double", note="array<string?>", label="string")

    def ordered(found: Iterable[bytes]) -> None:
        (data,) = found
        schema = read(data).schema
        assert schema.names == ["confidence", "note", "label", "__event_time"]
        assert schema.types == [pa.float64(), pa.list_(pa.string()), pa.string(), pa.int64()]

    with Pipeline() as p:
        outputs = p | beam.Create([batch(rows(3))]) | run(iris, output_schema=wanted)
        assert_that(outputs["output"], ordered)


def test_bad_rows_go_to_the_error_output_alone(iris: Path) -> None:
    values = rows()
    values[3] = (3, *values[3][1:3], None, *values[3][4:])
    values[9] = (9, float("nan"), *values[9][2:])

    def failed(found: list[dict[str, Any]]) -> None:
        assert [(row["element"]["id"], row["node"], row["code"]) for row in found] == [
            (3, "", "null_value"),
            (9, "linear", "model_error"),
        ]
        assert [row["__event_time"] for row in found] == [3_000, 9_000]
        assert list(found[0]) == ["element", "ensemble", "node", "code", "msg", "stack", "__event_time"]
        assert list(found[0]["element"]) == list(FIELDS)
        assert "Traceback" in found[1]["stack"]

    with Pipeline() as p:
        outputs = p | beam.Create([batch(values)]) | run(iris, errors=True)
        assert_that(outputs["bad"], tables(failed), label="bad")
        count = outputs["output"] | beam.Map(lambda data: read(data).num_rows)
        assert_that(count, equal_to([148]), label="good")


@pytest.mark.parametrize(("value", "good", "bad"), [(1.0, 1, 0), (None, 0, 1)])
def test_an_output_without_rows_has_no_elements(iris: Path, value: Any, good: int, bad: int) -> None:
    row = (0, 1.0, 1.0, value, 1.0, [])
    with Pipeline() as p:
        outputs = p | beam.Create([batch([row]), batch([])]) | run(iris, errors=True)
        assert_that(
            outputs["output"] | "g" >> beam.combiners.Count.Globally(), equal_to([good]), label="good"
        )
        assert_that(outputs["bad"] | "b" >> beam.combiners.Count.Globally(), equal_to([bad]), label="bad")


def test_without_an_error_output_the_bundle_fails_with_the_message(iris: Path) -> None:
    bad = (0, 1.0, float("nan"), 1.0, 1.0, [])
    with (
        pytest.raises(
            Exception, match=r"ensemble 'iris' could not score a row: \[model_error\] nodes.linear"
        ),
        Pipeline() as p,
    ):
        _ = p | beam.Create([batch([bad])]) | run(iris)


def test_elements_keep_their_windows_and_times(iris: Path) -> None:
    with Pipeline() as p:
        timed = p | beam.Create([(5, batch(rows(3))), (65, batch(rows(2)))])
        timed |= beam.MapTuple(lambda time, data: TimestampedValue(data, time)).with_output_types(bytes)
        outputs = timed | beam.WindowInto(window.FixedWindows(60)) | run(iris)
        found = outputs["output"] | beam.Map(
            lambda data, time=beam.DoFn.TimestampParam, w=beam.DoFn.WindowParam: (
                read(data).num_rows,
                int(time),
                int(w.start),
            )
        )
        assert_that(found, equal_to([(3, 5, 0), (2, 65, 60)]))


@pytest.mark.parametrize("count", [1, 4])
def test_batches_at_one_time_give_what_one_after_another_gives(
    iris: Path, have: Have, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    tried = []

    def takes_other(_: Trials) -> bool:
        tried.append(True)
        return True

    have(cores=count)
    monkeypatch.setattr(Trials, "takes_other", property(takes_other))
    values, (labels, _) = rows(), expected(iris.parent)
    values[9] = (9, float("nan"), *values[9][2:])
    times = range(0, 150, 10)
    elements = [TimestampedValue(batch(values[time : time + 10]), time) for time in times]
    p = Pipeline()
    timed = (
        p
        | beam.Create(elements, reshuffle=False)
        | beam.Map(lambda element: element).with_output_types(bytes)
    )
    outputs = timed | beam.WindowInto(window.FixedWindows(40)) | run(iris, errors=True)
    found = outputs["output"] | beam.FlatMap(
        lambda data, time=beam.DoFn.TimestampParam, w=beam.DoFn.WindowParam: [
            (row["id"], row["label"], int(time), int(w.start)) for row in read(data).to_pylist()
        ]
    )
    failed = outputs["bad"] | "failed" >> beam.FlatMap(
        lambda data: [row["element"]["id"] for row in read(data).to_pylist()]
    )
    wanted = [(at, label, at // 10 * 10, at // 40 * 40) for at, label in enumerate(labels) if at != 9]
    assert_that(found, equal_to(wanted), label="good")
    assert_that(failed, equal_to([9]), label="bad")
    result = p.run()
    result.wait_until_finish()
    counters = result.metrics().query(MetricsFilter().with_namespace("iris/forest"))["counters"]
    assert {c.key.metric.name: c.committed for c in counters} == {"num_inferences": 149}
    assert bool(tried) == (count > 1)


def test_each_node_counts_rows_not_elements(iris: Path) -> None:
    p = Pipeline()
    _ = p | beam.Create([batch(rows())]) | run(iris)
    result = p.run()
    result.wait_until_finish()
    found = result.metrics().query(MetricsFilter().with_namespace("iris/forest"))
    assert {c.key.metric.name: c.committed for c in found["counters"]} == {"num_inferences": 150}


@pytest.mark.parametrize(
    ("options", "code", "path"),
    [
        ({"input_schema": b"\xff\xff"}, "wrong_config", "input_schema"),
        ({"input_schema": serialized(a="double", b="double", c="double")}, "missing_field", "input.d"),
        (
            {"input_schema": serialized(a="double", b="double", c="double", d="string")},
            "field_type",
            "input.d",
        ),
        ({"output_schema": serialized(lable="string")}, "output_schema_mismatch", "output_schema.lable"),
    ],
)
def test_the_announced_rows_are_checked_as_rows_are(
    iris: Path, options: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        _ = Pipeline() | beam.Create([b""]) | run(iris, **options)
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [(code, path)]
