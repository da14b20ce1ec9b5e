"""Flags of whoever starts workers on this machine: ``serve --serve-loopback-worker`` and ``workers``."""

from __future__ import annotations

import argparse
from typing import Final

from beam_ensembles_service.usage import UsageError

MAX_WORKERS: Final = 64
REPORT: Final = "report"
STOP_RUNNER: Final = "stop-runner"
"""What ``--when-a-worker-dies`` may say."""


def add_worker_flags(group: argparse._ActionsContainer) -> None:
    """Adds the flags to a parser or a group of one."""
    group.add_argument(
        "--worker-env",
        action="append",
        default=[],
        metavar="NAME",
        help="pass this environment variable to the workers started here, besides those that Beam and the frameworks "
        "need; * matches any text (may be repeated)",
    )
    group.add_argument(
        "--max-workers",
        type=int,
        default=MAX_WORKERS,
        metavar="N",
        help="run at most this many workers at one time (default: %(default)s)",
    )


def check_workers(count: int) -> None:
    """Checks ``--max-workers``.

    Raises:
        UsageError: The number is too small or too large.
    """
    if not 1 <= count <= 10_000:
        raise UsageError(f"--max-workers must be from 1 to 10000, not {count}")
