"""What a node gets is not its own: other nodes read it too."""

from __future__ import annotations

from pathlib import Path

import apache_beam as beam
import joblib
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler

TEXT = """
ensemble: neighbours
inputs: {x: "array<double>[4]"}
nodes:
  scaled: {model: sklearn, uri: scaled.joblib, inputs: [x], outputs: {scaled: int64}}
  plain: {model: sklearn, uri: plain.joblib, inputs: [x], outputs: {plain: int64}}
"""


def test_a_model_that_scales_in_place_changes_nothing_for_the_next(tmp_path: Path) -> None:
    flowers = load_iris()
    plain = LogisticRegression(max_iter=500).fit(flowers.data, flowers.target)
    joblib.dump(plain, tmp_path / "plain.joblib")
    scaled = make_pipeline(StandardScaler(copy=False), LogisticRegression())
    joblib.dump(scaled.fit(flowers.data.copy(), flowers.target), tmp_path / "scaled.joblib")
    (tmp_path / "neighbours.yaml").write_text(TEXT)
    handler = EnsembleModelHandler(tmp_path / "neighbours.yaml")
    rows = [beam.Row(x=values) for values in flowers.data.tolist()]
    results = list(handler.run_inference(rows, handler.load_model()))
    assert [result.inference.plain for result in results] == plain.predict(flowers.data).tolist()
    assert [result.inference.scaled for result in results] == scaled.predict(flowers.data.copy()).tolist()


def test_nor_for_a_node_that_runs_on_some_rows(tmp_path: Path) -> None:
    flowers = load_iris()
    scaled = make_pipeline(StandardScaler(copy=False), LogisticRegression())
    joblib.dump(scaled.fit(flowers.data.copy(), flowers.target), tmp_path / "scaled.joblib")
    text = TEXT.partition("  plain")[0].replace("inputs: [x]", 'when: "x[1] > 5", inputs: [x]')
    (tmp_path / "some.yaml").write_text(text)
    handler = EnsembleModelHandler(tmp_path / "some.yaml")
    rows = [
        beam.Row(x=values)
        for values in [*flowers.data.tolist(), [float("nan"), 6.0, 1.0, 1.0], [6.0] * 3 + [float("inf")]]
    ]
    found = [result.inference for result in handler.run_inference(rows, handler.load_model())]
    expected = scaled.predict(flowers.data.copy())
    for values, made, label in zip(flowers.data, found, expected, strict=False):
        assert made.scaled == (label if values[0] > 5 else None)
    assert found[-1].code == "model_error", "and its batch was tried again in halves"
