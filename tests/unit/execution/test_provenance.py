"""What a row says of where its answers come from."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import apache_beam as beam
import joblib
import pytest
from apache_beam.testing.util import assert_that
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.execution.files_digest import digest_of
from beam_ensembles.runtime.loading import graph_of_file
from beam_ensembles.transforms import RunEnsemble

TEXT = """
ensemble: origin
inputs: {x: "array<double>[4]", user: int64}
nodes:
  arm: {route: switch, cases: [{when: "user > 1", arm: many}], default: few, inputs: [user], outputs: {arm: string}}
  line: {model: sklearn, uri: line.joblib, on_error: nullify, inputs: [x], outputs: {line: double}}
outputs: [arm, line]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    flowers = load_iris()
    joblib.dump(LinearRegression().fit(flowers.data, flowers.target), tmp_path / "line.joblib")
    path = tmp_path / "origin.yaml"
    path.write_text(TEXT)
    return path


def test_ensemble_digest_arms_and_errors(file: Path) -> None:
    good, bad = [1.0, 2.0, 3.0, 4.0], [math.nan] * 4

    def check(rows: list[Any]) -> None:
        digest = digest_of(graph_of_file(file))
        by_user = {row.user: row.provenance for row in rows}
        assert {user: (p.ensemble, p.digest) for user, p in by_user.items()} == dict.fromkeys(
            (0, 1, 2), ("origin", digest)
        )
        assert [by_user[user].route for user in (0, 1, 2)] == [
            {"arm": "few"},
            {"arm": "few"},
            {"arm": "many"},
        ]
        assert [by_user[user].errors_ignored for user in (0, 1, 2)] == [[], ["line"], []]

    pipeline = beam.Pipeline()
    given = [beam.Row(x=good, user=0), beam.Row(x=bad, user=1), beam.Row(x=good, user=2)]
    assert_that(pipeline | beam.Create(given) | RunEnsemble(file, provenance=True), check)
    pipeline.run().wait_until_finish()


def test_the_digest_is_of_file_and_models(file: Path) -> None:
    before = digest_of(graph_of_file(file))
    assert digest_of(graph_of_file(file)) == before
    file.write_text(TEXT.replace("> 1", "> 0"))
    changed = digest_of(graph_of_file(file))
    joblib.dump(LinearRegression().fit([[1.0]], [1.0]), file.parent / "line.joblib")
    file.write_text(TEXT)
    assert len({before, changed, digest_of(graph_of_file(file))}) == 3


def test_a_column_of_that_name_is_refused(file: Path) -> None:
    file.write_text(
        TEXT.replace("{line: double}", "{provenance: double}").replace("arm, line]", "arm, provenance]")
    )
    with pytest.raises(InvalidEnsemble, match="column_exists"):
        RunEnsemble(file, provenance=True)


@pytest.mark.parametrize(("x", "code"), [([1.0] * 4, "no_case"), ([1.0], "wrong_length")])
def test_batches_of_failed_rows_alone(file: Path, x: list[float], code: str) -> None:
    file.write_text(TEXT.replace("default: few, ", ""))

    def check(rows: list[Any]) -> None:
        assert [row.code for row in rows] == [code] * 2

    pipeline = beam.Pipeline()
    rows = pipeline | beam.Create([beam.Row(x=x, user=0)] * 2, reshuffle=False)
    _, errors = rows | RunEnsemble(file, provenance=True).with_errors()
    assert_that(errors, check)
    pipeline.run().wait_until_finish()
