"""``beam-ensembles metrics``: what the nodes of a job have counted, asked of the runner."""

from __future__ import annotations

import argparse
import dataclasses
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from beam_ensembles.cli import connecting
from beam_ensembles.cli.output import print_json, say
from beam_ensembles.errors import EnsembleError
from beam_ensembles.messages.printable import printable

if TYPE_CHECKING:
    from beam_ensembles.metrics.flink import FlinkCluster
    from beam_ensembles.metrics.job_server import Job, JobServer
    from beam_ensembles.metrics.values import EnsembleMetrics

DESCRIPTION: Final = """\
Show what the nodes of a job's ensembles have counted: rows answered, failed and skipped, batches and their times,
arms of routes, and on how many rows shadows agree. Without --job, lists the jobs of the runner.

examples:
  beam-ensembles metrics --job-endpoint localhost:8073
  beam-ensembles metrics --job-endpoint localhost:8073 --job job-001
  beam-ensembles metrics --flink http://localhost:8081 --job 4e6c5d3b... --json

--job-endpoint is the job server that pipelines are submitted to: Prism, or Beam's job server for Flink.
--flink is the REST API of a Flink cluster, which also knows running jobs, and those of other job servers.

exit code: 0 metrics printed, 1 metrics not available, 2 wrong usage
"""
_DONE: Final = 0
_FAILED: Final = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    runner = parser.add_mutually_exclusive_group(required=True)
    runner.add_argument(
        "--job-endpoint", metavar="HOST:PORT", help="ask this job server: Prism's, or Flink's"
    )
    runner.add_argument(
        "--flink", metavar="URL", type=_url, help="ask the REST API of this Flink cluster: http://HOST:8081"
    )
    parser.add_argument("--job", metavar="ID", help="show this job (default: list all jobs)")
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of a table")
    connecting.add_arguments(parser)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise argparse.ArgumentTypeError(f"{text!r} is not a URL such as http://localhost:8081")
    return text


def run(args: argparse.Namespace) -> int:
    """Prints the metrics of a job, or the jobs."""
    # Beam, which --help need not wait for, logs warnings when it is imported, about what this verb does not use.
    logging.basicConfig(level=logging.ERROR)
    security = connecting.security_of(args)
    try:
        if args.flink is not None:
            from beam_ensembles.metrics.flink import FlinkCluster

            return _show(FlinkCluster(args.flink, security), args)
        from beam_ensembles.metrics.job_server import JobServer

        with JobServer(args.job_endpoint, security) as server:
            return _show(server, args)
    except EnsembleError as error:
        say("metrics", str(error))
        return _FAILED


def _show(runner: JobServer | FlinkCluster, args: argparse.Namespace) -> int:
    if args.job is None:
        _show_jobs(runner.jobs(), args.json)
    else:
        show_metrics(runner.metrics(args.job), args.json)
    return _DONE


def _show_jobs(jobs: Sequence[Job], is_json: bool) -> None:
    if is_json:
        print_json({"jobs": [dataclasses.asdict(job) for job in jobs]})
        return
    if not jobs:
        print("no jobs")
        return
    # Only a person who reads the table waits for it.
    from rich.console import Console
    from rich.text import Text

    headings, *rows = _lines([("job", "state", "name"), *((job.id, job.state, job.name) for job in jobs)])
    text = Text.assemble((headings, "bold"), *(f"\n{row}" for row in rows))
    Console(highlight=False).print(text, soft_wrap=True)


def _lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    shown = [tuple(map(printable, cells)) for cells in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(map(str.ljust, cells, widths)).rstrip() for cells in shown]


def show_metrics(found: Sequence[EnsembleMetrics], is_json: bool) -> None:
    """Prints the metrics of ensembles.

    Args:
        found: Of each ensemble of a job.
        is_json: Whether a program reads them.
    """
    if is_json:
        print_json({"ensembles": [one.as_data() for one in found]})
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for one in found:
        title, headings, *rows = map(printable, str(one).split("\n"))
        text = Text.assemble((title, "bold"), "\n", (headings, "dim"), *(f"\n{row}" for row in rows))
        console.print(text, soft_wrap=True)
    if not found:
        console.print("no node of an ensemble has counted anything yet")
