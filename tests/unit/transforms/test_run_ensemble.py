"""RunEnsemble in Python pipelines: values, failed rows, keys, event times, windows, untouched fields, metrics."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pytest
from apache_beam.metrics.metric import MetricsFilter
from apache_beam.testing.test_pipeline import TestPipeline as Pipeline
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms import window
from apache_beam.transforms.window import TimestampedValue

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.transforms import RunEnsemble
from tests.support.iris import expected, flowers


def rows(count: int = 150) -> list[beam.Row]:
    return [
        beam.Row(id=at, a=float(a), b=float(b), c=float(c), d=float(d))
        for at, (a, b, c, d) in enumerate(flowers()[:count])
    ]


def check(test: Callable[[list[Any]], None]) -> Callable[[Iterable[Any]], None]:
    def checked(found: Iterable[Any]) -> None:
        test(list(found))

    return checked


def test_the_answers_are_scikit_learns_own(iris: Path) -> None:
    labels, confidences = expected(iris.parent)

    def same(found: list[Any]) -> None:
        found.sort(key=lambda row: row.id)
        assert [row.label for row in found] == labels
        assert np.array([row.confidence for row in found]) == pytest.approx(confidences)
        assert list(found[0].as_dict()) == ["id", "a", "b", "c", "d", "label", "confidence"]

    with Pipeline() as p:
        assert_that(p | beam.Create(rows()) | RunEnsemble(iris), check(same))


def test_bad_rows_go_to_the_error_output_alone(iris: Path) -> None:
    several = [row for _ in range(67) for row in rows()][:10_000]
    null, nan, text = (
        beam.Row(**several[17].as_dict()),
        beam.Row(**several[5_000].as_dict()),
        several[9_999].as_dict(),
    )
    null.a, nan.b, text["c"] = None, float("nan"), "long"
    several[17], several[5_000], several[9_999] = null, nan, beam.Row(**text)

    def named(found: list[Any]) -> None:
        assert sorted((row.node, row.code) for row in found) == [
            ("", "null_value"),
            ("", "wrong_value"),
            ("linear", "model_error"),
        ]
        assert all(row.ensemble == "iris" and row.msg for row in found)

    with Pipeline() as p:
        scored, errors = p | beam.Create(several) | RunEnsemble(iris).with_errors()
        assert_that(scored | beam.combiners.Count.Globally(), equal_to([9_997]), label="scored")
        assert_that(errors, check(named), label="errors")


def test_without_an_error_output_the_bundle_fails_with_the_message(iris: Path) -> None:
    bad = beam.Row(id=0, a=1.0, b=float("nan"), c=1.0, d=1.0)
    with (
        pytest.raises(
            Exception, match=r"ensemble 'iris' could not score a row: \[model_error\] nodes.linear"
        ),
        Pipeline() as p,
    ):
        _ = p | beam.Create([bad]) | RunEnsemble(iris)


def test_keyed_rows_come_out_keyed_on_both_outputs(iris: Path) -> None:
    bad = beam.Row(id=1, a=None, b=1.0, c=1.0, d=1.0)
    with Pipeline() as p:
        pairs = p | beam.Create([rows(1)[0], bad]) | beam.WithKeys(lambda row: "xy"[row.id])
        scored, errors = pairs | RunEnsemble(iris).with_errors()
        assert_that(
            scored | beam.MapTuple(lambda k, row: (k, row.label)), equal_to([("x", "setosa")]), label="ok"
        )
        assert_that(
            errors | beam.MapTuple(lambda k, row: (k, row.element.id)), equal_to([("y", 1)]), label="bad"
        )


class Order(NamedTuple):
    when: datetime.date
    price: decimal.Decimal
    a: float
    b: float
    c: float
    d: float
    anything: Any


def test_fields_that_no_model_reads_cross_untouched(iris: Path) -> None:
    thing = {"a set": {1, 2}}
    order = Order(datetime.date(2026, 1, 2), decimal.Decimal("1.10"), 5.1, 3.5, 1.4, 0.2, thing)
    with Pipeline() as p:
        scored = p | beam.Create([order]).with_output_types(Order) | RunEnsemble(iris)
        kept = scored | beam.Map(lambda row: (row.when, row.price, row.anything, row.label))
        assert_that(kept, equal_to([(order.when, order.price, thing, "setosa")]))


class WithTime(beam.DoFn):
    def process(
        self, row: Any, time: Any = beam.DoFn.TimestampParam, window: Any = beam.DoFn.WindowParam
    ) -> Any:
        yield row.id, int(time.micros // 1_000_000), str(window)


@pytest.mark.parametrize(
    "windowing",
    [window.GlobalWindows(), window.FixedWindows(60), window.SlidingWindows(60, 30), window.Sessions(10)],
    ids=["global", "fixed", "sliding", "sessions"],
)
@pytest.mark.parametrize("times", [lambda at: at * 7, lambda at: 42], ids=["each its own", "all the same"])
def test_event_times_and_windows_stay(iris: Path, windowing: Any, times: Callable[[int], int]) -> None:
    with Pipeline() as p:
        created = p | beam.Create(rows(20))
        stamped = created | beam.Map(lambda row: TimestampedValue(row, times(row.id)))
        stamped.element_type = created.element_type
        timed = stamped | "windows" >> beam.WindowInto(windowing)
        before = timed | "before" >> beam.ParDo(WithTime())
        after = timed | RunEnsemble(iris) | "after" >> beam.ParDo(WithTime())
        both = (before, after) | beam.Flatten() | "all" >> beam.WindowInto(window.GlobalWindows())
        counts = both | beam.combiners.Count.PerElement() | beam.Values() | beam.Distinct()
        assert_that(counts, equal_to([2]))


def test_columns_prefix_and_pass_through(iris: Path) -> None:
    row = beam.Row(id=1, length=5.1, b=3.5, c=1.4, d=0.2)
    run = RunEnsemble(iris, columns={"a": "length"}, prefix="iris_", pass_through=["id"])
    with Pipeline() as p:
        scored = p | beam.Create([row]) | run | beam.Map(lambda row: sorted(row.as_dict()))
        assert_that(scored, equal_to([["id", "iris_confidence", "iris_label"]]))


@pytest.mark.parametrize(
    ("row", "options", "code", "path"),
    [
        (beam.Row(a=1.0, b=1.0, c=1.0), {}, "missing_field", "input.d"),
        (beam.Row(a=1.0, b=1.0, c=1.0, d="x"), {}, "field_type", "input.d"),
        (beam.Row(a=1.0, b=1.0, c=1.0, d=1.0, label="x"), {}, "column_exists", "outputs.label"),
        (beam.Row(a=1.0, b=1.0, c=1.0, d=1.0), {"columns": {"e": "a"}}, "unknown_column", "columns.e"),
        (beam.Row(a=1.0, b=1.0, c=1.0, d=1.0), {"pass_through": ["id"]}, "missing_field", "pass_through"),
        ({"a": 1.0}, {}, "no_schema", "input"),
        (7, {}, "no_schema", "input"),
    ],
)
def test_rows_that_do_not_fit_are_refused_before_anything_runs(
    iris: Path, row: Any, options: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        _ = Pipeline() | beam.Create([row]) | RunEnsemble(iris, **options)
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [(code, path)]


def test_rows_whose_type_is_lost_in_a_lambda_are_told_how_to_keep_it(iris: Path) -> None:
    with pytest.raises(InvalidEnsemble, match=r"given to \.with_output_types\(\.\.\.\), which a lambda"):
        _ = Pipeline() | beam.Create([1]) | beam.Map(lambda row: row) | RunEnsemble(iris)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "digits.yaml").touch()
    with pytest.raises(
        InvalidEnsemble, match=r"there is no file .*digit\.yaml'; did you mean 'digits\.yaml'"
    ):
        RunEnsemble(tmp_path / "digit.yaml")


def test_pickles_outside_trusted_folders_are_refused(iris: Path) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        RunEnsemble(iris, trust=[])
    assert {problem.code for problem in caught.value.problems} == {"untrusted_file"}


def test_each_node_writes_beams_metrics(iris: Path) -> None:
    p = Pipeline()
    _ = p | beam.Create(rows()) | RunEnsemble(iris)
    result = p.run()
    result.wait_until_finish()
    found = result.metrics().query(MetricsFilter().with_namespace("iris/forest"))
    assert {c.key.metric.name: c.committed for c in found["counters"]} == {"num_inferences": 150}
    names = {d.key.metric.name: d.committed.sum for d in found["distributions"]}
    assert names["inference_request_batch_size"] == 150
    assert names["inference_request_batch_byte_size"] == 150 * 4 * 8
    assert {"inference_batch_latency_micro_secs", "load_model_latency_milli_secs", "model_byte_size"} <= set(
        names
    )


def test_the_step_is_named_after_the_ensemble(iris: Path) -> None:
    assert RunEnsemble(iris).default_label() == "RunEnsemble(iris)"
