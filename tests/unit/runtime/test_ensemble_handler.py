"""An ensemble under Beam's own RunInference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.test_pipeline import TestPipeline as Pipeline
from apache_beam.testing.util import assert_that, equal_to

from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler, InferenceError, base
from tests.support.iris import flowers, make_ensemble


@pytest.fixture(scope="module")
def iris(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_ensemble(tmp_path_factory.mktemp("iris"))


def _answer(result: Any) -> Any:
    inference = result.inference
    return inference.code if isinstance(inference, InferenceError) else inference.label


ROWS = [beam.Row(a=float(a), b=float(b), c=float(c), d=float(d)) for a, b, c, d in flowers()[:3]]
ROWS[1] = beam.Row(a=None, b=1.0, c=1.0, d=1.0)


def test_every_example_has_one_result_in_order(iris: Path) -> None:
    handler = EnsembleModelHandler(iris)
    results = list(handler.run_inference(ROWS, handler.load_model()))
    assert [result.example for result in results] == ROWS
    assert [_answer(result) for result in results] == ["setosa", "null_value", "setosa"]


def test_under_run_inference_and_keyed(iris: Path) -> None:
    handler = base.KeyedModelHandler(EnsembleModelHandler(iris))
    with Pipeline() as p:
        results = p | beam.Create(list(enumerate(ROWS))) | base.RunInference(handler)
        answers = results | beam.MapTuple(lambda key, result: (key, _answer(result)))
        assert_that(answers, equal_to([(0, "setosa"), (1, "null_value"), (2, "setosa")]))


def test_a_batch_of_bad_rows_only(iris: Path) -> None:
    handler = EnsembleModelHandler(iris)
    results = list(handler.run_inference([ROWS[1]] * 2, handler.load_model()))
    assert [_answer(result) for result in results] == ["null_value", "null_value"]


def test_mappings_are_rows_too(iris: Path) -> None:
    handler = EnsembleModelHandler(iris)
    flower = {"a": 5.1, "b": 3.5, "c": 1.4, "d": 0.2}
    first, second = handler.run_inference([flower, beam.Row(**flower)], handler.load_model())
    assert first.inference == second.inference
    assert first.example is flower
