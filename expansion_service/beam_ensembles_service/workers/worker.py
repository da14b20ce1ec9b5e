"""A loopback worker: one process, started by ``pool``, running Beam's Python harness for a runner."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from types import FrameType
from typing import Final

from beam_ensembles import logs
from beam_ensembles_service.import_noise import drop_import_noise

_END_SECONDS: Final = 3.0


def main(argv: list[str] | None = None) -> int:
    """Runs the worker until its runner, its service or a signal ends it."""
    args = _parser().parse_args(argv)
    _end_with(sys.stdin.fileno())
    signal.signal(signal.SIGTERM, _leave)
    logs.to_stderr(args.log_level)
    drop_import_noise()
    try:
        from beam_ensembles_service.workers import harness  # imports Beam

        return harness.run(args.control, args.provision, args.logging)
    finally:
        _end_soon()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="beam_ensembles_service.workers.worker", description=__doc__)
    parser.add_argument("--control", required=True, metavar="HOST:PORT", help="the runner's control endpoint")
    parser.add_argument("--provision", metavar="HOST:PORT", help="where the runner says which files it has")
    parser.add_argument("--logging", metavar="HOST:PORT", help="the runner's logging endpoint")
    parser.add_argument(
        "--log-level", type=int, default=logging.WARNING, help="as Python's logging counts it"
    )
    return parser


def _end_with(pipe: int) -> None:
    """Ends this process when the other end of a pipe is closed: when the service ends, however it ends."""

    def wait() -> None:
        while os.read(pipe, 1024):
            pass
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def _leave(signum: int, frame: FrameType | None) -> None:
    _end_soon()
    sys.exit(0)


def _end_soon() -> None:
    """Limits Python's clean-up: it must not wait forever for a bundle in progress or a runner that reads no logs."""
    timer = threading.Timer(_END_SECONDS, os._exit, args=(0,))
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    sys.exit(main())
