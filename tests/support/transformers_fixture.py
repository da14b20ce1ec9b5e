"""Models of transformers for the tests of a folder, whose conftest takes ``models`` from here; there is no hub."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.transformers_models import Models

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the hub's library is imported


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """Creates tiny models, each when a test first asks for it."""
    pytest.importorskip("transformers")
    from tests.support.transformers_models import Models

    return Models(tmp_path_factory.mktemp("transformers"))
