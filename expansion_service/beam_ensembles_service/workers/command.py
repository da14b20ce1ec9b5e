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
from beam_ensembles.files.ownership import is_foreign
from beam_ensembles.processes.process_count import HELP, PROCESSES_VARIABLE, wrong_count
from beam_ensembles_service.callers.flags import (
    access_of,
    add_access_arguments,
    check_host,
    warn_of_unknown_callers,
)
from beam_ensembles_service.import_noise import drop_import_noise
from beam_ensembles_service.listening import CannotListenError, try_address
from beam_ensembles_service.signal_end import end_before_ready, when_signalled
from beam_ensembles_service.usage import UsageError
from beam_ensembles_service.workers.flags import REPORT, STOP_RUNNER, add_worker_flags, check_workers

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 50000

DESCRIPTION: Final = """\
Start Python workers for a runner on this machine: Beam's external worker pool.

Run one pool beside each of the runner's machines (on Flink: beside each task manager, in its pod). Pipelines name it
with --environment_type=EXTERNAL --environment_config=localhost:50000. When the pool is ready it prints one line,
'beam-ensembles VERSION workers on HOST:PORT', and nothing more on standard output.

Flink hangs when a worker is killed while it receives rows. With --when-a-worker-dies stop-runner, the pool ends such a
task manager, so that its supervisor starts it again and the job's restart strategy continues the job. Restart a pool
that dies itself with the same --state: it then handles the workers that died with it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags to a parser."""
    parser.add_argument("--host", default=DEFAULT_HOST, help="listen on this address (default: %(default)s)")
    parser.add_argument(
        "-p",
        "--port",
        type=int,
        default=DEFAULT_PORT,
        help="listen on this port; 0 takes a free one (default: %(default)s)",
    )
    parser.add_argument(
        "--stop-with-stdin",
        action="store_true",
        help="end when standard input ends, for a program that starts the pool and holds the pipe",
    )
    _add_worker_arguments(parser.add_argument_group("workers", "how they are started"))
    _add_death_arguments(
        parser.add_argument_group("dead workers", "what happens when a worker ends that nobody stopped")
    )
    add_access_arguments(parser, token=False)
    _add_log_arguments(parser.add_argument_group("logs"))


def _add_worker_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--stage-processes", default=os.environ.get(PROCESSES_VARIABLE, ""), metavar="N", help=HELP
    )
    group.add_argument(
        "--boot",
        metavar="PROGRAM",
        help="start workers with Beam's boot program, which its images have, for pipelines that bring files: it "
        "installs them (default: none)",
    )
    add_worker_flags(group)


def _add_death_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--when-a-worker-dies",
        choices=(REPORT, STOP_RUNNER),
        default=REPORT,
        help="only log it (report), or end the process of a runner that does not notice (stop-runner) "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--notice-seconds",
        type=float,
        default=10.0,
        metavar="S",
        help="wait this long for a runner to notice by itself (default: %(default)g s)",
    )
    group.add_argument(
        "--state",
        metavar="FOLDER",
        help="note in this folder, for the next pool, which workers this one has, and create a file 'runner-hangs' "
        "while a runner does not notice; needs stop-runner (default: none)",
    )


def _add_log_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--log-level",
        choices=logs.LOG_LEVELS,
        default="info",
        help="log messages of this level and above (default: %(default)s)",
    )
    group.add_argument(
        "--log-format",
        choices=logs.LOG_FORMATS,
        help="write each message as text, or as one JSON object per line, also in workers "
        f"(default: ${logs.LOG_FORMAT_VARIABLE}, otherwise text)",
    )
    group.add_argument(
        "--log-rows",
        action="store_true",
        help="let values of rows into the workers' logs, where error messages contain some",
    )


def run(args: argparse.Namespace) -> int:
    """Serves until it is ended.

    Args:
        args: Parsed with ``add_arguments``.

    Returns:
        0 after a graceful end, 1 when the pool cannot run, 2 after wrong usage.
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
        from beam_ensembles_service.workers.server import serve

        warn_of_unknown_callers(args.host, access)
        serve(args, access)
    except CannotListenError as error:
        return _say(str(error), 1)
    return 0


def _wrong(args: argparse.Namespace) -> str:
    if not 0 <= args.port <= 65535:
        return f"--port must be from 0 to 65535, not {args.port}"
    if args.stage_processes and (wrong := wrong_count(args.stage_processes)):
        return f"--stage-processes {wrong}"
    if not args.notice_seconds > 0:
        return f"--notice-seconds must be more than 0, not {args.notice_seconds}"
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
    if is_foreign(args.state) or os.stat(args.state).st_mode & stat.S_IWOTH:
        return (
            f"--state: '{args.state}', and the folders above it, must belong to this user or root, and nobody else may "
            "write to them: the pool ends processes by what it reads there"
        )
    return ""


def _say(what: str, code: int) -> int:
    sys.stderr.write(f"beam-ensembles workers: {what}\n")
    return code
