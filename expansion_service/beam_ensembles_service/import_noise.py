"""What Beam 2.77 logs while it is imported, and nobody can act on."""

from __future__ import annotations

import logging
from typing import Final

_NOISE: Final = "apitools not found"
"""Said of a client for BigQuery that this project does not use, wherever Google's libraries are not installed."""


def drop_import_noise() -> None:
    """Keeps it out of the log; to be called before Beam is imported."""
    logging.getLogger().addFilter(lambda record: _NOISE not in record.getMessage())
