"""``--code PATH``: modules of the user's that models, handlers and functions need, for a verb that loads them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable


def add_code_argument(parser: argparse.ArgumentParser) -> None:
    """Adds the argument; what it takes is what ``pack`` takes, and a folder of modules."""
    parser.add_argument(
        "--code",
        metavar="PATH",
        action="append",
        default=[],
        type=_importable,
        help="import from this folder of modules, package's folder, module or wheel, for models or functions that "
        "need it (may be repeated)",
    )


def import_from(places: Iterable[str]) -> None:
    """Add places to those that this process, and the processes that it starts, import from, before all others."""
    for place in places:
        if place not in sys.path:
            sys.path.insert(0, place)


def _importable(path: str) -> str:
    """Returns what must be on Python's path for a module, a package or what is in a folder or wheel to be imported."""
    real = os.path.abspath(path)
    if os.path.isfile(os.path.join(real, "__init__.py")) or (os.path.isfile(real) and real.endswith(".py")):
        return os.path.dirname(real)
    if os.path.isdir(real) or (os.path.isfile(real) and real.endswith(".whl")):
        return real
    known = "a folder, a module (.py) or a wheel (.whl)"
    raise argparse.ArgumentTypeError(
        f"'{path}' is not {known}" if os.path.exists(real) else f"there is no '{path}'"
    )
