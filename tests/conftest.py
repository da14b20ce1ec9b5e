"""Fixtures that tests of several folders use."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator

import hypothesis
import pytest
from hypothesis.database import DirectoryBasedExampleDatabase

from scripts.temporary import own_temporary_folder
from tests.support.prism import running_prism

# The same examples on every run: what is red for one person is red for all.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
# Other examples on every run, the smallest failing ones kept: for make fuzz.
_KEPT = DirectoryBasedExampleDatabase("build/fuzz/examples")
hypothesis.settings.register_profile(
    "fuzz", derandomize=False, deadline=None, database=_KEPT, print_blob=True
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure(config: pytest.Config) -> None:
    """Beam leaves folders behind; pytest looks after its own, and keeps those of tests that failed."""
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    until_the_end = contextlib.ExitStack()
    until_the_end.enter_context(own_temporary_folder())
    config.add_cleanup(until_the_end.close)


@pytest.fixture(scope="session")
def prism() -> Iterator[str]:
    """The address of the job service of a Prism."""
    with running_prism() as address:
        yield address
