"""Threads of nodes: as few as there are calls at one time, and all that a call does counts where it is waited for."""

from __future__ import annotations

import gc
import json
import logging
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from apache_beam.metrics import Metrics

from beam_ensembles import logs
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.metrics.local import counting
from beam_ensembles.processes.last_used_threads import LastUsed
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler
from tests.support.nodes import check_node
from tests.support.patience import SECONDS, wait_until

T = TypeVar("T")


def in_turn(count: int, task: Callable[[], T]) -> list[T]:
    """Runs a task in threads of its own, one after the other."""
    found: list[T] = []
    for _ in range(count):
        thread = threading.Thread(target=lambda: found.append(task()))
        thread.start()
        thread.join()
    return found


def test_one_call_after_another_from_any_thread_is_run_by_one_thread() -> None:
    threads = LastUsed()
    assert len(set(in_turn(5, lambda: threads.run(threading.get_ident)))) == 1


def test_calls_at_one_time_run_at_one_time() -> None:
    threads, both_are_here = LastUsed(), threading.Barrier(2, timeout=SECONDS)

    def task() -> int:
        both_are_here.wait()
        return threading.get_ident()

    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(threads.run, task) for _ in range(2))
        assert first.result() != second.result()


def test_a_call_from_one_of_the_threads_stays_in_it() -> None:
    threads = LastUsed()
    outer, inner = threads.run(lambda: (threading.get_ident(), threads.run(threading.get_ident)))
    assert outer == inner != threading.get_ident()


def test_a_call_from_a_thread_of_others_does_not_stay_in_it() -> None:
    threads, others = LastUsed(), LastUsed()
    outer, inner = others.run(lambda: (threading.get_ident(), threads.run(threading.get_ident)))
    assert outer != inner


def test_a_thread_that_nothing_needs_any_more_ends() -> None:
    threads, both_are_here = LastUsed(idle_seconds=0), threading.Barrier(2, timeout=SECONDS)

    def task() -> threading.Thread:
        both_are_here.wait()
        return threading.current_thread()

    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(threads.run, task) for _ in range(2))
        both = (first.result(), second.result())
    threads.run(int)
    wait_until(lambda: not all(thread.is_alive() for thread in both))
    assert any(thread.is_alive() for thread in both)


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)])
def test_what_a_call_raises_is_raised_where_it_is_waited_for(error: BaseException) -> None:
    threads = LastUsed()

    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        threads.run(fail)
    assert raised.value is error
    assert threads.run(lambda: 1) == 1


def test_a_call_logs_and_counts_where_it_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    threads = LastUsed()
    seen = []

    def task() -> None:
        seen.append(dict(logs.ABOUT.get()))
        Metrics.counter("e/n", "num_inferences").inc(3)

    with counting() as counted, logs.about("e", "n"), caplog.at_level(logging.INFO):
        threads.run(task)
    assert seen == [{"ensemble": "e", "node": "n"}]
    ((node,),) = (metrics.nodes for metrics in counted())
    assert node.num_inferences == 3


def test_nothing_of_a_call_is_kept() -> None:
    class Rows:
        pass

    threads, rows = LastUsed(), Rows()
    left = weakref.ref(rows)
    threads.run(lambda rows=rows: None)
    del rows
    gc.collect()
    assert left() is None


NODE: dict[str, Any] = {
    "model": "pytorch",
    "uri": "here.pt",
    "model_class": "tests.support.pytorch_models.Threads",
    "inputs": ["x"],
    "outputs": {"y": "array<int64>[2]"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch = pytest.importorskip("torch")
    torch.save({}, tmp_path / "here.pt")
    return tmp_path


def test_pytorch_is_loaded_and_called_in_one_thread(folder: Path) -> None:
    node = check_node(folder, {"x": "float"}, NODE)
    member = load_member(node, this_machine())

    def call() -> tuple[int, int]:
        loaded, called = member({"x": np.ones(1, np.float32)})["y"][0]
        return int(loaded), int(called)

    assert len({thread for found in in_turn(4, call) for thread in found}) == 1


def test_all_of_a_stage_that_needs_pytorch_runs_in_its_thread(folder: Path) -> None:
    before = {
        "apply": "python",
        "function": "tests.support.column_functions.threads",
        "inputs": ["x"],
        "outputs": {"own": "int64"},
    }
    spec = {"ensemble": "test", "inputs": {"x": "float"}, "nodes": {"before": before, "node": NODE}}
    file = folder / "test.json"
    file.write_text(json.dumps(spec))
    handler = EnsembleModelHandler(file)
    stage = handler.load_model()

    def score() -> set[int]:
        (found,) = handler.run_inference([{"x": 1.0}], stage)
        return {found.inference.own, *found.inference.y}

    assert len(set.union(*in_turn(4, score))) == 1
