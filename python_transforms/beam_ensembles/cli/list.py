"""``beam-ensembles list``: what a node can run, what of it is installed here, and which keys it takes."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.cli.output import print_json, say
from beam_ensembles.errors import nearest
from beam_ensembles.graph.kinds import Kind
from beam_ensembles.graph.options import Option
from beam_ensembles.registry import KINDS, PROJECT

DESCRIPTION: Final = """\
Show the kinds that a node of an ensemble file can run, whether their packages are installed here, and their keys
besides 'inputs' and 'outputs'. No framework is imported to find out. Kinds that other installed distributions
add are shown with the distribution's name and version; the problems of a broken one go to standard error.
"""
_OK: Final = 0
_WRONG_USAGE: Final = 2
_NAME_WIDTH: Final = 22
_SHOWN: Final = ("name", "accepts", "description", "required", "choices", "default")
"""The facts that are shown of an option."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="KIND",
        help="show only kinds of this name, such as sklearn (default: all)",
    )
    parser.add_argument("--short", action="store_true", help="print one line per kind, without keys")
    parser.add_argument("--json", action="store_true", help="print a JSON list, one object per kind")


def run(args: argparse.Namespace) -> int:
    """Prints the table of kinds."""
    usable = list(KINDS.usable())
    known = sorted({kind.name for kind in usable})
    for name in args.names:
        if name not in known:
            say("list", f"there is no kind '{name}'{nearest(name, known)}")
            return _WRONG_USAGE
    kinds = [describe(kind) for kind in usable if not args.names or kind.name in args.names]
    if args.json:
        print_json(kinds)
    elif args.short:
        print("\n".join(_short_line(kind) for kind in kinds))
    else:
        print("\n\n".join(_lines(kind) for kind in kinds))
    for error in KINDS.unusable():
        say("list", str(error))
    return _OK


def describe(kind: Kind) -> dict[str, Any]:
    """Describes a kind of node as plain data."""
    missing = [module for module in kind.modules if not _is_installed(module)]
    return {
        "key": kind.kind,
        "name": kind.name,
        "summary": kind.summary,
        "takes": kind.takes,
        "gives": kind.gives,
        "distribution": dataclasses.asdict(kind.distribution or PROJECT),
        "extra": kind.extra,
        "install": f"pip install '{kind.distribution_name}[{kind.extra}]'" if kind.extra else None,
        "installed": not missing,
        "missing_modules": missing,
        "missing_libraries": kind.missing_libraries(),
        "options": [_option(option) for option in kind.keys],
    }


def _is_installed(module: str) -> bool:
    packages = [name.partition(".")[0] for name in module.split("|")]  # a module within one would be imported
    return any(importlib.util.find_spec(package) is not None for package in packages)


def _option(option: Option) -> dict[str, Any]:
    return {key: getattr(option, key) for key in _SHOWN} | {"choices": list(option.choices)}


def _short_line(kind: Mapping[str, Any]) -> str:
    head = f"{kind['key']}: {kind['name']}"
    return f"{head:<{_NAME_WIDTH}} {_lacks(kind) or kind['summary']}"


def _lacks(kind: Mapping[str, Any]) -> str:
    """Returns what a kind lacks to run here, or nothing."""
    if not kind["installed"]:
        return f"not installed: {kind['install'] or ', '.join(kind['missing_modules'])}"
    return kind["missing_libraries"] or ""


def _lines(kind: Mapping[str, Any]) -> str:
    head = f"{kind['key']}: {kind['name']}"
    if kind["distribution"]["name"] != PROJECT.name:
        head = f"{head}  (from {kind['distribution']['name']} {kind['distribution']['version']})"
    lacks = _lacks(kind)
    return "\n".join(
        [
            f"{head}  ({lacks})" if lacks else head,
            f"  {kind['summary']}",
            f"  inputs   {kind['takes']}",
            f"  outputs  {kind['gives']}",
            *(_option_line(one) for one in kind["options"]),
        ]
    )


def _option_line(option: Mapping[str, Any]) -> str:
    notes = ["required"] if option["required"] else []
    notes += [f"one of {', '.join(option['choices'])}"] if option["choices"] else []
    notes += [f"default: {option['default']}"] if option["default"] else []
    note = f" ({'; '.join(notes)})" if notes else ""
    return f"  {option['name']:<16} {option['accepts']:<8} {option['description']}{note}"
