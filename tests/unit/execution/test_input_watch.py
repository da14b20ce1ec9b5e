"""Inputs are compared with their profile: shifts are found, clean rows raise no alarm, and it costs little."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.evaluation.profiling import ProfileLearner
from beam_ensembles.execution.drifts import Drift
from beam_ensembles.execution.input_watch import EVERY, FIRST_ROWS, WINDOW, InputWatch
from beam_ensembles.execution.node_metrics import Update
from beam_ensembles.graph.profile import Profile, as_text, read_profile
from beam_ensembles.types import parse_type

TYPES = {
    "normal": "double", "uniform": "float", "lognormal": "double", "count": "int64", "constant": "double",
    "rare": "boolean", "letter": "string", "zipf": "string", "identifier": "string", "gaps": "double?",
    "tensor": "array<double>[3]", "list": "array<double>", "missing": "string?",
}  # fmt: skip
_ZIPF = 1 / np.arange(1, 151)


def columns(random: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    letters = np.array(list("abcdef"), object)
    towns = np.array([f"town {at}" for at in range(150)], object)
    return {
        "normal": random.normal(size=rows),
        "uniform": random.random(rows).astype(np.float32),
        "lognormal": np.exp(random.normal(size=rows)),
        "count": random.poisson(2, rows),
        "constant": np.full(rows, 3.0),
        "rare": random.random(rows) < 0.03,
        "letter": letters[random.integers(0, 6, rows)],
        "zipf": towns[random.choice(150, rows, p=_ZIPF / _ZIPF.sum())],
        "identifier": np.array([f"{one:x}" for one in random.integers(0, 1 << 40, rows)], object),
        "gaps": random.normal(size=rows),
        "gaps?": random.random(rows) > 0.05,
        "tensor": random.normal(size=(rows, 3)),
        "list": np.fromiter((random.normal(size=4) for _ in range(rows)), object, rows),
        "missing": letters[random.integers(0, 2, rows)],
        "missing?": random.random(rows) > 0.2,
    }


def batch(found: Mapping[str, np.ndarray]) -> ColumnBatch:
    return ColumnBatch(np.arange(len(next(iter(found.values())))), dict(found))


def learned(found: Mapping[str, np.ndarray], types: Mapping[str, str] = TYPES) -> Profile:
    """Returns the profile of rows, as it is read back from its file."""
    learner = ProfileLearner("e", ((name, parse_type(type_)) for name, type_ in types.items()))
    learner.add(batch(found))
    return read_profile(as_text(learner.profile()).encode())


def watched(profile: Profile, found: Mapping[str, np.ndarray], size: int = 700) -> tuple[Drift, ...]:
    watch = InputWatch("e", profile, frozenset(profile.columns), lambda _: None)
    rows = len(next(iter(found.values())))
    for at in range(0, rows, size):
        watch.add(batch({name: values[at : at + size] for name, values in found.items()}))
    return watch.finish()


@pytest.fixture(scope="module")
def profile() -> Profile:
    return learned(columns(np.random.default_rng(1), 20_000))


@pytest.mark.parametrize("known", [5, 20, 60, 200, 2_000])
def test_clean_rows_raise_no_alarm(known: int) -> None:
    runs = 12  # of 13 inputs each; 100 runs of each size were tried by hand, and none raised one
    for run in range(runs):
        random = np.random.default_rng([known, run])
        assert watched(learned(columns(random, known)), columns(random, 3_000)) == ()


def test_a_long_clean_run_raises_no_alarm(profile: Profile) -> None:
    random = np.random.default_rng(2)
    assert watched(profile, columns(random, 60_000), 4_000) == ()


@pytest.mark.parametrize("start", [0, 700, 5_400])
@pytest.mark.parametrize("name", ["normal", "uniform", "lognormal", "count", "gaps", "tensor", "list"])
def test_a_shift_of_one_standard_deviation_is_found_within_5_000_rows(
    profile: Profile, name: str, start: int
) -> None:
    random = np.random.default_rng(3)
    found = columns(random, start + 5_000)
    deviation = np.std(np.stack(found[name].tolist())) if name != "list" else 0.5
    shift = np.zeros(start + 5_000)
    shift[start:] = deviation
    values = found[name]
    if name == "list":
        moved = np.fromiter((one + by for one, by in zip(values, shift, strict=True)), object, len(values))
    else:
        moved = values + (shift[:, None] if values.ndim == 2 else shift)
    (drift,) = watched(profile, {**found, name: moved})
    assert drift.column == name
    assert drift.rows_before >= start - WINDOW * EVERY


def test_a_profile_of_200_rows_finds_it_too() -> None:
    for run in range(20):
        random = np.random.default_rng([8, run])
        profile = learned({"x": random.normal(size=200)}, {"x": "double"})
        start = int(random.integers(0, 8_000))
        values = random.normal(size=start + 5_000)
        values[start:] += 1
        (drift,) = watched(profile, {"x": values})
        assert drift.rows_before >= start - WINDOW * EVERY


def changed(name: str, found: dict[str, np.ndarray], at: slice, value: Any) -> dict[str, np.ndarray]:
    values = found[name].copy()
    values[at] = value
    return {**found, name: values}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("letter", "A", "50.0 % in categories that the profile does not know, such as 'A'"),
        ("gaps?", False, "null: 5"),
        ("missing?", False, "null: "),
        ("normal", np.nan, "not a number: 50.0 %, learned 0.0 %"),
        ("normal", np.inf, "50.0 % above the largest learned, "),
        ("lognormal", -1.0, "50.0 % below the smallest learned, "),
        ("constant", 0.0, "50.0 % below the smallest learned, 3"),
        ("rare", True, "'true': 5"),
    ],
)
def test_it_says_what_was_learned_and_what_was_seen(
    profile: Profile, name: str, value: Any, said: str
) -> None:
    found = changed(name, columns(np.random.default_rng(4), 500), slice(0, None, 2), value)
    (drift,) = watched(profile, found)
    assert drift.column == name.removesuffix("?")
    assert said in drift.text


def test_a_position_of_a_tensor_is_named(profile: Profile) -> None:
    found = columns(np.random.default_rng(5), 1_000)
    found["tensor"][:, 1] *= 10
    (drift,) = watched(profile, found)
    assert (drift.column, drift.name, drift.windows) == ("tensor", "tensor[1]", 2)


def test_metrics_count_what_the_profile_does_not_know() -> None:
    random = np.random.default_rng(6)
    types = {"x": "double?", "c": "string"}
    rows = 2 * WINDOW
    found = {
        "x": random.random(rows),
        "x?": np.arange(rows) % 10 > 0,
        "c": np.array(["a", "b"], object)[random.integers(0, 2, rows)],
    }
    profile = learned(found, types)
    found["x"][1:5:2] = 7.0
    found["c"][:3] = "z"
    updates: list[Update] = []
    watch = InputWatch("e", profile, frozenset(types), updates.append)
    watch.add(batch(found))
    totals: dict[tuple[str, str], int] = {}
    for type_, namespace, name, value in updates:
        if type_ == "counter":
            totals[namespace, name] = totals.get((namespace, name), 0) + value
    assert totals == {
        ("e/inputs.x", "compared_rows"): rows,
        ("e/inputs.x", "null_rows"): rows // 10,
        ("e/inputs.x", "out_of_range_values"): 2,
        ("e/inputs.c", "compared_rows"): rows,
        ("e/inputs.c", "unseen_values"): 3,
    }
    assert sum(name == "population_stability_index_millionths" for _, _, name, _ in updates) == 4


def test_later_rows_are_sampled(profile: Profile) -> None:
    compared = 0

    def write(update: Update) -> None:
        nonlocal compared
        if update[1:3] == ("e/inputs.normal", "compared_rows"):
            compared += update[3]

    watch = InputWatch("e", profile, frozenset(["normal"]), write)
    for _ in range(80):
        watch.add(batch({"normal": np.zeros(100)}))
    assert compared == FIRST_ROWS + (8_000 - FIRST_ROWS) // EVERY


def test_a_profile_of_nulls_alone_knows_no_number() -> None:
    profile = learned({"x": np.zeros(300), "x?": np.zeros(300, np.bool_)}, {"x": "double?"})
    assert watched(profile, {"x": np.zeros(300), "x?": np.zeros(300, np.bool_)}) == ()
    (drift,) = watched(profile, {"x": np.ones(300)})
    assert drift.text == "median 1, learned no finite number; null: 0.0 %, learned 100.0 %"


def test_a_watched_row_costs_little(profile: Profile) -> None:
    random = np.random.default_rng(7)
    found = {name: random.normal(size=4_096) for name in "abcd"}
    watch = InputWatch(
        "e", learned(found, dict.fromkeys("abcd", "double")), frozenset("abcd"), lambda _: None
    )
    batches = [batch(found)] * 25

    def seconds() -> Iterator[float]:
        for _ in range(5):
            start = time.thread_time()
            for one in batches:
                watch.add(one)
            yield time.thread_time() - start

    # 0.05 microseconds per row were measured, where the light benchmark takes 1.6 in its models alone; there is room
    # for a slow machine.
    assert min(seconds()) / (25 * 4_096) < 0.5e-6


def test_the_file_is_small_and_readable(profile: Profile) -> None:
    text = as_text(profile)
    assert len(text) < 12_000
    assert list(json.loads(text)["columns"]) == list(TYPES)
    assert json.loads(text)["columns"]["identifier"] == {"type": "string", "rows": 20_000, "nulls": 0}
