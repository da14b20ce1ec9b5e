"""From parsed flags to a running service, and its exit code."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from beam_ensembles import logs
from beam_ensembles.processes.process_count import PROCESSES_VARIABLE
from beam_ensembles_service.callers.flags import warn_of_unknown_callers
from beam_ensembles_service.import_noise import drop_import_noise
from beam_ensembles_service.listening import CannotListenError, try_address
from beam_ensembles_service.settings import Settings, UsageError, settings_of
from beam_ensembles_service.signal_end import end_before_ready, when_signalled


def run(args: argparse.Namespace) -> int:
    """Serves until it is ended.

    Args:
        args: Parsed with ``settings.add_arguments``.

    Returns:
        0 after a graceful end, 1 when the service cannot run, 2 when it was called wrongly.
    """
    try:
        settings = settings_of(args)
    except UsageError as error:
        return _say(error, 2)
    _tell_workers(settings)
    _log_to_stderr(settings)
    when_signalled(end_before_ready)
    try:
        try_address(settings.host, settings.port)
        warn_of_unknown_callers(settings.host, settings.access)
        # Imports Beam: two seconds that --help and a port in use need not wait for.
        from beam_ensembles_service.server import serve

        serve(settings)
    except UsageError as error:
        return _say(error, 2)
    except CannotListenError as error:
        return _say(error, 1)
    return 0


def _say(error: Exception, code: int) -> int:
    sys.stderr.write(f"beam-ensembles serve: {error}\n")
    return code


def _tell_workers(settings: Settings) -> None:
    """Puts into the environment what the workers that the service starts inherit."""
    os.environ[logs.LOG_FORMAT_VARIABLE] = settings.log_format
    if settings.log_rows:
        os.environ[logs.LOG_ROWS_VARIABLE] = "1"
    if settings.stage_processes:
        os.environ[PROCESSES_VARIABLE] = settings.stage_processes


def _log_to_stderr(settings: Settings) -> None:
    logs.to_stderr(max(settings.logging_level, logging.WARNING), settings.log_format)
    drop_import_noise()
    # Beam warns of each attempt with a traceback; the caller gets one error.
    logging.getLogger("apache_beam.utils.retry").setLevel(logging.ERROR)
    for name in ("beam_ensembles", "beam_ensembles_service"):
        logging.getLogger(name).setLevel(settings.logging_level)
