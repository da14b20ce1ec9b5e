"""How long is waited before a call is made again."""

from __future__ import annotations

import email.utils
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.handlers.support.waits import FIRST_WAIT, LONGEST_WAIT, asked_wait, wait_before


@given(st.integers(0, 10_000))
def test_waits_grow_and_differ(retry: int) -> None:
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(retry, 20))
    assert longest / 2 <= wait_before(retry) <= longest
    assert len({wait_before(retry) for _ in range(5)}) > 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0),
    ],
)
def test_what_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers) == seconds


def test_a_date_to_wait_for() -> None:
    date = email.utils.formatdate(time.time() + 60, usegmt=True)
    assert asked_wait({"retry-after": date}) == pytest.approx(60, abs=2)


@given(st.text())
def test_any_header_is_read_or_left(text: str) -> None:
    found = asked_wait({"retry-after": text, "retry-after-ms": text})
    assert found is None or found >= 0
