"""``beam-ensembles validate FILE``: everything that is wrong with an ensemble file; nothing is run."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final

from beam_ensembles.cli.checking import checked
from beam_ensembles.cli.ensemble_file import (
    GREEN,
    add_file_arguments,
    as_data,
    coloured,
    no_file,
    warn,
    wrong,
)
from beam_ensembles.cli.output import print_json, say
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.printable import printable

DESCRIPTION: Final = """\
Check an ensemble file and say everything that is wrong with it: names, types, options, and the models' own
signatures where they can be read without running code. Nothing is started and no framework is imported.

exit code: 0 the file is right, 1 it is not, 2 the call is not (there is no such file, for example)
"""
_RIGHT: Final = 0
_WRONG: Final = 1
_USAGE: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_file_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON list of {code, path, message}")


def run(args: argparse.Namespace) -> int:
    """Checks the file and prints what was found."""
    if not os.path.isfile(args.file):
        say("validate", no_file(args.file))
        return _USAGE
    try:
        graph = checked(args.file, dict(args.parameter), args.trust)
    except InvalidEnsemble as exc:
        if args.json:
            print_json(as_data(exc.problems))
        else:
            print(wrong(args.file, exc.problems, sys.stdout))
        return _WRONG
    warn(args.file, graph.warnings)
    if args.json:
        print_json([])
    else:
        print(_right(args.file, graph))
    return _RIGHT


def _right(path: str, graph: EnsembleGraph) -> str:
    lines = [f"{coloured('OK', GREEN, sys.stdout)} {path}: ensemble '{graph.spec.name}'"]
    lines += [f"  reads  {column}: {type_}" for column, type_ in graph.spec.inputs]
    lines += [f"  runs   {_runs(node)}" for node in graph.nodes]
    lines += [f"  adds   {column}: {type_}" for column, type_ in graph.outputs]
    return "\n".join([lines[0], *map(printable, lines[1:])])


def _runs(node: CheckedNode) -> str:
    text = f"{node.spec.name}: {node.spec.kind} {node.spec.target}"
    return f"{text} ({'; '.join(node.notes)})" if node.notes else text
