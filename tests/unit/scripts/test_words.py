"""The check of wording finds what it is for, and leaves names and code alone."""

from __future__ import annotations

import pytest

from scripts.words import found_in


@pytest.mark.parametrize(
    "line",
    [
        "A dear model runs last.",
        "The new file in place of the old one.",
        "It is loaded once a worker.",
        "Ten rows a second.",
        "Who asks gets nothing.",
        '    """Gives the rows back."""',
        '"""What is left of the rate."""',
    ],
)
def test_wording_that_is_read_twice(line: str) -> None:
    ((number, _, _),) = found_in(f"A heading\n{line}\n")
    assert number == 2


@pytest.mark.parametrize(
    "line",
    [
        "An expensive model runs last, once per worker.",
        "The code `in place of` is quoted.",
        "Copies a bundle, and knows who asks.",
        '"""Returns the rows."""',
    ],
)
def test_plain_wording(line: str) -> None:
    assert list(found_in(line)) == []
