"""What the tests of the service share."""

from __future__ import annotations

import pytest
from apache_beam.coders.coders import Coder

from beam_ensembles.beam_repairs import row_coder
from beam_ensembles_service.requests.environment import workers_of
from beam_ensembles_service.requests.servicer import EnsembleExpansionServicer
from beam_ensembles_service.settings import Settings

WORKER_PORT = 50123


@pytest.fixture
def installed_row_coder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installs the service's row coder in this process for one test."""
    monkeypatch.setattr(Coder, "_known_urns", dict(Coder._known_urns))
    row_coder.install()


@pytest.fixture
def servicer(installed_row_coder: None) -> EnsembleExpansionServicer:
    """Returns a servicer whose workers are on this machine."""
    return EnsembleExpansionServicer(workers_of(Settings(serve_loopback_worker=True), WORKER_PORT))
