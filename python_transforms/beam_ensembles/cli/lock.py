"""``beam-ensembles lock FILE --rows ROWS``: writes down what an ensemble is and answers."""

from __future__ import annotations

import argparse
import os
from typing import Final

from beam_ensembles.cli.ensemble_file import add_file_arguments
from beam_ensembles.cli.number_arguments import whole_number
from beam_ensembles.cli.output import counted, print_json, print_lines
from beam_ensembles.cli.own_code import add_code_argument
from beam_ensembles.cli.reading_rows import files_misuse, run_verb
from beam_ensembles.cli.run_progress import progress
from beam_ensembles.files.lock_names import LOCK, golden_of, lock_of

DESCRIPTION: Final = """\
Write down what an ensemble is and answers, so that 'check' and 'diff' can say later what has changed. The lock is text
to review with a change: the columns that it reads and adds, with types and classes, a digest of each model's file, and
the versions of the libraries that each node needs. Beside it goes a Parquet file of golden rows: a sample of your rows
with the answers of the ensemble and of each node.

examples:
  beam-ensembles lock fraud.yaml --rows sample.parquet
  beam-ensembles lock fraud.yaml --rows sample.jsonl --most-rows 200
  beam-ensembles lock fraud.yaml --rows sample.parquet --output locks/fraud.lock.yaml

files:
  FILE's name with .lock.yaml and with .lock.parquet instead of its suffix. Commit both. Fields that the ensemble does
  not read are kept, so that 'diff' can use a label or a country. Golden rows hold what your rows hold: choose some that
  may be shown to all who see the file. Values of --parameter are in the lock, for 'check'; do not put a secret there.

tolerance:
  Numbers are the same where they differ by less than the lock's tolerance, a share of their size: ten times what they
  differed by in batches of 1 and 7 rows, and at least 1e-6. Whole numbers, texts and labels must be equal.

Rows that fail, even where a node's on_error hides it, are not locked: the command says which, and writes nothing. The
same files and rows give the same lock, byte by byte.

exit code: 0 the lock is written; 1 a row fails, or the ensemble or the rows are not valid; 2 wrong usage;
130 interrupted
"""
_DONE: Final = 0
_MOST_ROWS: Final = 1_000
_NO_MEMORY: Final = "the golden rows need more memory than there is; take fewer (--most-rows)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_file_arguments(parser)
    parser.add_argument(
        "--rows",
        dest="input",
        metavar="ROWS",
        required=True,
        help="take golden rows from this file (.csv, .jsonl, .parquet)",
    )
    parser.add_argument(
        "--most-rows",
        metavar="N",
        type=whole_number(1, 999_999),
        default=_MOST_ROWS,
        help="take at most this many, drawn from all rows (default: 1000)",
    )
    parser.add_argument(
        "--output",
        metavar="LOCK",
        help="write the lock to this file (.lock.yaml; default: beside the ensemble file)",
    )
    parser.add_argument("--json", action="store_true", help="print what was written as a JSON object")
    add_code_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Locks the ensemble."""
    args.output = args.output or lock_of(args.file)
    misuse = files_misuse(args, args.output, "lock", LOCK) or _golden_misuse(args)
    return run_verb("lock", args, _lock, misuse=misuse, no_memory=_NO_MEMORY)


def _golden_misuse(args: argparse.Namespace) -> str | None:
    golden = golden_of(args.output)
    if os.path.realpath(golden) == os.path.realpath(args.input):
        return f"'{golden}' is read, and would be replaced; copy the rows to another file first"
    return None


def _lock(args: argparse.Namespace) -> int:
    # Imports Beam: two seconds that --help and a wrong call need not wait for.
    from beam_ensembles.cli.locking import loaded, write_lock

    with progress() as show:
        show("loading the models")
        ensemble = loaded(args.file, dict(args.parameter), args.trust)
        made = write_lock(ensemble, args.input, args.most_rows, args.output, lambda doing: show(doing))
    lock, golden = made.lock, golden_of(args.output)
    if args.json:
        print_json(
            {
                "lock": args.output,
                "golden": golden,
                "rows": lock.golden.rows,
                "bytes": len(made.golden),
                "tolerance": dict(lock.golden.tolerance),
            }
        )
        return _DONE
    of = "" if lock.golden.rows == lock.golden.sampled_from else f" of {lock.golden.sampled_from:,}"
    largest = max(lock.golden.tolerance.values(), default=0.0)
    lines = [
        f"locked ensemble '{lock.ensemble}': {args.output}",
        f"  golden     {golden} ({counted(lock.golden.rows)}{of}, {len(made.golden):,} bytes)",
        f"  files      {len(lock.files):,} of models, {len(lock.data):,} of other data",
    ]
    lines += [f"  tolerance  {largest:.1e} of a number's size, at most"] if largest else []
    print_lines("\n".join(lines))
    return _DONE
