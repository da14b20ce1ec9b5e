"""``beam-ensembles graph FILE``: the picture of an ensemble, as Mermaid's text or as SVG."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from beam_ensembles.cli.checking import checked_file
from beam_ensembles.cli.ensemble_file import YELLOW, add_file_arguments, coloured, no_file, warn, wrong
from beam_ensembles.cli.output import say
from beam_ensembles.drawing import Picture, mermaid, picture, picture_of_names, svg
from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.graph import plan
from beam_ensembles.graph.follow_up_problems import doubts
from beam_ensembles.graph.kinds import options_of
from beam_ensembles.graph.names import check_names, names_of
from beam_ensembles.graph.order import topological
from beam_ensembles.limits import MOST_DRAWN
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.load import examine_text, read_text
from beam_ensembles.spec.model import EnsembleSpec

DESCRIPTION: Final = """\
Draw an ensemble: which node reads whose columns, under which conditions, in which stages.

  beam-ensembles graph digits.yaml -o digits.svg          a picture for a page or a review
  beam-ensembles graph digits.yaml                        Mermaid's text, for Markdown that renders it

A file whose models are missing, or with other mistakes that leave its names right, is drawn all the same, from names
and declared types, without stages. The picture says so, and so does this command.

exit code: 0 the picture is drawn, 1 the file cannot be drawn, 2 wrong usage
"""
_FORMATS: Final = {"mermaid": mermaid, "svg": svg}
_SUFFIXES: Final = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid"}
_HARMLESS: Final = ("missing_parameter",)
"""What may be wrong with a file as it is read, and leaves all of its names readable."""
_DRAWN: Final = 0
_WRONG: Final = 1
_USAGE: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_file_arguments(parser)
    parser.add_argument(
        "--format",
        choices=tuple(_FORMATS),
        help="write this format (default: by the suffix of PICTURE, else mermaid)",
    )
    suffixes = ", ".join(_SUFFIXES)
    parser.add_argument(
        "-o", "--output", metavar="PICTURE", help=f"write the picture to this file ({suffixes})"
    )


def run(args: argparse.Namespace) -> int:
    """Draws the file."""
    message = _misuse(args)
    if message:
        say("graph", message)
        return _USAGE
    try:
        found = _picture(args.file, dict(args.parameter), args.trust)
    except InvalidEnsemble as exc:
        print(wrong(args.file, exc.problems, sys.stderr), file=sys.stderr)
        return _WRONG
    if _format(args) == "svg" and not found.fits_svg:
        would = f"{len(found.figures):,} figures and {found.lines:,} lines"
        text = f"the picture would have {would}; an SVG has {MOST_DRAWN:,}"
        say("graph", f"{args.file}: {text} of each at most; write Mermaid instead: --format mermaid")
        return _WRONG
    text = _FORMATS[_format(args)](found)
    if args.output is None:
        print(text, end="")
        return _DRAWN
    try:
        with open(args.output, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        say("graph", f"'{args.output}' cannot be written: {error.strerror}")
        return _WRONG
    return _DRAWN


def _misuse(args: argparse.Namespace) -> str | None:
    if not os.path.isfile(args.file):
        return no_file(args.file)
    if args.output is None:
        return None
    if os.path.realpath(args.output) == os.path.realpath(args.file):
        return f"'{args.output}' is the ensemble file itself; give the picture another name"
    if args.format is None and _suffix(args.output) not in _SUFFIXES:
        return (
            f"'{args.output}' has none of the suffixes {', '.join(_SUFFIXES)}; choose a format with --format"
        )
    return None


def _format(args: argparse.Namespace) -> str:
    if args.format is not None:
        return str(args.format)
    return "mermaid" if args.output is None else _SUFFIXES[_suffix(args.output)]


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _picture(path: str, parameters: Mapping[str, str], trust: Sequence[str]) -> Picture:
    """Returns the picture of a checked file, or of one whose names at least are right.

    Raises:
        InvalidEnsemble: Not even they are.
    """
    try:
        graph = checked_file(path, parameters, trust)
    except InvalidEnsemble as exc:
        spec = _named(path, parameters)
        if spec is None:
            raise
        _warn(path, exc.problems)
        count = f"{len(exc.problems)} problem{'' if len(exc.problems) == 1 else 's'}"
        return picture_of_names(spec, f"Drawn from names and declared types: the file has {count}.")
    warn(path, graph.warnings)
    return picture(graph, plan(graph))


def _named(path: str, parameters: Mapping[str, str]) -> EnsembleSpec | None:
    """Reads a file that is wrong; None where it says too little, or its names are wrong."""
    spec, problems = examine_text(read_text(path), options_of(KINDS), parameters=parameters)
    if spec is None or any(problem.code not in _HARMLESS for problem in problems):
        return None
    certain = doubts(spec, ())
    names = names_of(spec, certain)
    _, cycles = topological(
        [node.name for node in spec.nodes], {node.name: names.predecessors(node) for node in spec.nodes}
    )
    return None if cycles or any(check_names(spec, names, certain)) else spec


def _warn(path: str, problems: Sequence[Problem]) -> None:
    head = coloured("warning", YELLOW, sys.stderr)
    print(f"{head} {path}: not valid yet, so it is drawn from its names and declared types:", file=sys.stderr)
    for problem in problems:
        print(f"  {problem}", file=sys.stderr)
