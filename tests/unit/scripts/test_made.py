"""Which files are made again, and which are not."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scripts.made import Made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_text("one", encoding="utf-8")
    return path


@pytest.fixture
def made(tmp_path: Path, source: Path) -> Made:
    (tmp_path / "product").touch()
    made = Made(tmp_path / "out" / "stamp", (tmp_path / "product",), lambda: [source])
    made.remember()
    return made


def test_what_was_made_from_the_same_sources_is_current(made: Made) -> None:
    assert made.current()


def test_a_changed_source_counts(made: Made, source: Path) -> None:
    source.write_text("two", encoding="utf-8")
    assert not made.current()


def test_a_missing_product_counts(made: Made) -> None:
    made.products[0].unlink()
    assert not made.current()


def test_what_is_forgotten_is_not_current(made: Made) -> None:
    made.forget()
    assert not made.current()


def test_what_is_current_is_not_made_again(made: Made) -> None:
    assert not made.make(lambda: pytest.fail("it is current"))


def test_what_is_made_is_current(made: Made, source: Path) -> None:
    source.write_text("two", encoding="utf-8")
    assert made.make(lambda: None)
    assert made.current()


def test_what_fails_is_made_again(made: Made) -> None:
    made.forget()
    with pytest.raises(ZeroDivisionError):
        made.make(lambda: 1 // 0)
    assert not made.current()


def test_what_two_want_at_one_time_is_made_once(made: Made) -> None:
    made.forget()
    made_by: list[str] = []

    def work() -> None:
        made_by.append("one")
        time.sleep(0.05)  # so that both would be at work

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(made.make, work) for _ in range(4)]
    assert sorted(one.result() for one in found) == [False, False, False, True]
    assert made_by == ["one"]
