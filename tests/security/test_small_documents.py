"""Locks, profiles and calibrations that contradict themselves: each is one sentence, wherever it is read."""

from __future__ import annotations

import contextlib
import copy
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import strategies as st

from beam_ensembles.cli.main import main
from beam_ensembles.functions.calibrators import CalibrationError, read_calibration
from beam_ensembles.graph.profile import ProfileError, read_profile
from beam_ensembles.locks.lock_text import BadLock, parse_lock
from tests.support.fuzzing import EXAMPLES, fuzz

_ENSEMBLE: Final = """\
ensemble: e
inputs: {a: double, b: double}
nodes:
  m: {combine: mean, inputs: [a, b], outputs: {m: double}}
"""
_LARGE: Final = 10**400
"""A number of JSON and YAML that is no double."""
_ODD: Final = (
    None, True, False, 0, -1, 1, 1.5, _LARGE, -_LARGE, float("nan"), float("inf"), 1e308, "", "x", "\x1b[31m", [],
    {}, [[]], [None], {"a": None}, "array<double>[99999999999]", "array<" * 40, 2**63,
)  # fmt: skip
_CALIBRATIONS: Final = (
    {"method": "temperature", "temperature": 2.0},
    {"method": "platt", "classes": 3, "a": [1.0, 1.0, 2.0], "b": [0.5, 0.1, 0.2]},
    {"method": "isotonic", "classes": 2, "x": [[0.1, 0.5]], "y": [[0.0, 1.0]]},
)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


@st.composite
def changed(draw: st.DrawFn, data: Any) -> Any:
    """A document in which a value is another one, is not there, or is at another key."""
    *path, key = draw(st.sampled_from([one for one in places(data) if one]))
    found = copy.deepcopy(data)
    held = found
    for step in path:
        held = held[step]
    how = draw(st.sampled_from(("value", "value", "gone", "key")))
    if how == "value" or not isinstance(held, dict):
        held[key] = draw(st.sampled_from(_ODD))
    else:
        value = held.pop(key)
        if how == "key":
            held[draw(st.sampled_from(("zz", "\x1b[31m", "m.m", "a" * 5_000)))] = value
    return found


def call(*arguments: str) -> tuple[int, str]:
    """Calls a verb as the command line does; any exception but an exit is a failure of the test."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            code = main([*arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, said.getvalue()


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locked")
    (folder / "m.yaml").write_text(_ENSEMBLE)
    rows = "".join(json.dumps({"a": at / 2, "b": at / 4}) + "\n" for at in range(20))
    (folder / "rows.jsonl").write_text(rows)
    assert call("lock", str(folder / "m.yaml"), "--rows", str(folder / "rows.jsonl"))[0] == 0
    profile = str(folder / "profile.json")
    rows_of = ("--input", str(folder / "rows.jsonl"), "--profile", profile)
    assert call("evaluate", str(folder / "m.yaml"), *rows_of)[0] == 0
    (folder / "lock.json").write_text(json.dumps(yaml.safe_load((folder / "m.lock.yaml").read_text())))
    return folder


@fuzz(st.data(), examples=EXAMPLES // 3)
def test_a_lock_that_lies_is_one_sentence(locked: Path, data: st.DataObject) -> None:
    lock = data.draw(changed(json.loads((locked / "lock.json").read_text())))
    (locked / "m.lock.yaml").write_text(json.dumps(lock))
    for verb in (("check",), ("diff", str(locked / "m.lock.yaml"))):
        code, said = call(*verb, str(locked / "m.yaml"))
        assert code in (0, 1)
        assert "Traceback" not in said
        assert "\x1b[31m" not in said


def test_a_lock_that_names_other_golden_rows_is_one_sentence(locked: Path) -> None:
    lock = json.loads((locked / "lock.json").read_text())
    lock["nodes"]["other"] = lock["nodes"].pop("m")
    (locked / "m.lock.yaml").write_text(json.dumps(lock))
    code, said = call("check", str(locked / "m.yaml"))
    assert code == 1
    assert "the rows have no field 'other.m', which the lock names; lock again" in said


@pytest.mark.parametrize("tolerance", [_LARGE, -1, float("nan"), float("inf")])
def test_a_tolerance_is_a_finite_number(tolerance: float, locked: Path) -> None:
    """An infinite one would take every answer for the same."""
    lock = json.loads((locked / "lock.json").read_text())
    lock["golden"]["tolerance"] = {"m": tolerance}
    with pytest.raises(BadLock, match=r"damaged at 'golden\.tolerance\.m'"):
        parse_lock(yaml.safe_dump(lock), "m.lock.yaml")


@fuzz(st.data(), examples=EXAMPLES // 3)
def test_a_profile_that_lies_is_one_sentence(locked: Path, data: st.DataObject) -> None:
    profile = data.draw(changed(json.loads((locked / "profile.json").read_text())))
    with contextlib.suppress(ProfileError):
        read_profile(json.dumps(profile).encode())


@fuzz(st.data(), examples=EXAMPLES // 3)
def test_a_calibration_that_lies_is_one_sentence(tmp_path_factory: Any, data: st.DataObject) -> None:
    _read(tmp_path_factory.getbasetemp(), data.draw(changed(data.draw(st.sampled_from(_CALIBRATIONS)))))


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found[0].update(temperature=_LARGE),
        lambda found: found[1]["a"].append(found[1]["a"].pop() * _LARGE),
        lambda found: found[2]["x"].append([_LARGE, _LARGE]),
    ],
)
def test_a_calibration_with_a_number_that_is_no_double(change: Callable[[Any], Any], tmp_path: Path) -> None:
    calibrations = copy.deepcopy([*_CALIBRATIONS])
    calibrations[1]["a"] = [1, 1, 2]
    change(calibrations)
    assert sum(not _read(tmp_path, one) for one in calibrations) == 1


def _read(folder: Path, calibration: Any) -> bool:
    (folder / "calibration.json").write_text(json.dumps(calibration))
    try:
        read_calibration(str(folder / "calibration.json"))
    except CalibrationError:
        return False
    return True
