"""``beam-ensembles diff OLD NEW``: what a new version of an ensemble changes, and whether that is within limits."""

from __future__ import annotations

import argparse
import math
import os
from typing import TYPE_CHECKING, Final

from beam_ensembles.cli.ensemble_file import add_parameter_arguments, no_file, rows_misuse
from beam_ensembles.cli.number_arguments import finite, not_allowed
from beam_ensembles.cli.output import print_json
from beam_ensembles.cli.own_code import add_code_argument
from beam_ensembles.cli.reading_rows import run_verb
from beam_ensembles.cli.run_progress import progress

if TYPE_CHECKING:
    from beam_ensembles.locks.differences import Report

DESCRIPTION: Final = """\
Say what differs between two versions of an ensemble: the contract with its readers, nodes, models' files, versions of
libraries, and what they answer for the same rows: the share of rows whose label changes, the largest and the median
shift of each column, and the nodes at which the differences begin. OLD and NEW are ensemble files, bundles or locks.

examples:
  beam-ensembles diff fraud.lock.yaml fraud.yaml
  beam-ensembles diff fraud.yaml new/fraud.yaml --by country
  beam-ensembles diff old.ensemble.zip new.ensemble.zip --input rows.parquet --markdown
  beam-ensembles diff fraud.lock.yaml fraud.yaml --max-label-changes 1% --max-shift fraud_p=0.05
  beam-ensembles diff fraud.lock.yaml fraud.yaml --label is_fraud --max-log-loss +0.005

rows:
  Those of --input, else the golden rows of the lock that OLD or NEW is, or that lies beside one of them. A lock's own
  answers are those of its golden rows; two locks are compared where they have the same ones. Without rows the answers
  are not compared.

limits:
  With a limit, the exit code is 1 where the answers go beyond it, where the contract breaks readers, or where the
  answers cannot be compared. Rows that one version alone can score count as changed labels. Without limits the exit
  code is 0, whatever differs.

exit code: 0 nothing is beyond the limits; 1 something is, or an ensemble, a lock or the rows are not valid; 2 wrong
usage; 130 interrupted
"""
_WITHIN: Final = 0
_BEYOND: Final = 1
_NO_MEMORY: Final = "the rows need more memory than there is; compare fewer (--input)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add = parser.add_argument
    add("old", metavar="OLD", help="the version that is in use: an ensemble file, a bundle or a lock")
    add("new", metavar="NEW", help="the version to compare with it")
    add_parameter_arguments(parser)
    add("--input", metavar="ROWS", help="compare the answers for these rows (.csv, .jsonl, .parquet)")
    add("--by", metavar="FIELD", help="also compare the rows of each value of this field")
    add("--label", metavar="FIELD", help="also compare the quality: the answers with this field")
    add("--answer", metavar="COLUMN", help="with --label: judge this output (default: the first that can be)")
    add(
        "--positive",
        metavar="CLASS",
        help="with --label: count this class as positive where there are two (default: true, 1, or the last)",
    )
    add(
        "--max-label-changes",
        metavar="SHARE",
        type=_share,
        help="fail where more rows have another label, as in 1%% or 0.01",
    )
    add(
        "--max-shift",
        metavar="COLUMN=X",
        type=_shift,
        action="append",
        default=[],
        help="fail where a number of this column shifts by more (may be repeated)",
    )
    add(
        "--max-log-loss",
        metavar="+X",
        type=_growth,
        help="with --label: fail where the log loss grows by more, as in +0.005",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print what differs as a JSON object")
    form.add_argument("--markdown", action="store_true", help="print Markdown, for a pull request's comment")
    add_code_argument(parser)


def _share(text: str) -> float:
    found = finite(text[:-1]) / 100 if text.endswith("%") else finite(text)
    if not 0 <= found <= 1:
        raise not_allowed(text, "a share from 0% to 100%, such as 1% or 0.01")
    return found


def _shift(text: str) -> tuple[str, float]:
    column, _, shift = text.partition("=")
    found = finite(shift)
    if not column or not found >= 0:
        raise not_allowed(text, "COLUMN=X with a shift X of 0 or more, as in score=0.05")
    return column, found


def _growth(text: str) -> float:
    found = finite(text.removeprefix("+"))
    if math.isnan(found):
        raise not_allowed(text, "by how much it may grow, as in +0.005")
    return found


def run(args: argparse.Namespace) -> int:
    """Compares the versions."""
    misuse, args.file, given = _misuse(args), args.new, args.input
    args.input, args.rows = given or args.new, given
    return run_verb("diff", args, _diff, misuse=misuse, no_memory=_NO_MEMORY)


def _misuse(args: argparse.Namespace) -> str | None:
    for path in filter(None, (args.old, args.new, args.input)):
        if not os.path.isfile(path):
            return no_file(path)
    if os.path.realpath(args.old) == os.path.realpath(args.new):
        return f"'{args.old}' and '{args.new}' are one file"
    if args.label is None:
        for name in ("answer", "positive", "max_log_loss"):
            if getattr(args, name) is not None:
                return (
                    f"--{name.replace('_', '-')} is for --label, which names the field of the known answers"
                )
    return None if args.input is None else rows_misuse(args.input)


def _diff(args: argparse.Namespace) -> int:
    # Imports Beam: two seconds that --help and a wrong call need not wait for.
    from beam_ensembles.cli.comparing_versions import Comparing, report_of
    from beam_ensembles.locks.differences import Limits

    comparing = Comparing(
        old=args.old,
        new=args.new,
        rows=args.rows,
        by=args.by,
        label=args.label,
        answer=args.answer,
        positive=args.positive,
        limits=Limits(args.max_label_changes, dict(args.max_shift)),
        log_loss=args.max_log_loss,
        parameters=dict(args.parameter),
        trust=args.trust,
    )

    def opening(path: str) -> None:
        args.file = path

    with progress() as show:
        report = report_of(comparing, lambda doing: show(doing), opening)
    _print(report, args)
    return _BEYOND if report.beyond else _WITHIN


def _print(report: Report, args: argparse.Namespace) -> None:
    from beam_ensembles.cli.difference_text import markdown_lines, text_lines, verdict_of

    if args.json:
        print_json(report.as_data())
        return
    lines = markdown_lines if args.markdown else text_lines
    print("\n".join(lines(report, f"{report.old} -> {report.new}: {verdict_of(report)}")))
