"""``beam-ensembles validate FILE``: everything that is wrong with an ensemble file; nothing is run."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.graph.files import Files
from beam_ensembles.runtime.kinds import KINDS
from beam_ensembles.spec.load import read_text

DESCRIPTION: Final = """\
Check an ensemble file and say everything that is wrong with it: names, types, options, and the models' own
signatures where they can be read without running code. Nothing is started and no framework is imported.

exit code: 0 the file is right, 1 it is not, 2 the call is not (there is no such file, for example)
"""
_RIGHT: Final = 0
_WRONG: Final = 1
_USAGE: Final = 2
_RED: Final = "31"
_GREEN: Final = "32"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("file", metavar="FILE", help="the ensemble file, YAML or JSON")
    parser.add_argument(
        "--parameter",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_parameter,
        help="fills ${NAME} in the file; may be given several times",
    )
    parser.add_argument(
        "--trust",
        metavar="FOLDER",
        action="append",
        default=[],
        help="a folder or URI prefix whose pickles may be loaded unpinned, beside the file's own folder",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list of {code, path, message}")


def run(args: argparse.Namespace) -> int:
    """Checks the file and prints what was found."""
    if not os.path.isfile(args.file):
        print(f"beam-ensembles validate: {_no_file(args.file)}", file=sys.stderr)
        return _USAGE
    try:
        graph = _check(args.file, dict(args.parameter), args.trust)
    except InvalidEnsemble as exc:
        print(_as_json(exc.problems) if args.json else _wrong(args.file, exc.problems))
        return _WRONG
    print(_as_json([]) if args.json else _right(args.file, graph))
    return _RIGHT


def _parameter(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _no_file(path: str) -> str:
    return f"'{path}' is a folder, not a file" if os.path.isdir(path) else f"there is no file '{path}'"


def _check(path: str, parameters: dict[str, str], trust: Sequence[str]) -> EnsembleGraph:
    folder = os.path.dirname(os.path.abspath(path))
    return check_text(read_text(path), KINDS, Files(folder, (folder, *trust)), parameters=parameters)


def _as_json(problems: Iterable[Problem]) -> str:
    found = [{"code": problem.code, "path": problem.path, "message": problem.message} for problem in problems]
    return json.dumps(found, indent=2, ensure_ascii=False)


def _wrong(path: str, problems: Sequence[Problem]) -> str:
    count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    head = f"{_coloured('not valid', _RED)} {path}: {count}"
    return "\n".join([head, *(f"  {problem}" for problem in problems)])


def _right(path: str, graph: EnsembleGraph) -> str:
    lines = [f"{_coloured('OK', _GREEN)} {path}: ensemble '{graph.spec.name}'"]
    lines += [f"  reads  {column}: {type_}" for column, type_ in graph.spec.inputs]
    lines += [f"  runs   {node.spec.name}: {node.spec.kind} {node.spec.target}" for node in graph.nodes]
    lines += [f"  adds   {column}: {type_}" for column, type_ in graph.outputs]
    return "\n".join(lines)


def _coloured(text: str, colour: str) -> str:
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ
    return text if plain else f"\033[{colour}m{text}\033[0m"
