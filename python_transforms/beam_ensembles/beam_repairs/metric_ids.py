"""Metric ids that do not collide with those of other workers. Written for Beam 2.77 (``sdk_worker``).

Prism keeps one table of metric ids for all workers of a job, and all SDKs count from 1. Ids that collide make wrong
metrics, and where the types differ Prism panics.
"""

from __future__ import annotations

import secrets

from apache_beam.runners.worker import sdk_worker


def install() -> None:
    """Let the ids of this process start at a random place."""
    sdk_worker.SHORT_ID_CACHE._last_short_id = secrets.randbits(40) << 20
