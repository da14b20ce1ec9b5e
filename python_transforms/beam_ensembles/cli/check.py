"""``beam-ensembles check FILE``: whether an ensemble still gives what its lock, or a file of answers, says."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from beam_ensembles.cli.ensemble_file import add_file_arguments, no_file, rows_misuse
from beam_ensembles.cli.number_arguments import number
from beam_ensembles.cli.output import print_json
from beam_ensembles.cli.own_code import add_code_argument
from beam_ensembles.cli.reading_rows import run_verb
from beam_ensembles.cli.run_progress import progress
from beam_ensembles.files.lock_names import LOCK, is_lock

if TYPE_CHECKING:
    from beam_ensembles.locks.differences import Report

DESCRIPTION: Final = """\
Say whether an ensemble still gives, in this environment, what its lock says: the columns with their types and classes,
the nodes, the models' files, and the answers for the golden rows of the ensemble and of each node. Where something
differs, a table says what, and at which node it begins. For CI of those who train the models.

With --expect, compare with answers of your own instead, such as a notebook's: a file of rows that has the columns that
the ensemble reads, and beside them columns with the names of outputs or of nodes' columns. No lock is needed.

examples:
  beam-ensembles check fraud.yaml
  beam-ensembles check fraud-0123456789ab.ensemble.zip --json
  beam-ensembles check fraud.yaml --expect answers.parquet --atol 1e-6

Other versions of libraries, and other data in a database that a node looks up, are told but are no failure: what counts
is the answers. Parameters that the lock was written with hold where the call gives no others.

exit code: 0 all is as it was; 1 something differs, or the ensemble, the lock or the rows are not valid; 2 wrong usage;
130 interrupted
"""
_SAME: Final = 0
_DIFFERS: Final = 1
_NO_MEMORY: Final = "the rows need more memory than there is"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_file_arguments(parser)
    parser.add_argument(
        "--lock",
        metavar="LOCK",
        help="compare with this lock (.lock.yaml; default: that beside the ensemble)",
    )
    parser.add_argument(
        "--expect",
        metavar="ROWS",
        help="compare with the answers in this file of rows instead (.csv, .jsonl, .parquet)",
    )
    parser.add_argument(
        "--atol",
        metavar="X",
        type=number(0),
        help="with --expect: numbers may differ by this much (default: by 1e-6 of their size)",
    )
    parser.add_argument("--json", action="store_true", help="print what differs as a JSON object")
    add_code_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Compares the ensemble with its lock."""
    args.input = args.expect or args.lock or args.file
    return run_verb("check", args, _check, misuse=_misuse(args), no_memory=_NO_MEMORY)


def _misuse(args: argparse.Namespace) -> str | None:
    for path in filter(None, (args.file, args.lock, args.expect)):
        if not os.path.isfile(path):
            return no_file(path)
    if is_lock(args.file):
        return f"'{args.file}' is a lock; give the ensemble file, and the lock with --lock"
    if args.lock is not None and not is_lock(args.lock):
        return f"'{args.lock}' is not a lock, whose suffix is {LOCK}"
    if args.expect is not None:
        return "--lock and --expect exclude each other" if args.lock else rows_misuse(args.expect)
    return "--atol is for --expect; a lock has a tolerance of its own" if args.atol is not None else None


def _check(args: argparse.Namespace) -> int:
    # Imports Beam: two seconds that --help and a wrong call need not wait for.
    from beam_ensembles.cli.checking_lock import check_expected, check_lock
    from beam_ensembles.cli.locking import loaded, parameters_of

    given = dict(args.parameter)
    with progress() as show:
        show("loading the models")
        if args.expect is None:
            given = dict(parameters_of(args.lock, args.file, given))
        ensemble = loaded(args.file, given, args.trust)
        show("comparing")
        if args.expect is None:
            report = check_lock(ensemble, args.lock)
        else:
            report = check_expected(ensemble, args.expect, args.atol)
    if args.json:
        print_json(report.as_data())
    else:
        _print(report, "as locked" if args.expect is None else "as expected")
    return _SAME if report.is_same else _DIFFERS


def _print(report: Report, same: str) -> None:
    from beam_ensembles.cli.difference_text import text_lines, verdict_of

    head = same if report.is_same else "differs"
    print("\n".join(text_lines(report, f"{head} {report.new}: {verdict_of(report)}")))
