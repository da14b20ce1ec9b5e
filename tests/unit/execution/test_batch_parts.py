"""A stage that makes large columns takes a batch in parts: the answers are those of the whole batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import joblib
import numpy as np
import pytest
from apache_beam.testing.util import assert_that
from sklearn.linear_model import LinearRegression

from beam_ensembles.execution import batch_parts, node_steps
from beam_ensembles.functions.audio import Samples
from beam_ensembles.graph.kinds import Columns
from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler
from beam_ensembles.transforms import RunEnsemble
from tests.support.media import noise, wav

ROWS = 23
SIZE = 4
"""Rows of a part: ``batch.max`` of the model."""

NODES = """
  soft: {apply: softmax, inputs: [w], outputs: {soft: 'array<double>[4]'}}
  line: {model: sklearn, uri: line.joblib, batch: {max: 4}, inputs: [x], outputs: {made: double}, on_error: ERROR}
  arm: {route: split, arms: {even: 50, odd: 50}, inputs: [id], outputs: {arm: string}}
  few: {model: sklearn, uri: line.joblib, batch: {max: 3}, when: WHEN, inputs: [soft], outputs: {few: double}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    values = np.random.default_rng(0).normal(size=(8, 4))
    joblib.dump(LinearRegression().fit(values, values.sum(axis=1)), tmp_path / "line.joblib")
    return tmp_path


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    def set_(whether: bool) -> None:
        monkeypatch.setattr(batch_parts, "LARGE_BYTES", 0 if whether else 1 << 60)

    return set_


def written(folder: Path, on_error: str = "fail_row", nodes: str = NODES, outputs: str = "made, few") -> Path:
    file = folder / "ensemble.yaml"
    given = 'inputs: {id: string, x: "array<double>[4]", w: "array<double>[4]", z: double}'
    nodes = nodes.replace("ERROR", on_error).replace("WHEN", "\"z > 9 AND arm <> 'none'\"")
    file.write_text(f"ensemble: parts\n{given}\nnodes:{nodes}outputs: [{outputs}]\n")
    return file


def rows(*bad: int) -> list[Any]:
    """Returns rows; scikit-learn refuses the NaN in ``x`` of some."""
    values = np.random.default_rng(1).normal(size=(ROWS, 4)).tolist()
    return [
        beam.Row(id=str(at), x=[math.nan] * 4 if at in bad else value, w=value, z=float(at))
        for at, value in enumerate(values)
    ]


def answers(file: Path, given: list[Any]) -> list[Any]:
    """Returns each row's answers, or which node failed on it and why."""
    made = EnsembleModelHandler(file)
    found = [result.inference for result in made.run_inference(given, made.load_model())]
    return [(one.node, one.code) if hasattr(one, "code") else rounded(one._asdict()) for one in found]


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Leaves out the last digits, in which a product of matrices differs with the number of rows."""
    return {name: round(value, 9) if isinstance(value, float) else value for name, value in row.items()}


ALL = tuple(range(ROWS))


@pytest.mark.parametrize("on_error", ["fail_row", "nullify", "{default: {made: -1}}"])
@pytest.mark.parametrize(
    "bad", [(), (5,), (4, 5, 6, 7), (*range(20),), ALL], ids=["none", "one", "a part", "most", "all"]
)
def test_parts_answer_as_the_whole(
    on_error: str, bad: tuple[int, ...], folder: Path, in_parts: Callable[[bool], None]
) -> None:
    file = written(folder, on_error, outputs="made, few, arm")
    in_parts(False)
    expected = answers(file, rows(*bad))
    in_parts(True)
    assert answers(file, rows(*bad)) == expected
    assert len(expected) == ROWS


def test_calls_have_the_rows_of_the_model_that_takes_most(
    folder: Path, in_parts: Callable[[bool], None]
) -> None:
    in_parts(True)
    made = EnsembleModelHandler(written(folder))
    model = made.load_model()
    sizes: dict[str, list[int]] = {"soft": [], "line": [], "few": []}

    def counted(name: str, member: Callable[[Columns], Columns]) -> Callable[[Columns], Columns]:
        def call(columns: Columns) -> Columns:
            sizes[name].append(len(next(iter(columns.values()))))
            return member(columns)

        return call

    for step in model._steps.settled({}).steps:
        if step._name in sizes:
            step.member = counted(step._name, step.member)
    list(made.run_inference(rows(), model))
    assert sizes["soft"] == sizes["line"] == [4, 4, 4, 4, 4, 3]
    assert sizes["few"] == [2, 3, 1, 3, 1, 3]


@pytest.mark.parametrize(
    ("nodes", "outputs", "is_parted"),
    [
        (NODES, "made, few", True),
        (NODES.replace("batch: {max: 3}, ", ""), "made, few", False),
        ("\n  soft: {apply: softmax, inputs: [w], outputs: {soft: 'array<double>[4]'}}\n", "soft", False),
    ],
    ids=["all say how many", "one wants whole batches", "no model"],
)
def test_which_stages_part_their_batches(nodes: str, outputs: str, is_parted: bool, folder: Path) -> None:
    model = EnsembleModelHandler(written(folder, nodes=nodes, outputs=outputs)).load_model()
    assert (model._parts is not None) == is_parted


def test_small_columns_stay_whole(folder: Path) -> None:
    found = EnsembleModelHandler(written(folder)).load_model()._parts
    assert found is not None
    assert (found.rows, found.row_bytes) == (SIZE, 4 * 8 + 8 + 8)


def test_provenance_knows_the_arms(folder: Path, in_parts: Callable[[bool], None]) -> None:
    in_parts(False)
    arms = [row["arm"] for row in answers(written(folder, "nullify", outputs="made, few, arm"), rows(5))]
    in_parts(True)

    def check(scored: list[Any]) -> None:
        told = {int(row.id): row.provenance for row in scored}
        assert [told[at].route for at in ALL] == [{"arm": arm} for arm in arms]
        assert [at for at in ALL if told[at].errors_ignored] == [5]

    with beam.Pipeline() as pipeline:
        given = pipeline | beam.Create(rows(5), reshuffle=False)
        assert_that(given | RunEnsemble(written(folder, "nullify"), provenance=True), check)


SOUNDS = """
  line: {model: sklearn, uri: line.joblib, inputs: [x], outputs: {made: double}}
  sound: {apply: audio, rate: 8000, inputs: [s], when: "z <> 4", outputs: {sound: {from: samples}}, on_error: nullify}
  count: {apply: sql, select: {n: "array_length(sound)"}, outputs: {n: "int64?"}}
  few: {model: sklearn, uri: line.joblib, when: "z > 5", inputs: [x], outputs: {few: double}}
"""


@pytest.mark.parametrize("most", [1, 4 * 700, 1 << 40])
def test_sounds_are_taken_in_parts_from_their_node_on(
    most: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "sounds.yaml"
    given = 'inputs: {x: "array<double>[4]", z: double, s: "bytes?"}'
    file.write_text(f"ensemble: sounds\n{given}\nnodes:{SOUNDS}outputs: [made, n, few]\n")
    lengths = [100 * (at + 1) for at in range(10)]
    sounds = [wav(noise(at, length), 8_000) for at, length in enumerate(lengths)]
    sounds[2], sounds[7] = b"x", None  # type: ignore[call-overload]
    values = [[math.nan if at == 3 else at] * 4 for at in range(10)]
    given_rows = [
        beam.Row(x=x, z=float(at), s=s) for at, (x, s) in enumerate(zip(values, sounds, strict=True))
    ]
    calls = []
    member = Samples.__call__
    monkeypatch.setattr(Samples, "__call__", lambda self, columns: calls.append(1) or member(self, columns))
    monkeypatch.setattr(node_steps, "MADE_AT_ONCE", most)
    found = answers(file, given_rows)
    assert found[3][0] == "line"
    wanted = [None if at in (2, 4, 7) else length for at, length in enumerate(lengths)]
    assert [row["n"] for at, row in enumerate(found) if at != 3] == [*wanted[:3], *wanted[4:]]
    assert [row["few"] is not None for at, row in enumerate(found) if at != 3] == [False] * 5 + [True] * 4
    assert (len(calls) > 1) == (most < 1 << 40)
