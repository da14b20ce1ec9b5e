"""``beam-ensembles tune FILE --input ROWS --label FIELD``: chooses numbers of the file from labelled rows."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from beam_ensembles.cli import labelled_rows
from beam_ensembles.cli.ensemble_file import add_file_arguments
from beam_ensembles.cli.number_arguments import number, whole_number
from beam_ensembles.cli.output import print_json
from beam_ensembles.cli.reading_rows import files_misuse, run_verb
from beam_ensembles.cli.run_progress import Show, progress

if TYPE_CHECKING:
    from beam_ensembles.tuning.results import Tuned

DESCRIPTION: Final = """\
Choose numbers of an ensemble file from rows whose answer is known: cut-offs that reach a target with a stated
confidence at the least cost, the weights of votes and weighted means, and the calibration of probabilities.

examples:
  beam-ensembles tune fraud.yaml --input labelled.parquet --label is_fraud --target "recall >= 0.9"
  beam-ensembles tune cascade.yaml --input labelled.csv --label kind --target "agreement with forest >= 0.98" --write
  beam-ensembles tune cascade.yaml --input labelled.csv --label kind --target "accuracy >= 0.95" -o tuned.yaml
  beam-ensembles tune vote.yaml --input labelled.csv --label kind --weights vote --write
  beam-ensembles tune fraud.yaml --input labelled.parquet --label is_fraud --calibrate calibrated --write

targets:
  accuracy >= X              so many of all rows are answered with their label
  agreement with NODE >= X   so many of the rows that the node answers are answered as it does
  recall >= X                so many of the rows of the positive class are answered positive
  precision >= X             so many of the rows answered positive are of the positive class

A cut-off is a parameter that 'when', 'cases' or 'select' compares with a number, as in "confidence < ${cut}". Models
are called once per row, on all rows that a cut-off could send to them; each value of a cut-off is then tried without a
call of a model. The target holds for rows like these, not just for them: exact binomial tests, in an order that was
fixed before (learn then test). The rows of --holdout take no part, and show what was gained.

Weights are those of the least log loss of a soft vote, or of the least squared error of a weighted mean. They add up
to 1.

A calibration is that of scikit-learn (temperature, platt, isotonic). --write, or -o, also writes the JSON file that the
'apply: calibrate' node names, and pins it with its sha256.

exit code: 0 the numbers are chosen; 1 the ensemble, the input or the label is not valid, or a target cannot be reached;
2 wrong usage; 130 interrupted
"""
_DONE: Final = 0
_HOLDOUT: Final = 0.3
_NO_MEMORY: Final = "the rows need more memory than there is; tune on fewer rows"
_SUFFIXES: Final = (".yaml", ".yml", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_file_arguments(parser)
    add = parser.add_argument
    labelled_rows.add_input(parser)
    add("--label", metavar="FIELD", required=True, help="compare the answers with this field")
    add(
        "--target",
        metavar="TARGET",
        type=_target,
        action="append",
        default=[],
        help='reach this, such as "recall >= 0.9" (may be repeated)',
    )
    add("--weights", metavar="NODE", help="tune the weights of this soft_vote or weighted_mean")
    add("--calibrate", metavar="NODE", help="fit the calibration of this 'apply: calibrate'")
    add(
        "--method",
        choices=("temperature", "platt", "isotonic"),
        default="temperature",
        help="calibrate so (default: temperature)",
    )
    add(
        "--minimize",
        choices=("cost",),
        default="cost",
        help="choose the values that take the least time per row (default: cost)",
    )
    add(
        "--cut",
        metavar="NAME",
        action="append",
        default=[],
        help="tune this cut-off (may be repeated; default: all that there are)",
    )
    add(
        "--confidence",
        metavar="C",
        type=number(0.5, 1 - 1e-9),
        default=0.95,
        help="how certain the targets must be, between 0.5 and 1 (default: 0.95)",
    )
    add(
        "--holdout",
        metavar="SHARE",
        type=number(0.05, 0.9),
        help="hold out this share of the rows and report on them, from 0.05 to 0.9 (default: 0.3)",
    )
    add(
        "--folds",
        metavar="K",
        type=whole_number(2),
        help="with --weights or --calibrate: hold out all rows instead, in K parts, each by numbers that were chosen "
        "on the others; the numbers of the file are chosen on all rows",
    )
    add(
        "--plan",
        action="store_true",
        help="spend three in ten of the rows to tune on to order the values of one cut-off, as is done for several",
    )
    add(
        "--seed",
        metavar="N",
        type=whole_number(0),
        default=0,
        help="split the rows with this seed (default: 0)",
    )
    labelled_rows.add_answer(parser)
    add(
        "--positive",
        metavar="CLASS",
        help="count this class as positive (default: of two true, 1, or the last in order)",
    )
    add(
        "--positive-if",
        metavar="CONDITION",
        help="count a row as answered positive where this holds of the outputs, such as \"decision <> 'accept'\"",
    )
    add("--write", action="store_true", help="write the numbers into the ensemble file; all else in it stays")
    add("-o", "--output", metavar="FILE", help="write the ensemble file with the numbers to this file")
    add(
        "--report",
        metavar="PAGE",
        help="also write what was found, and cost against quality, as one HTML page",
    )
    add("--json", action="store_true", help="print what was found as a JSON object")
    labelled_rows.add_scoring(parser)


def _target(text: str) -> object:
    from beam_ensembles.tuning.targets import read_target

    try:
        return read_target(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(args: argparse.Namespace) -> int:
    """Tunes the file and prints, or writes, what was found."""
    return run_verb("tune", args, _tune, misuse=_misuse(args), no_memory=_NO_MEMORY)


def _misuse(args: argparse.Namespace) -> str | None:
    if sum(map(bool, (args.target, args.weights, args.calibrate))) != 1:
        return (
            'say what to tune, one at a time: --target "recall >= 0.9", --weights NODE, or --calibrate NODE'
        )
    if args.folds and args.target:
        text = "--folds goes with --weights and --calibrate: each fold would certify another cut-off, and none the one"
        return f"{text} that is written; with few labels, hold out fewer rows, as with --holdout 0.1"
    if args.folds and args.holdout is not None:
        return "--folds holds out all rows in turn and --holdout a share of them; give one of them"
    if args.write and args.output:
        return "--write changes the ensemble file and -o writes another one; give one of them"
    if args.write and args.file.lower().endswith(".zip"):
        return "a bundle is not written to; tune the ensemble file that it was packed from"
    if args.write and os.path.islink(args.file):
        return f"'{args.file}' is a link; name the file that it points to"
    return files_misuse(args, args.output, "ensemble file", *_SUFFIXES) or files_misuse(
        args, args.report, "page", ".html", ".htm"
    )


def _tune(args: argparse.Namespace) -> int:
    with progress() as show:
        found = _found(args, show)
    target = args.file if args.write else args.output
    if target is not None:
        _write(found, target)
    if args.report is not None:
        _write_page(found, args.report)
    if args.json:
        print_json(found.as_data())
        return _DONE
    from beam_ensembles.cli.tuning_summary import summary_lines

    print("\n".join(summary_lines(found, target)))
    if args.report is not None:
        print(f"report: {args.report}")
    return _DONE


def _found(args: argparse.Namespace, show: Show) -> Tuned:
    from beam_ensembles.tuning.labelled import Rows
    from beam_ensembles.tuning.request import Request, tune
    from beam_ensembles.tuning.tuning_cut_offs import CutOffRequest

    rows = Rows(
        input=args.input,
        label=args.label,
        answer=args.answer,
        positive=args.positive,
        holdout=_HOLDOUT if args.holdout is None else args.holdout,
        folds=args.folds,
        seed=args.seed,
        batch_size=args.batch_size,
        cache=args.cache,
    )
    parameters = dict(args.parameter)
    cut_offs = CutOffRequest(
        targets=args.target,
        confidence=args.confidence,
        names=args.cut,
        flags=args.positive_if,
        parameters=parameters,
        plans=args.plan,
    )
    request = Request(
        file=args.file,
        rows=rows,
        cut_offs=cut_offs if args.target else None,
        weights=args.weights,
        calibrate=args.calibrate,
        method=args.method,
        parameters=parameters,
        trust=args.trust,
    )
    return tune(request, labelled_rows.telling(show))


def _write(found: Tuned, path: str) -> None:
    from beam_ensembles.cli.write_errors import naming
    from beam_ensembles.tables.whole_file import whole_file
    from beam_ensembles.tuning.writing import with_values

    text = with_values(found.graph.spec.text, found.changes).encode()
    for name, content in found.files.items():
        own = os.path.join(os.path.dirname(os.path.abspath(path)), name)
        with naming(own), whole_file(own) as file:
            file.write(content)
    with naming(path), whole_file(path) as file:
        file.write(text)


def _write_page(found: Tuned, path: str) -> None:
    from beam_ensembles.cli.write_errors import naming
    from beam_ensembles.tables.whole_file import whole_file
    from beam_ensembles.tuning.report import report

    text = report(found).encode()
    with naming(path), whole_file(path) as file:
        file.write(text)
