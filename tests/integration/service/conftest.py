"""What the tests of the running service share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.service import RunningService, running_service


@pytest.fixture(scope="session")
def service() -> Iterator[RunningService]:
    """Returns a service with loopback workers; no test ends it."""
    with running_service("--serve-loopback-worker") as running:
        yield running
