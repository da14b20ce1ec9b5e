"""``beam-ensembles generate LANGUAGE FILE``: row types of an ensemble, and functions that run it, as source code."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator
from typing import Final

from beam_ensembles.cli.checking import checked_or_told
from beam_ensembles.cli.ensemble_file import add_file_arguments, no_file
from beam_ensembles.cli.output import print_lines, say
from beam_ensembles.code_generation import LANGUAGES, CannotGenerate, Source, is_current, rows_of, write
from beam_ensembles.spec.language import NAME_RULE, is_name
from beam_ensembles.types import Type, TypeSyntaxError, parse_type

DESCRIPTION: Final = """\
Write the row types of an ensemble as source code: the rows that go in, the scored rows, and the rows that could not be
scored; with functions that run the ensemble on them. The file is checked first; nothing is run.

examples:
  beam-ensembles generate go flowers.yaml -o flowers --field id=int64
  beam-ensembles generate java flowers.yaml -o src/main/java --package com.example.flowers --field id=int64
  beam-ensembles generate python flowers.yaml -o . --field id=int64
  beam-ensembles generate go flowers.yaml -o flowers --field id=int64 --check

The same file gives the same code. Java files go below DIR into the folders of their package.

exit code: 0 the code is written, or with --check up to date; 1 the file is not valid, its rows cannot be written in the
language, or with --check the code is missing or stale; 2 wrong usage
"""
_DONE: Final = 0
_FAILED: Final = 1
_USAGE: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("language", metavar="LANGUAGE", choices=tuple(LANGUAGES), help=", ".join(LANGUAGES))
    add_file_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="DIR", required=True, help="write the code below this folder"
    )
    parser.add_argument(
        "--package",
        metavar="NAME",
        help="name the package of the Go or Java code (default: for Go the name of DIR; else, and where DIR is '.', "
        "the ensemble's name in lower-case letters)",
    )
    parser.add_argument(
        "--field",
        metavar="NAME=TYPE",
        action="append",
        default=[],
        type=_field,
        help="add a field to the rows that the ensemble does not read, such as id=int64 (may be repeated)",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if the code is missing or stale"
    )


def _field(text: str) -> tuple[str, Type]:
    name, separator, type_ = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=TYPE")
    if not is_name(name):
        raise argparse.ArgumentTypeError(f"'{name}' is not a valid name of a field: {NAME_RULE}")
    try:
        return name, parse_type(type_)
    except TypeSyntaxError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(args: argparse.Namespace) -> int:
    """Checks the file, and writes the code or compares it."""
    message = _misuse(args)
    if message is not None:
        say("generate", message)
        return _USAGE
    graph = checked_or_told(args)
    if graph is None:
        return _FAILED
    taken = {*(name for name, _ in graph.spec.inputs), *(name for name, _ in graph.outputs)}
    for name, _ in args.field:
        if name in taken:
            say("generate", f"the rows have a field '{name}' already, which --field names; leave it out")
            return _USAGE
        taken.add(name)
    try:
        rows = rows_of(graph, os.path.basename(args.file), args.field)
        language = LANGUAGES[args.language]
        source = language.source(rows, args.package or language.package_in(args.output))
        return _check(args, source) if args.check else _write(args, source)
    except CannotGenerate as error:
        say("generate", f"{args.file}: {error}")
        return _FAILED


def _misuse(args: argparse.Namespace) -> str | None:
    """Returns one sentence on what is wrong with the call, if anything is."""
    if not os.path.isfile(args.file):
        return no_file(args.file)
    if not args.output:
        return "--output is empty; give a folder, such as '.'"
    if os.path.exists(args.output) and not os.path.isdir(args.output):
        return f"'{args.output}' is not a folder"
    return None if args.package is None else LANGUAGES[args.language].check_package(args.package)


def _write(args: argparse.Namespace, source: Source) -> int:
    path = os.path.join(args.output, source.path)
    if is_current(source, args.output):
        print_lines(f"{path} is up to date")
        return _DONE
    try:
        write(source, args.output)
    except OSError as error:
        say("generate", f"'{path}' cannot be written: {error.strerror}")
        return _FAILED
    print_lines(f"wrote {path}")
    return _DONE


def _check(args: argparse.Namespace, source: Source) -> int:
    path = os.path.join(args.output, source.path)
    if is_current(source, args.output):
        print_lines(f"{path} is up to date")
        return _DONE
    state = f"is not what {args.file} says now" if os.path.exists(path) else "is missing"
    say("generate", f"'{path}' {state}; run: {shlex.join(_command(args))}")
    return _FAILED


def _command(args: argparse.Namespace) -> Iterator[str]:
    """Yields the words of the command that writes the code; values of parameters may be secrets and are left out."""
    yield from ("beam-ensembles", "generate", args.language, args.file, "-o", args.output)
    if args.package is not None:
        yield from ("--package", args.package)
    for name, type_ in args.field:
        yield from ("--field", f"{name}={type_}")
    for name, _ in args.parameter:
        yield from ("--parameter", f"{name}=...")
    for place in args.trust:
        yield from ("--trust", place)
