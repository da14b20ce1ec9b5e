"""What the verbs that take an ensemble file share: its arguments, and how its mistakes are shown."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from typing import IO, Final

from beam_ensembles.cli.output import counted
from beam_ensembles.errors import Problem
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.limits import MOST_PROBLEMS

RED: Final = "31"
GREEN: Final = "32"
YELLOW: Final = "33"
SUFFIXES: Final = (".csv", ".jsonl", ".parquet")
"""Those of files of rows."""


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the file, its parameters and whom to trust."""
    parser.add_argument("file", metavar="FILE", help="the ensemble file, YAML or JSON")
    add_parameter_arguments(parser)


def add_parameter_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the parameters of an ensemble file and whom to trust."""
    parser.add_argument(
        "--parameter",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_parameter,
        help="fill ${NAME} in the file (may be repeated)",
    )
    parser.add_argument(
        "--trust",
        metavar="FOLDER",
        action="append",
        default=[],
        type=_folder,
        help="load pickles below this folder or URI without a pin, as below the file's own folder (may be repeated)",
    )


def _parameter(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _folder(text: str) -> str:
    path = local_path(text)
    if path is not None and not os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"there is no folder '{path}'")
    return text


def no_file(path: str) -> str:
    """Returns the problem that there is no file of a name."""
    return f"'{path}' is a folder, not a file" if os.path.isdir(path) else f"there is no file '{path}'"


def rows_misuse(path: str) -> str | None:
    """Returns that a file's name has no suffix of a file of rows, where it has none."""
    if path.lower().endswith(SUFFIXES):
        return None
    return f"'{path}' has none of the suffixes {', '.join(SUFFIXES)}{_hint(path)}"


def _hint(path: str) -> str:
    if path.lower().endswith((".gz", ".bz2", ".xz", ".zst", ".zip")):
        return "; unpack it first" if os.path.exists(path) else "; it cannot be written compressed"
    return "; JSON lines end in .jsonl" if path.lower().endswith((".json", ".ndjson")) else ""


def as_data(problems: Iterable[Problem]) -> list[dict[str, str]]:
    """Returns problems as plain data, for programs."""
    return [{"code": one.code, "path": one.path, "message": one.message} for one in problems]


def wrong(path: str, problems: Sequence[Problem], stream: IO[str]) -> str:
    """Returns problems as lines for people, coloured where the stream is a terminal."""
    more = "at least " if len(problems) >= MOST_PROBLEMS else ""
    count = f"{more}{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    head = f"{coloured('not valid', RED, stream)} {path}: {count}"
    return "\n".join([head, *(f"  {problem}" for problem in problems)])


def wrong_rows(path: str, failed: int, stream: IO[str]) -> str:
    """Returns how many rows of a file failed, coloured where the stream is a terminal."""
    return f"{coloured('not valid', RED, stream)} {path}: {counted(failed)} failed"


def warn(path: str, warnings: Iterable[object]) -> None:
    """Prints what may be wrong with a file that is right, a line each, where errors go."""
    for warning in warnings:
        print(f"{coloured('warning', YELLOW, sys.stderr)} {path}: {warning}", file=sys.stderr)


def coloured(text: str, colour: str, stream: IO[str]) -> str:
    """Colours text for a stream that is a terminal."""
    plain = not stream.isatty() or "NO_COLOR" in os.environ
    return text if plain else f"\033[{colour}m{text}\033[0m"
