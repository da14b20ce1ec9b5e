"""``beam-ensembles run FILE --input ROWS --output SCORED``: scores a file of rows on this machine, without a runner."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from beam_ensembles.cli.ensemble_file import (
    SUFFIXES,
    add_file_arguments,
    as_data,
    no_file,
    rows_misuse,
    wrong,
)
from beam_ensembles.cli.metrics import show_metrics
from beam_ensembles.cli.number_arguments import whole_number
from beam_ensembles.cli.output import counted, print_json, say
from beam_ensembles.cli.own_code import add_code_argument, import_from
from beam_ensembles.cli.run_progress import Show, progress
from beam_ensembles.cli.terminable import terminable
from beam_ensembles.cli.write_errors import STANDARD_OUTPUT, naming, said_of
from beam_ensembles.errors import EnsembleError, InvalidEnsemble, InvalidRows
from beam_ensembles.logs import QUIET_VARIABLE

if TYPE_CHECKING:
    from beam_ensembles.cli.run_summary import Summary
    from beam_ensembles.metrics.values import EnsembleMetrics

DESCRIPTION: Final = """\
Score a file of rows with an ensemble on this machine. The rows go through the same code as on Beam's workers; no
runner and no service is started. Each row comes out with its own fields as they were, followed by the ensemble's.

examples:
  beam-ensembles run digits.yaml --input rows.jsonl --output scored.jsonl
  beam-ensembles run digits.yaml --input rows.csv --output scored.parquet --parameter version=3
  beam-ensembles run digits.yaml --input rows.parquet --output scored.csv --json
  beam-ensembles run digits.yaml --input rows.jsonl --output scored.jsonl --metrics
  beam-ensembles run digits.yaml --input rows.jsonl --output scored.jsonl --code src/

formats, by suffix (input and output may differ):
  .csv      UTF-8, commas, a first line that names the fields. A cell of a field that the ensemble reads is read by
            its declared type: an array or a map is JSON such as [1, 2.5], an empty cell is null. All others are text.
  .jsonl    one JSON object per line. Bytes are base64, points in time ISO 8601; NaN and Infinity are allowed.
            Fields that nothing reads keep all digits of numbers and of nanoseconds, as they do in .csv. Where an
            integer is read, 3.0 and 1e3 are whole numbers.
            To write its rows as .csv or .parquet it is read twice, first for the fields and the types that all rows
            have in common (whole numbers and others: numbers; no common type: the JSON of each value as text).
  .parquet  columns keep their types. Fields that come from CSV are text, but for those that the ensemble reads.

rows that fail:
  A row that cannot be scored (a null, an array of another length, a malformed line, an error of a model) goes to
  OUTPUT's name with .errors.jsonl instead of its suffix: its number from 1, the row, node, code and message. All
  others are scored. An errors file of an earlier run is removed. Both files appear when all is done, or not at all;
  an existing OUTPUT is replaced.

exit code: 0 all rows are scored; 1 some are not, or the ensemble or the input is not valid; 2 wrong usage;
130 interrupted, by Ctrl-C or SIGTERM
"""
_PROGRAM: Final = "beam-ensembles run"
_DONE: Final = 0
_FAILED: Final = 1
_USAGE: Final = 2
_INTERRUPTED: Final = 130
_NO_MEMORY: Final = "the rows need more memory than there is; score fewer at once (--batch-size)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_file_arguments(parser)
    allowed = ", ".join(SUFFIXES)
    parser.add_argument(
        "--input", metavar="ROWS", required=True, help=f"score the rows of this file ({allowed})"
    )
    parser.add_argument(
        "--output", metavar="SCORED", required=True, help=f"write scored rows to this file ({allowed})"
    )
    parser.add_argument("--errors", metavar="PATH", help="write failed rows to this file instead (.jsonl)")
    add_code_argument(parser)
    parser.add_argument(
        "--prefix",
        metavar="TEXT",
        default="",
        help="put this before the name of every added column (default: nothing)",
    )
    parser.add_argument(
        "--batch-size",
        metavar="N",
        type=whole_number(1),
        default=1_024,
        help="score at most this many rows at once (default: 1024)",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as a JSON object")
    parser.add_argument(
        "--verbose", action="store_true", help="show the logs of Beam and of the models' libraries, too"
    )
    parser.add_argument("--metrics", action="store_true", help="also print what the nodes have counted")


def run(args: argparse.Namespace) -> int:
    """Scores the file and prints what became of it."""
    args.errors = args.errors or f"{os.path.splitext(args.output)[0]}.errors.jsonl"
    message = _misuse(args)
    if message:
        return _say(message, _USAGE)
    import_from(args.code)
    _quiet(args.verbose)
    reached = _Reached()
    try:
        with terminable():
            return _score(args, reached)
    except KeyboardInterrupt:
        return _say(f"interrupted{reached}; nothing was written", _INTERRUPTED)
    except OSError as error:
        return _say(said_of(error), _FAILED)
    except MemoryError:
        return _say(f"{_NO_MEMORY}{reached}; nothing was written", _FAILED)
    except EnsembleError as error:
        return _say(str(error), _FAILED)


def _quiet(verbose: bool) -> None:
    """Settles what libraries may log: Beam warns when it is imported, about what this verb does not use."""
    logging.basicConfig(level=logging.INFO if verbose else logging.ERROR, format=f"{_PROGRAM}: %(message)s")
    logging.getLogger("beam_ensembles").setLevel(logging.INFO if verbose else logging.WARNING)
    if not verbose:  # the summary says it, with what was learned and what was seen
        logging.getLogger("beam_ensembles.execution.input_watch").setLevel(logging.ERROR)
    if verbose:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
    else:
        os.environ.setdefault(QUIET_VARIABLE, "1")


@dataclasses.dataclass(slots=True)
class _Reached:
    """How far scoring has come.

    Attributes:
        rows: How many rows are scored, or have failed.
    """

    rows: int = 0

    def noting(self, show: Show) -> Show:
        """Returns what shows the progress and notes it here."""

        def note(doing: str, *, done: int = 0, total: int | None = None, rows: int = 0) -> None:
            self.rows = rows
            show(doing, done=done, total=total, rows=rows)

        return note

    def __str__(self) -> str:
        return f" after {counted(self.rows)}" if self.rows else ""


def _say(message: str, code: int) -> int:
    say("run", message)
    return code


def _misuse(args: argparse.Namespace) -> str | None:
    """Returns in one sentence what is wrong with the call, if anything is."""
    for path in (args.file, args.input):
        if not os.path.isfile(path):
            return no_file(path)
    for path in (args.input, args.output):
        message = rows_misuse(path)
        if message is not None:
            return message
    if not args.errors.lower().endswith(".jsonl"):
        return f"'{args.errors}' is for failed rows, which are JSON lines; its suffix must be .jsonl"
    return next(filter(None, map(_unwritable, (args.output, args.errors))), None) or _same_files(args)


def _unwritable(path: str) -> str | None:
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        return f"'{path}' is a folder; give the name of a file in it"
    if os.path.exists(path) and not os.path.isfile(path):  # the finished file would take its place
        return f"'{path}' is a device, pipe or socket; give the name of a file"
    if not os.path.isdir(folder):
        return f"there is no folder '{folder}' to write '{os.path.basename(path)}' to; make it first"
    if not os.access(folder, os.W_OK):
        return f"the folder '{folder}' cannot be written to"
    return None


def _same_files(args: argparse.Namespace) -> str | None:
    given = {"--input": args.input, "--output": args.output, "--errors": args.errors}
    names: dict[str, str] = {os.path.realpath(args.file): "the ensemble file"}
    for name, path in given.items():
        other = names.setdefault(os.path.realpath(path), name)
        if other != name:
            return f"{name} is '{path}', and so is {other}; give it a file of its own"
    return None


def _score(args: argparse.Namespace, reached: _Reached) -> int:
    with contextlib.ExitStack() as stack:
        show = reached.noting(stack.enter_context(progress()))
        try:
            # Imports Beam: two seconds that --help and a wrong call need not wait for.
            from beam_ensembles.cli.run_scoring import Call, score_file
            from beam_ensembles.metrics.local import counting

            counted = stack.enter_context(counting())
            call = Call(
                file=args.file,
                input=args.input,
                output=args.output,
                errors=args.errors,
                parameters=dict(args.parameter),
                trust=args.trust,
                prefix=args.prefix,
                batch_size=args.batch_size,
            )
            summary = score_file(call, show)
        except InvalidEnsemble as error:
            stack.close()
            return _invalid(args, args.input if isinstance(error, InvalidRows) else args.file, error)
    with naming(STANDARD_OUTPUT):
        _print(summary, counted() if args.metrics else None, args.json)
        sys.stdout.flush()
    return _FAILED if summary.failed else _DONE


def _print(summary: Summary, metrics: Sequence[EnsembleMetrics] | None, is_json: bool) -> None:
    if is_json:
        counted = {} if metrics is None else {"metrics": [one.as_data() for one in metrics]}
        print_json({**summary.as_data(), **counted})
        return
    print(summary.as_text())
    if metrics is not None:
        print()
        show_metrics(metrics, is_json=False)


def _invalid(args: argparse.Namespace, path: str, error: InvalidEnsemble) -> int:
    if args.json:
        print_json({"problems": as_data(error.problems)})
    else:
        print(wrong(path, error.problems, sys.stderr), file=sys.stderr)
    return _FAILED
