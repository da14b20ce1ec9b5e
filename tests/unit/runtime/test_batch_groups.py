"""Record batches of a bundle that are scored at one time: the answers are those of one after another."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from apache_beam.transforms.window import FixedWindows, GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from beam_ensembles.graph.core_use import batches_beside
from beam_ensembles.graph.planning import plan
from beam_ensembles.processes.cores import Cores
from beam_ensembles.runtime import batch_groups
from beam_ensembles.runtime.arrow_source import ArrowResult
from beam_ensembles.runtime.batch_groups import Group, GroupBatches, GroupScoring
from beam_ensembles.runtime.loading import graph_of_file
from tests.support.patience import SECONDS


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Cores]:
    """Returns so many cores, and has every group count as a long one."""
    monkeypatch.setattr(batch_groups, "WORTH_NANOSECONDS", -1)
    return Cores


def grouped(dofn: GroupBatches, elements: list[WindowedValue]) -> list[WindowedValue]:
    dofn.setup()
    dofn.start_bundle()
    found = [made for element in elements for made in dofn.process(element.value, element)]
    return [*found, *dofn.finish_bundle()]


def timed(value: Any, seconds: int, *windows: Any) -> WindowedValue:
    return WindowedValue(value, seconds, windows or (GlobalWindow(),))


def test_a_bundle_is_parted_into_groups_of_two_a_core() -> None:
    found = grouped(GroupBatches(cores=2), [timed(b"%d" % at, at) for at in range(9)])
    assert [value.value.items for value in found] == [
        [b"0", b"1", b"2", b"3"],
        [b"4", b"5", b"6", b"7"],
        [b"8"],
    ]
    assert [int(value.timestamp) for value in found] == [0, 4, 8]


def test_on_one_core_nothing_waits() -> None:
    dofn = GroupBatches(cores=1)
    dofn.setup()
    dofn.start_bundle()
    (found,) = dofn.process(b"0", timed(b"0", 0))
    assert found.value.items == [b"0"]


def test_a_group_of_many_bytes_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_groups, "BYTES", 10)
    found = grouped(GroupBatches(cores=2), [timed(b"12345", at) for at in range(5)])
    assert [len(value.value) for value in found] == [2, 2, 1]


def test_windows_are_not_mixed_and_the_oldest_time_holds_the_watermark() -> None:
    one, two = (FixedWindows(60).assign(FixedWindows.AssignContext(seconds)) for seconds in (5, 65))
    elements = [timed(b"a", 9, *one), timed(b"b", 65, *two), timed(b"c", 5, *one)]
    found = grouped(GroupBatches(cores=2), elements)
    assert [(value.value.items, int(value.timestamp)) for value in found] == [([b"a", b"c"], 5), ([b"b"], 65)]
    assert [value.windows for value in found] == [tuple(one), tuple(two)]


def test_batches_meet_on_their_cores(cores: Callable[[int], Cores]) -> None:
    both = cores(2)
    meet = threading.Barrier(2, timeout=SECONDS)
    scoring = GroupScoring()

    def score(element: bytes, *, together: bool) -> ArrowResult:
        if together:
            meet.wait()
        return ArrowResult(element, None, None)

    group = Group([b"a", b"b"], [1, 2], ())
    for _ in range(2):
        scoring.each(lambda element: score(element, together=False), group, both)
    found = scoring.each(lambda element: score(element, together=True), group, both)
    assert ([result.ok for result in found.items], found.micros) == ([b"a", b"b"], [1, 2])


def test_where_no_core_is_idle_they_are_scored_one_after_another(cores: Callable[[int], Cores]) -> None:
    busy = cores(1)
    scoring, threads = GroupScoring(), set()

    def score(element: bytes) -> ArrowResult:
        threads.add(threading.current_thread())
        return ArrowResult(element, None, None)

    with busy.one_used():
        for _ in range(9):
            scoring.each(score, Group([b"a", b"b"], [1, 2], ()), busy)
    assert threads == {threading.current_thread()}


def test_answers_come_in_the_order_of_the_values() -> None:
    order = itertools.count()

    def task(value: int) -> tuple[int, int]:
        return value, next(order)

    found = Cores(4).each(task, range(100))
    assert [value for value, _ in found] == list(range(100))


@pytest.mark.parametrize("bad", [0, 5, 99])
def test_what_one_raises_is_raised_when_all_have_ended(bad: int) -> None:
    cores, running = Cores(4), set()

    def task(value: int) -> None:
        running.add(value)
        try:
            if value == bad:
                raise ValueError(f"no {value}")
        finally:
            running.discard(value)

    with pytest.raises(ValueError, match=f"no {bad}"):
        cores.each(task, range(100))
    assert not running
    assert cores.each(abs, [-1, 2]) == [1, 2]
    assert cores.has_spare


def test_nodes_of_batches_at_one_time_wait_for_nobody() -> None:
    cores = Cores(2)

    def batch(value: int) -> int:
        with cores.one_used():
            return cores.start(lambda: value).result(SECONDS)

    for _ in range(50):
        assert cores.each(batch, range(8)) == list(range(8))


def nodes_of(folder: Path, *nodes: str) -> Any:
    file = folder / "ensemble.yaml"
    file.write_text(
        'ensemble: e\ninputs: {x: "array<double>[4]"}\nnodes:\n' + "".join(map("  {}\n".format, nodes))
    )
    return plan(graph_of_file(file)).stages


PYTORCH = (
    "b: {model: pytorch, uri: network.pt, model_class: torch.nn.Identity, inputs: [x], outputs: {b: double}}"
)
SKLEARN = "a: {model: sklearn, uri: line.joblib, inputs: [x], outputs: {a: double}}"


@pytest.mark.parametrize(
    ("nodes", "worth"),
    [
        ((SKLEARN,), True),
        (("a: {apply: softmax, inputs: [x], outputs: {a: 'array<double>[4]'}}",), False),
        ((SKLEARN, PYTORCH), False),
        (
            (SKLEARN, SKLEARN.replace("a:", "b:", 1).replace("{a: double}}", "{b: double}, stage: own}")),
            False,
        ),
        ((SKLEARN.replace("a: double", "a: 'array<double>[1000]'"),), False),
    ],
    ids=["sklearn", "no model", "pytorch", "two stages", "large columns"],
)
def test_which_ensembles_have_groups(tmp_path: Path, nodes: tuple[str, ...], worth: bool) -> None:
    (tmp_path / "line.joblib").touch()
    pytest.importorskip("torch").save({}, tmp_path / "network.pt")
    assert batches_beside(nodes_of(tmp_path, *nodes)) == worth
