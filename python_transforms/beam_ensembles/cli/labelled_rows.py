"""Arguments and progress that verbs share which score labelled rows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from beam_ensembles.cli.number_arguments import whole_number
from beam_ensembles.cli.own_code import add_code_argument

if TYPE_CHECKING:
    from beam_ensembles.cli.run_progress import Show
    from beam_ensembles.evaluation.request import Progress
    from beam_ensembles.tables.chunk import Reader


def add_input(parser: argparse.ArgumentParser) -> None:
    """Adds the file of rows."""
    parser.add_argument(
        "--input",
        metavar="ROWS",
        required=True,
        help="read labelled rows from this file (.csv, .jsonl, .parquet)",
    )


def add_answer(parser: argparse.ArgumentParser) -> None:
    """Adds the output that is judged."""
    parser.add_argument(
        "--answer",
        metavar="COLUMN",
        help="judge this output of the ensemble (default: the first that can be)",
    )


def add_scoring(parser: argparse.ArgumentParser) -> None:
    """Adds how rows are scored, and with which code of the user's."""
    parser.add_argument(
        "--batch-size",
        metavar="N",
        type=whole_number(1),
        default=1_024,
        help="score at most this many rows at once (default: 1024)",
    )
    parser.add_argument(
        "--cache",
        metavar="DIR",
        help="keep answers of models in this folder, and find them there where nothing has changed that they depend on",
    )
    add_code_argument(parser)


def telling(show: Show) -> Progress:
    """Returns what tells a progress line of the rows that are scored."""

    def tell(doing: str, reader: Reader | None, rows: int) -> None:
        show(doing, done=reader.done if reader else 0, total=reader.total if reader else None, rows=rows)

    return tell
