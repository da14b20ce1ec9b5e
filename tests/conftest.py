"""Fixtures that tests of several folders use."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from tests.support.prism import running_prism

# The same examples on every run: what is red for one person is red for all.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def prism() -> Iterator[str]:
    """The address of the job service of a Prism."""
    with running_prism() as address:
        yield address
