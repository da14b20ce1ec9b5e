"""Code that an ensemble needs and its bundle lacks: what the file names, and what the pickles among its models name."""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from beam_ensembles.bundles.manifest import CODE
from beam_ensembles.bundles.pickled_names import names_in

_MAIN: Final = "__main__"
_KNOWN: Final = frozenset((
    *sys.stdlib_module_names, "__builtin__", "__torch__", "apache_beam", "beam_ensembles", "copy_reg",
))  # fmt: skip
"""Modules that every worker has: those of Python, Beam and this package; TorchScript brings its own code."""
_INSTALLED: Final = ("dist-packages", "site-packages")


def lacking_code(
    named: Iterable[str], members: Mapping[str, str], packed: Collection[str], folder: str
) -> tuple[str, ...]:
    """Returns a sentence for each module that somebody needs and nobody has packed or installed.

    Args:
        named: The classes and functions that the ensemble file names.
        members: The files of the bundle: their names, and their paths on this machine.
        packed: The top-level modules that the bundle brings.
        folder: The ensemble file's folder, where the code may be.
    """
    needs = {"the ensemble file": sorted(named)}
    for name, path in members.items():
        if not name.startswith(f"{CODE}/"):
            needs[f"'{name.partition('/')[2]}'"] = sorted(names_in(path))
    found: dict[str, str] = {}
    for who, names in needs.items():
        for name in names:
            module = name.partition(".")[0]
            if module not in found and module not in packed and not _is_installed(module):
                found[module] = _said(who, name, module, folder)
    return tuple(found.values())


def installed_folders() -> list[str]:
    """Returns the folders of ``sys.path`` that packages are installed in."""
    return [path for path in sys.path if os.path.basename(path) in _INSTALLED]


def _is_installed(module: str) -> bool:
    return module in _KNOWN or _spec(module, installed_folders()) is not None


def _spec(module: str, folders: Sequence[str]) -> importlib.machinery.ModuleSpec | None:
    """Finds a top-level module without importing it."""
    return importlib.machinery.PathFinder.find_spec(module, folders)


def _said(who: str, name: str, module: str, folder: str) -> str:
    if module == _MAIN:
        return (
            f"{who} needs '{name}' of the script or notebook that saved it, which workers do not have; define it in "
            "a module, save the model again and pack that module: --code MODULE.py"
        )
    text = f"{who} needs '{name}', but the module '{module}' is not packed"
    path = _place(module, folder)
    if path is None:
        return f"{text}, and it is not installed here; name its folder, file or wheel: --code PATH"
    return f"{text}: --code {path}"


def _place(module: str, folder: str) -> str | None:
    """Returns what ``--code`` could name: a package's folder or a module's file."""
    spec = _spec(module, [folder, os.getcwd(), *sys.path])
    if spec is None:
        return None
    if spec.submodule_search_locations:
        path = next(iter(spec.submodule_search_locations))
        return path if os.path.exists(os.path.join(path, "__init__.py")) else None
    return spec.origin if spec.origin is not None and spec.origin.endswith(".py") else None
