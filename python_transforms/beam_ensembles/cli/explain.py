"""``beam-ensembles explain FILE --input ROWS --row N``: what each node of an ensemble does with one row."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from beam_ensembles.cli.ensemble_file import add_file_arguments
from beam_ensembles.cli.number_arguments import whole_number
from beam_ensembles.cli.output import print_json, print_lines, say
from beam_ensembles.cli.own_code import add_code_argument
from beam_ensembles.cli.reading_rows import files_misuse, run_verb
from beam_ensembles.limits import MOST_DRAWN

if TYPE_CHECKING:
    from beam_ensembles.local.explanation import Explanation

DESCRIPTION: Final = """\
Explain what an ensemble does with one row of a file. From top to bottom, print what each node read and added, the
condition that let it run or skipped it, and the arm that a route chose. Print where a null began, the error and what
the node's policy made of it, and the milliseconds that the node took with this row alone.

examples:
  beam-ensembles explain fraud.yaml --input rows.jsonl --row 3
  beam-ensembles explain fraud.yaml --input rows.csv --where id=17
  beam-ensembles explain fraud.yaml --input rows.parquet --where id=17 --json
  beam-ensembles explain fraud.yaml --input rows.jsonl --row 3 --svg row3.svg

The row is scored as 'run' scores it, by the same code; '--row' counts as 'run' does in its file of failed rows. Where
several rows match '--where', the first is taken, and a line on standard error says how many there are. A row that
fails is explained as far as it came.

exit code: 0 the row is explained, also where it fails; 1 there is no such row, or the ensemble or the input is not
valid; 2 wrong usage; 130 interrupted, by Ctrl-C or SIGTERM
"""
_DONE: Final = 0
_FAILED: Final = 1
_NO_MEMORY: Final = "the row needs more memory than there is"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_file_arguments(parser)
    parser.add_argument(
        "--input", metavar="ROWS", required=True, help="take the row from this file (.csv, .jsonl, .parquet)"
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--row", metavar="N", type=whole_number(1, 10**15), help="explain this row, from 1")
    which.add_argument(
        "--where",
        metavar="FIELD=VALUE",
        type=_condition,
        help="explain the first row whose field has this value, as in id=17",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    parser.add_argument(
        "--svg", metavar="PICTURE", help="also draw the ensemble with the row's values to this file (.svg)"
    )
    add_code_argument(parser)


def _condition(text: str) -> tuple[str, str]:
    field, separator, value = text.partition("=")
    if not field or not separator:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not FIELD=VALUE, as in id=17")
    return field, value


def run(args: argparse.Namespace) -> int:
    """Explains the row."""
    misuse = files_misuse(args, args.svg, "picture", ".svg")
    return run_verb("explain", args, _explain, misuse=misuse, no_memory=_NO_MEMORY)


def _explain(args: argparse.Namespace) -> int:
    # Imports Beam: two seconds that --help and a wrong call need not wait for.
    from beam_ensembles.cli.row_choice import explained

    found, matches = explained(
        args.file, args.input, args.row, args.where, parameters=dict(args.parameter), trust=args.trust
    )
    if args.svg is not None and not _draw(found, args.svg):
        return _FAILED
    if args.json:
        print_json({**found.as_data(), **({} if args.row else {"matches": matches})})
    else:
        print_lines(repr(found))
    if matches > 1:
        text = f"{matches:,} rows have {args.where[0]}={args.where[1]}; this is the first, {found.row}"
        say("explain", text)
    return _DONE


def _draw(found: Explanation, path: str) -> bool:
    from beam_ensembles.drawing import svg
    from beam_ensembles.local.explanation_picture import explained_picture
    from beam_ensembles.tables.whole_file import whole_file

    drawn = explained_picture(found)
    if not drawn.fits_svg:
        say("explain", f"the picture would have more than {MOST_DRAWN:,} figures or lines; leave out --svg")
        return False
    with whole_file(path) as file:
        file.write(svg(drawn).encode())
    return True
