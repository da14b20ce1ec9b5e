"""``make flink``: a Flink cluster, Beam's job server and a pool of Python workers on this machine, until Ctrl-C."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from scripts.flink.cluster import Options, cluster
from scripts.flink.install import install
from scripts.flink.workers import worker_pool
from scripts.layout import LOGS, relative
from scripts.program import exit_code, say
from scripts.shell import Missing, log_path

_LOOK_SECONDS = 1.0


def serve(options: Options) -> bool:
    """Runs it all until it is interrupted; gives whether it could."""
    say(f"Starting Flink (logs in {relative(LOGS)}/{options.logs}-….log)")
    try:
        jars = install()
    except Missing as exc:
        say(str(exc))
        return False
    with (
        worker_pool(log_path(f"{options.logs}-workers")) as workers,
        cluster(jars, Path(tempfile.mkdtemp()), options) as running,
    ):
        say(f"Flink's own pages        {running.rest.url}")
        say(f"Beam's job server        {running.job_server}")
        say(f"Python workers           {workers}")
        say("Ctrl-C stops it all.")
        while True:
            time.sleep(_LOOK_SECONDS)
            running.replace_dead_task_managers()


def main() -> int:
    """Runs it; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task-managers", type=int, default=2, help="how many (%(default)s)")
    parser.add_argument("--slots", type=int, default=2, help="tasks that one runs at once (%(default)s)")
    args = parser.parse_args()
    return exit_code(lambda: serve(Options(args.task_managers, args.slots)))


if __name__ == "__main__":
    raise SystemExit(main())
