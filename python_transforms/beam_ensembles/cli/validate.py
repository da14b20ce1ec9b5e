"""``beam-ensembles validate FILE``: everything that is wrong with an ensemble file, with ``--load`` its models too."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from typing import TYPE_CHECKING, Final

from beam_ensembles.cli.checking import checked_with_lock, contents
from beam_ensembles.cli.ensemble_file import (
    GREEN,
    add_file_arguments,
    as_data,
    coloured,
    no_file,
    rows_misuse,
    warn,
    wrong,
    wrong_rows,
)
from beam_ensembles.cli.output import print_json, say
from beam_ensembles.cli.own_code import add_code_argument, import_from
from beam_ensembles.errors import EnsembleError, InvalidEnsemble, InvalidRows
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.messages.printable import printable

if TYPE_CHECKING:
    from beam_ensembles.cli.validate_load import Report

DESCRIPTION: Final = """\
Check an ensemble file and report every problem: names, types, options, and the models' own signatures where they can be
read without running code. Nothing is started and no framework is imported.

With --load, also load every model as a worker would, with the same trust, and ask it a few made-up rows: one alone,
two, and five together. This finds what only a model itself can show: missing libraries and other versions of them, a
model that fails on one row, answers of other types than declared, rows that change each other's answers. It prints the
versions of the libraries, the classes that a model names, what it returns, and how long that took.

With --load --rows, score a file of your own rows instead of trusting made-up ones alone. Servers are called then,
too; otherwise they are only asked what they serve. Nothing is written.

Where the file has a lock ('beam-ensembles lock'), a warning says what has changed since: nodes, columns, models' files.

examples:
  beam-ensembles validate flowers.yaml
  beam-ensembles validate flowers.yaml --load
  beam-ensembles validate flowers.yaml --load --rows few.jsonl
  beam-ensembles validate flowers.yaml --load --rows few.parquet --json
  beam-ensembles validate flowers.yaml --load --code src/

With --json, print an object with the 'problems'. Of a valid file, which has none, it also has the 'inputs' and
'outputs' with their types, the 'labels' of outputs whose classes are known, and the 'parameters'.

exit code: 0 the file is valid; 1 it is not, or with --load a model cannot be loaded or a row fails; 2 wrong usage
(there is no such file, for example); 130 interrupted
"""
_RIGHT: Final = 0
_WRONG: Final = 1
_USAGE: Final = 2
_INTERRUPTED: Final = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_file_arguments(parser)
    parser.add_argument(
        "--load", action="store_true", help="also load the models, and ask them a few made-up rows"
    )
    parser.add_argument(
        "--rows", metavar="ROWS", help="with --load: score this file of rows (.csv, .jsonl, .parquet)"
    )
    add_code_argument(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a JSON object: 'problems' is a list of {code, path, message}; of a valid file also 'inputs', "
        "'outputs', 'labels' and 'parameters'; with --load also 'warnings', 'nodes' and 'rows'",
    )


def run(args: argparse.Namespace) -> int:
    """Checks the file and prints what was found."""
    message = _misuse(args)
    if message is not None:
        say("validate", message)
        return _USAGE
    try:
        graph, stale = checked_with_lock(args.file, dict(args.parameter), args.trust)
    except InvalidEnsemble as exc:
        return _wrong(args, args.file, exc)
    warn(args.file, [*graph.warnings, *([stale] if stale else [])])
    if args.load:
        import_from(args.code)
        return _load(args, graph)
    if args.json:
        print_json({"problems": [], **contents(graph)})
    else:
        print(_right(args.file, graph))
    return _RIGHT


def _misuse(args: argparse.Namespace) -> str | None:
    """Returns one sentence on what is wrong with the call, if anything is."""
    if not os.path.isfile(args.file):
        return no_file(args.file)
    if args.rows is None:
        return None
    if not args.load:
        return "--rows is for the models that --load loads; add --load"
    if not os.path.isfile(args.rows):
        return no_file(args.rows)
    return rows_misuse(args.rows)


def _wrong(args: argparse.Namespace, path: str, error: InvalidEnsemble, report: Report | None = None) -> int:
    if not args.json:
        print(wrong(path, error.problems, sys.stdout))
    else:
        problems = as_data(error.problems)
        print_json({"problems": problems} if report is None else report.as_data(problems))
    return _WRONG


def _load(args: argparse.Namespace, graph: EnsembleGraph) -> int:
    # Beam logs warnings when it is imported, about what this verb does not use.
    logging.basicConfig(level=logging.ERROR)
    # Imports Beam: two seconds that a check without models need not wait for.
    from beam_ensembles.cli.validate_load import load_and_ask

    try:
        report = load_and_ask(graph, args.file, args.rows, dict(args.parameter), args.trust)
    except KeyboardInterrupt:
        say("validate", "interrupted")
        return _INTERRUPTED
    except InvalidRows as error:
        return _wrong(args, args.rows, error)
    except EnsembleError as error:
        say("validate", str(error))
        return _WRONG
    warn(args.file, report.warnings)
    if report.problems:
        return _wrong(args, args.file, InvalidEnsemble(report.problems), report)
    if args.json:
        print_json({**report.as_data([]), **contents(graph)})
    else:
        head = (
            _right(args.file, graph)
            if not report.failed
            else wrong_rows(args.rows, report.failed, sys.stdout)
        )
        print("\n".join([head, *map(printable, report.as_lines())]))
    return _WRONG if report.failed else _RIGHT


def _right(path: str, graph: EnsembleGraph) -> str:
    lines = [f"{coloured('OK', GREEN, sys.stdout)} {path}: ensemble '{graph.spec.name}'"]
    lines += [f"  reads  {column}: {type_}" for column, type_ in graph.spec.inputs]
    lines += [f"  runs   {_runs(node)}" for node in graph.nodes]
    lines += [f"  adds   {column}: {type_}" for column, type_ in graph.outputs]
    return "\n".join([lines[0], *map(printable, lines[1:])])


def _runs(node: CheckedNode) -> str:
    text = f"{node.spec.name}: {node.spec.kind} {node.spec.target}"
    return f"{text} ({'; '.join(node.notes)})" if node.notes else text
