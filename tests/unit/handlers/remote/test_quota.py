"""No window has more calls or tokens than a quota allows, whoever makes them, and nearly all of it is used."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beam_ensembles.errors import EnsembleError
from beam_ensembles.handlers.remote.quota import WINDOW, Quota, Rate, Ticket
from beam_ensembles.handlers.remote.shared_numbers import VARIABLE, SharedNumbers

MINUTE = 60.0


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def most_in(times: Sequence[tuple[float, int]], seconds: float) -> tuple[int, int]:
    """Returns the most calls, and the most tokens, of all windows of so many seconds."""
    times = sorted(times)
    inside = [[size for at, size in times if start <= at < start + seconds] for start, _ in times]
    return max(map(len, inside)), max(map(sum, inside))


def taken(quota: Quota, clock: Clock, tokens: int) -> Ticket:
    while not isinstance(found := quota.take(tokens), Ticket):
        assert found > 0
        clock.now += found
    return found


@settings(max_examples=30, deadline=None)
@given(
    requests=st.integers(1, 40),
    most=st.integers(1, 2_000),
    calls=st.lists(st.tuples(st.floats(0, 3), st.integers(0, 500)), min_size=1, max_size=120),
)
def test_no_minute_has_more_than_the_quota(requests: int, most: int, calls: list[tuple[float, int]]) -> None:
    clock = Clock()
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict("os.environ", {VARIABLE: f"{folder}/state"}),
    ):
        quotas = [Quota(("server", "model"), Rate(requests, most), clock=clock) for _ in range(3)]
        made = []
        for at, (pause, tokens) in enumerate(calls):
            clock.now += pause
            ticket = taken(quotas[at % 3], clock, tokens)
            made.append((ticket.at, min(tokens, most)))
    count, used = most_in(made, MINUTE)
    assert count <= requests
    assert used <= most


def test_a_quota_is_used(state: Path) -> None:
    clock = Clock()
    quota, start = Quota(("s",), Rate(requests=20), clock=clock), clock.now
    while clock.now < start + 10 * MINUTE:
        last = taken(quota, clock, 0)
        count = 0
        while last.at < start + 10 * MINUTE:
            count += 1
            last = taken(quota, clock, 0)
    assert count >= 0.95 * 20 * 10


def test_what_a_call_took_replaces_what_it_might_have_taken(state: Path) -> None:
    clock = Clock()
    quota = Quota(("s",), Rate(tokens=100), clock=clock)
    first = taken(quota, clock, 80)
    assert isinstance(quota.take(50), float)
    quota.correct(first, 30)
    second = quota.take(50)
    assert isinstance(second, Ticket)
    assert isinstance(quota.take(30), float)
    clock.now += 2 * WINDOW
    quota.correct(second, 0)  # long forgotten
    assert isinstance(quota.take(100), Ticket)


def test_quotas_of_other_servers_are_others(state: Path) -> None:
    clock = Clock()
    taken(Quota(("s", "m"), Rate(requests=1), clock=clock), clock, 0)
    assert isinstance(Quota(("s", "n"), Rate(requests=1), clock=clock).take(), Ticket)
    assert isinstance(Quota(("s", "m"), Rate(requests=1), clock=clock).take(), float)


def test_what_was_used_before_the_machine_started_is_forgotten(state: Path) -> None:
    clock = Clock()
    taken(Quota(("s",), Rate(requests=1), clock=clock), clock, 0)
    clock.now = 5.0
    assert isinstance(Quota(("s",), Rate(requests=1), clock=clock).take(), Ticket)


def test_four_processes_keep_one_quota(state: Path) -> None:
    window, seconds, requests = 2.0, 9.0, 40
    code = f"""
import time
from beam_ensembles.handlers.remote.quota import Quota, Rate
quota, end = Quota(("s", "m"), Rate({requests}), window={window}), time.monotonic() + {seconds}
print("ready", flush=True)
input()
while time.monotonic() < end + 60:
    ticket = quota.wait()
    print(ticket.at, flush=True)
"""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdin is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    time.sleep(seconds)
    times = []
    for worker in workers:
        worker.kill()
        found, _ = worker.communicate()
        times.append([float(line) for line in found.splitlines(keepends=True) if line.endswith("\n")])
    assert all(times)  # nobody starved
    made = sorted(at for one in times for at in one)
    scaled = window * MINUTE / WINDOW
    assert most_in([(at, 0) for at in made], scaled)[0] <= requests
    whole = int((made[-1] - made[0]) / scaled)
    assert whole >= 3
    assert sum(at < made[0] + whole * scaled for at in made) >= 0.95 * requests * whole


def test_files_are_the_users_alone(state: Path) -> None:
    with SharedNumbers(("a",), (3,)).locked() as numbers:
        numbers[1] = 7
    with SharedNumbers(("a",), (3,)).locked() as numbers:
        assert numbers.tolist() == [0, 7, 0]
    (file,) = state.iterdir()
    assert (state.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    file.write_bytes(b"cut")
    with SharedNumbers(("a",), (3,)).locked() as numbers:
        assert numbers.shape == (3,)


def test_a_folder_of_others_is_refused(state: Path) -> None:
    state.mkdir(mode=0o777)
    state.chmod(0o777)
    with pytest.raises(
        EnsembleError, match=r"only you can change; name another one in \$BEAM_ENSEMBLES_STATE"
    ):
        SharedNumbers(("a",), (3,))
