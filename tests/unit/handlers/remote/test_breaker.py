"""A server that is down is not waited for with every batch, and is asked again after a while."""

from __future__ import annotations

import pytest

from beam_ensembles.errors import BatchFailed, NodeError
from beam_ensembles.handlers.remote.breaker import FIRST_SECONDS, LONGEST_SECONDS, Breaker

DOWN = BatchFailed("server_unreachable", "s does not answer")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def fail(breaker: Breaker, error: Exception = DOWN) -> bool:
    """Returns whether the failed call was made as a trial."""
    found: list[bool] = []

    def call() -> None:
        with breaker.guard() as is_trial:
            found.append(is_trial)
            raise error

    with pytest.raises(type(error)):
        call()
    return found[0]


def refused(breaker: Breaker) -> str:
    called = False
    with pytest.raises(BatchFailed) as caught, breaker.guard():
        called = True
    assert not called
    return caught.value.message


def test_calls_are_refused_until_the_time_is_over() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    assert not fail(breaker)
    assert refused(breaker) == "s does not answer; it is asked again in 5 s"
    clock.now += FIRST_SECONDS
    with breaker.guard() as is_trial:
        assert is_trial
    with breaker.guard() as is_trial:
        assert not is_trial


def test_each_failed_trial_doubles_the_time_up_to_a_limit() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    fail(breaker)
    waits = [FIRST_SECONDS]
    for _ in range(6):
        clock.now += waits[-1]
        assert fail(breaker)
        waits.append(min(2 * waits[-1], LONGEST_SECONDS))
        clock.now += waits[-1] - 0.01
        refused(breaker)
        clock.now -= waits[-1] - 0.01


def test_calls_under_way_do_not_prolong_it() -> None:
    clock = Clock()
    breaker = Breaker(clock)

    def under_way() -> None:
        with breaker.guard():
            fail(breaker)
            clock.now += 1
            raise DOWN

    with pytest.raises(BatchFailed):
        under_way()
    clock.now += FIRST_SECONDS - 1
    with breaker.guard() as is_trial:
        assert is_trial


@pytest.mark.parametrize("error", [NodeError("model_error", "x"), BatchFailed("server_refused", "x")])
def test_an_error_that_the_server_says_is_an_answer(error: NodeError) -> None:
    breaker = Breaker(Clock())
    fail(breaker, error)
    with breaker.guard() as is_trial:
        assert not is_trial
