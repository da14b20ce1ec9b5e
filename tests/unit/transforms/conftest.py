"""The iris ensemble, trained once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.iris import make_ensemble


@pytest.fixture(scope="session")
def iris(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of ``iris.yaml``, its models beside it."""
    return make_ensemble(tmp_path_factory.mktemp("iris"))
