"""What nothing uses of a machine: measured on this one, and on those that files describe."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import pytest

from beam_ensembles.processes import spare_cores
from beam_ensembles.processes.spare_cores import SpareCores, cores_of_group, idle_seconds

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders that stand for ``/proc`` and ``/sys/fs/cgroup``: 100 MiB of 10,000 are this process's."""
    for name in ("_PROC", "_GROUPS"):
        monkeypatch.setattr(spare_cores, name, tmp_path)
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "statm").write_text(f"9999 {100 * MIB // PAGE} 1 1 0 1 0\n")
    (tmp_path / "meminfo").write_text("MemTotal:  99999999 kB\nMemAvailable:   10240000 kB\n")
    return tmp_path


def measured(used: float, idle: float) -> SpareCores:
    """Returns what was measured where so many cores are used by this process, and by nothing."""
    found = SpareCores()
    found.seconds, found._used, found._idle = 10.0, 10 * used, 10 * idle
    return found


@pytest.mark.parametrize(
    ("used", "idle", "processes"),
    [
        (1.0, 1.0, 2),  # Python's lock keeps a process to one of two cores
        (1.0, 0.05, 1),  # the other one works for somebody else
        (2.0, 0.0, 1),  # the models' own threads keep both busy
        (1.5, 0.5, 2),  # they do for half of the time
        (1.0, 15.0, 16),
        (8.0, 8.0, 2),
        (0.0, 1.0, 5),  # it waits for others: not without end
    ],
)
def test_as_many_processes_as_keep_the_cores_busy(
    machine: Path, used: float, idle: float, processes: int
) -> None:
    assert measured(used, idle).processes() == processes


@pytest.mark.parametrize(
    ("used", "idle", "processes"), [(1.9, 0.0, 2), (1.6, 0.0, 2), (1.0, 0.2, 1), (7.6, 0.5, 8), (0.5, 0.0, 1)]
)
def test_as_many_processes_as_it_uses_cores_by_its_threads(
    machine: Path, used: float, idle: float, processes: int
) -> None:
    assert measured(used, idle).processes_of_one_core() == processes


def test_nothing_measured_is_one_process() -> None:
    assert SpareCores().processes() == 1


def test_a_machine_that_says_nothing_has_nothing_to_spare(machine: Path) -> None:
    (machine / "meminfo").unlink()
    assert measured(1.0, 7.0).processes() == 1
    assert idle_seconds() == 0.0


def test_memory_limits_them(machine: Path) -> None:
    (machine / "meminfo").write_text("MemAvailable:   640000 kB\n")
    assert measured(1.0, 15.0).processes() == 3


@pytest.mark.parametrize("version", [1, 2])
def test_a_containers_limits_count(machine: Path, version: int) -> None:
    names = {
        1: ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
        2: ("memory.max", "memory.current", "memory.stat"),
    }[version]
    stat = "anon 1\n" + ("total_inactive_file" if version == 1 else "inactive_file") + f" {200 * MIB}\n"
    for name, text in zip(names, (f"{1_000 * MIB}\n", f"{400 * MIB}\n", stat), strict=True):
        (machine / name).parent.mkdir(exist_ok=True)
        (machine / name).write_text(text)
    assert measured(1.0, 15.0).processes() == 4  # half of 800 MiB
    if version == 2:
        (machine / "cpu.max").write_text("250000 100000\n")
    else:
        (machine / "cpu").mkdir()
        (machine / "cpu" / "cpu.cfs_quota_us").write_text("250000\n")
        (machine / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert cores_of_group() == 2.5
    assert measured(1.0, 15.0).processes() == 3


@pytest.mark.parametrize("text", ["max 100000\n", "-1\n", ""])
def test_no_limit_is_none(machine: Path, text: str) -> None:
    (machine / "cpu.max").write_text(text)
    (machine / "memory.max").write_text(text)
    assert cores_of_group() == math.inf
    assert measured(1.0, 1.0).processes() == 2


def test_only_the_cores_of_this_process_count(machine: Path) -> None:
    own = min(os.sched_getaffinity(0))
    other = max(os.sched_getaffinity(0)) + 1
    rest = "0 0 0 0 0"
    (machine / "stat").write_text(
        f"cpu 1 1 1 {99 * TICK} 0 {rest}\ncpu{own} 1 1 1 {2 * TICK} {TICK} {rest}\n"
        f"cpu{other} 1 1 1 {50 * TICK} 0 {rest}\nctxt 1\n"
    )
    assert idle_seconds() == 3.0


def test_work_is_measured_and_short_work_passed_over() -> None:
    found = SpareCores()
    with found.measured(), found.measured():  # of two threads
        time.sleep(0.05)
    assert 0.05 <= found.seconds < 1.0
    assert found._used < found.seconds
    before = found.seconds
    with found.measured():
        pass
    with found.measured():  # is not looked at
        time.sleep(0.02)
    assert found.seconds == before


def test_work_of_threads_that_never_stop_together_is_measured_too() -> None:
    found = SpareCores()
    with found.measured(1):
        for _ in range(3):
            with found.measured(10):
                time.sleep(0.02)
        assert found.items == 30
        assert 0.06 <= found.seconds < 2.0
    assert found.items_per_second == pytest.approx(found.items / found.seconds)
    found.forget()
    assert (found.items, found.items_per_second) == (0, 0.0)
