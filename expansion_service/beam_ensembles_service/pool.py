"""``beam-ensembles workers``: Python workers beside a runner, started as the runner asks for them."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import stat
import sys
from typing import Final

from beam_ensembles import logs
from beam_ensembles.runtime.process_count import HELP, PROCESSES_VARIABLE, wrong_count
from beam_ensembles_service.access import access_of, add_access_arguments, check_host, warn_of_unknown_callers
from beam_ensembles_service.import_noise import drop_import_noise
from beam_ensembles_service.listening import CannotListenError, try_address
from beam_ensembles_service.signal_end import end_before_ready, when_signalled
from beam_ensembles_service.usage import UsageError
from beam_ensembles_service.worker_flags import add_worker_flags, check_workers

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 50000
REPORT: Final = "report"
STOP_RUNNER: Final = "stop-runner"
LOG_LEVELS: Final = ("debug", "info", "warning", "error")

DESCRIPTION: Final = """\
Start Python workers for a runner on this machine: Beam's external worker pool.

One runs beside each of the runner's machines (of a Flink cluster: beside each task manager, in its pod), and pipelines
name it with --environment_type=EXTERNAL --environment_config=localhost:50000. When it is ready it prints one line,
'beam-ensembles VERSION workers on HOST:PORT', and nothing more on standard output.

Flink waits for ever for a worker that is killed while it is sent rows. With --when-a-worker-dies stop-runner, the task
manager that hangs so is ended, for its own supervisor to start again; the job goes on by its restart strategy. A pool
that dies itself is to be started again with the same --state: it then looks after the workers that died with it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags to a parser."""
    parser.add_argument("--host", default=DEFAULT_HOST, help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "-p",
        "--port",
        type=int,
        default=DEFAULT_PORT,
        help="port to listen on; 0 takes a free one (%(default)s)",
    )
    parser.add_argument(
        "--when-a-worker-dies",
        choices=(REPORT, STOP_RUNNER),
        default=REPORT,
        help="stop-runner ends the process of a runner that does not notice; report only logs (%(default)s)",
    )
    parser.add_argument(
        "--notice-seconds",
        type=float,
        default=10.0,
        metavar="S",
        help="how long a runner has to notice by itself (%(default)s)",
    )
    parser.add_argument(
        "--stage-processes", default=os.environ.get(PROCESSES_VARIABLE, ""), metavar="N", help=HELP
    )
    parser.add_argument(
        "--state",
        metavar="FOLDER",
        help="a folder for this pool alone, where the next one finds which workers died with it, and a file "
        "'runner-hangs' while a runner does not notice; for stop-runner",
    )
    parser.add_argument(
        "--boot",
        metavar="PROGRAM",
        help="start workers of pipelines that bring files by Beam's boot, which its images have: it installs them",
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="default: %(default)s")
    parser.add_argument(
        "--log-format",
        choices=logs.LOG_FORMATS,
        help="a line for people, or a JSON object a line, also of the workers "
        f"(default: ${logs.LOG_FORMAT_VARIABLE}, otherwise text)",
    )
    parser.add_argument(
        "--log-rows",
        action="store_true",
        help="let values of rows into the workers' logs, which they keep out otherwise",
    )
    parser.add_argument(
        "--stop-with-stdin",
        action="store_true",
        help="end when standard input does: with the program that starts it",
    )
    add_worker_flags(parser)
    add_access_arguments(parser, token=False)


def run(args: argparse.Namespace) -> int:
    """Serves until it is ended.

    Args:
        args: Parsed with ``add_arguments``.

    Returns:
        0 after a graceful end, 1 when it cannot run, 2 when it was called wrongly.
    """
    wrong = _wrong(args)
    if wrong:
        return _say(wrong, 2)
    try:
        check_workers(args.max_workers)
        access = access_of(args)
        check_host(args.host, access, has_pool=True)
    except UsageError as error:
        return _say(str(error), 2)
    level = logging.getLevelNamesMapping()[args.log_level.upper()]
    if args.log_format:
        os.environ[logs.LOG_FORMAT_VARIABLE] = args.log_format  # the workers that it starts inherit it
    if args.log_rows:
        os.environ[logs.LOG_ROWS_VARIABLE] = "1"
    if args.stage_processes:
        os.environ[PROCESSES_VARIABLE] = args.stage_processes
    logs.to_stderr(max(level, logging.WARNING), args.log_format)
    logging.getLogger("beam_ensembles_service").setLevel(level)
    drop_import_noise()
    when_signalled(end_before_ready)
    try:
        try_address(args.host, args.port)
        from beam_ensembles_service.pool_server import serve

        warn_of_unknown_callers(args.host, access)
        serve(args, access)
    except CannotListenError as error:
        return _say(str(error), 1)
    return 0


def _wrong(args: argparse.Namespace) -> str:
    if not 0 <= args.port <= 65535:
        return f"--port is a number from 0 to 65535, not {args.port}"
    if args.stage_processes and (wrong := wrong_count(args.stage_processes)):
        return f"--stage-processes {wrong}"
    if not args.notice_seconds > 0:
        return f"--notice-seconds is more than 0, not {args.notice_seconds}"
    if args.boot is not None and shutil.which(args.boot) is None:
        return f"--boot: there is no program '{args.boot}'"
    if args.when_a_worker_dies == STOP_RUNNER and not os.path.exists("/proc/net/tcp"):
        return "--when-a-worker-dies stop-runner needs Linux, which tells by /proc which process to stop"
    return "" if args.state is None else _wrong_state(args)


def _wrong_state(args: argparse.Namespace) -> str:
    if args.when_a_worker_dies != STOP_RUNNER:
        return f"--state has no meaning without --when-a-worker-dies {STOP_RUNNER}"
    try:
        os.makedirs(args.state, exist_ok=True)
    except OSError as error:
        return f"--state: '{args.state}' cannot be made: {error.strerror}"
    if not os.access(args.state, os.W_OK):
        return f"--state: '{args.state}' cannot be written to"
    found = os.stat(args.state)
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & stat.S_IWOTH:
        return f"--state: '{args.state}' must be this user's own folder, to which not everybody may write"
    return ""


def _say(what: str, code: int) -> int:
    sys.stderr.write(f"beam-ensembles workers: {what}\n")
    return code
