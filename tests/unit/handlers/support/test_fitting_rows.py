"""How many rows of a node fit in memory at once: halved, remembered, tried again."""

from __future__ import annotations

import numpy as np
import pytest

from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.graph.kinds import Columns
from beam_ensembles.handlers.support.fitting_rows import FittingRows

OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {})


class Device:
    """A stand-in for a device whose memory holds so much: each row takes as much as its number."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.calls: list[int] = []
        self.work = 0

    def __call__(self, columns: Columns) -> Columns:
        self.calls.append(len(columns["x"]))
        self.work += len(columns["x"])
        if columns["x"].sum() > self.memory:
            raise OutOfMemoryError("CUDA out of memory.")
        return {"y": columns["x"] * 2}


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("memory", [1, 3, 100])
def test_a_batch_that_does_not_fit_is_halved_and_no_row_is_bad(rows: int, memory: int) -> None:
    x = np.ones(rows)
    columns, faults = run_split(Device(memory), {"x": x}, rows)
    assert not faults
    assert columns["y"].tolist() == (x * 2).tolist()


def test_rows_that_do_not_fit_alone_fail_alone() -> None:
    x = np.ones(300)
    x[[17, 200]] = 1_000
    device = Device(400)
    columns, faults = run_split(device, {"x": x}, 300)
    assert {at: error.code for at, error in faults.items()} == {17: "out_of_memory", 200: "out_of_memory"}
    assert "one row alone" in faults[17].message
    assert len(columns["y"]) == 298
    assert len(device.calls) < 60


def test_a_row_that_is_too_large_alone_limits_no_later_batch() -> None:
    fitting, device = FittingRows("node"), Device(400)
    x = np.ones(300)
    x[17] = 1_000
    run_split(device, {"x": x}, 300, fitting=fitting)
    assert fitting.most is None
    device.calls.clear()
    run_split(device, {"x": np.ones(300)}, 300, fitting=fitting)
    assert device.calls == [300]


def test_what_fits_is_remembered_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    fitting, device = FittingRows("node"), Device(20)
    run_split(device, {"x": np.ones(128)}, 128, fitting=fitting)
    assert device.calls == [128, 64, 32, *[16] * 8]
    assert "at most 16 at once" in caplog.text
    device.calls.clear()
    run_split(device, {"x": np.ones(64)}, 64, fitting=fitting)
    assert device.calls == [16] * 4


def test_it_grows_again_when_memory_is_free() -> None:
    fitting, device = FittingRows("node"), Device(20)
    run_split(device, {"x": np.ones(128)}, 128, fitting=fitting)
    device.memory = 10_000
    for _ in range(40):
        run_split(device, {"x": np.ones(128)}, 128, fitting=fitting)
    assert device.calls[-1] == 128


def test_the_work_is_at_most_a_third_more_than_without() -> None:
    fitting, device = FittingRows("node"), Device(20)
    for _ in range(100):
        _, faults = run_split(device, {"x": np.ones(128)}, 128, fitting=fitting)
        assert not faults
    assert device.work <= 1.3 * 100 * 128


def test_a_call_that_ran_out_is_not_made_again_before_it_is_halved() -> None:
    device = Device(2)
    run_split(device, {"x": np.ones(4)}, 4, retries=5)
    assert device.calls == [4, 2, 2]
