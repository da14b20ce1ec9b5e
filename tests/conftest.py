"""Fixtures that tests of several folders use."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator

import pytest

from beam_ensembles.processes.fork_client import CAN_FORK, OwnForkServer
from scripts.program import own_temporary_folder
from tests.support.prism import running_prism
from tests.support.processes import forked_from, start_fork_server


def _settle_hypothesis() -> None:
    """Sets up property tests, where hypothesis is installed: a machine that runs ``tests/gpu`` alone may lack it."""
    try:
        import hypothesis
        from hypothesis.database import DirectoryBasedExampleDatabase
    except ImportError:
        return
    # The same examples on every run: what is red for one person is red for all.
    hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
    # Other examples on every run, the smallest failing ones kept: for make fuzz.
    kept = DirectoryBasedExampleDatabase("build/fuzz/examples")
    hypothesis.settings.register_profile(
        "fuzz", derandomize=False, deadline=None, database=kept, print_blob=True
    )
    hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


_settle_hypothesis()


def pytest_configure(config: pytest.Config) -> None:
    """Sets up what all tests need."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A shell has what it runs in the background ignore it, and so would all that tests start and interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Beam leaves folders behind; pytest looks after its own, and keeps those of tests that failed.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    until_the_end = contextlib.ExitStack()
    until_the_end.enter_context(own_temporary_folder())
    config.add_cleanup(until_the_end.close)


@pytest.fixture(scope="session")
def prism() -> Iterator[str]:
    """The address of the job service of a Prism."""
    with running_prism() as address:
        yield address


@pytest.fixture(scope="session")
def fork_server() -> Iterator[OwnForkServer | None]:
    """What processes of tests are forked from; none where the system cannot fork."""
    server = start_fork_server() if CAN_FORK else None
    yield server
    if server is not None:
        server.stop()


@pytest.fixture
def forked_children(fork_server: OwnForkServer | None) -> Iterator[None]:
    """Fork the processes that a test starts, as the workers of a pool do, where the system can."""
    with contextlib.nullcontext() if fork_server is None else forked_from(fork_server):
        yield
