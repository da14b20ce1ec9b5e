"""The user's code of a bundle, in the process that runs its models: importable, with all that it needs there."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
import sys
from collections.abc import Iterable
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.tags import sys_tags

from beam_ensembles.bundles.archive import manifest_in
from beam_ensembles.bundles.code_requirements import is_wanted, requirement_of, tags_of
from beam_ensembles.bundles.manifest import CODE
from beam_ensembles.errors import WHOLE_FILE, InvalidEnsemble, Problem, listed
from beam_ensembles.graph.kinds import CheckedNode

_HOW: Final = "install it where the workers run, or pack its wheel: beam-ensembles pack --code"


def use_code_of(nodes: Iterable[CheckedNode]) -> None:
    """Puts the code of nodes' bundles on this process's import path, before they are loaded.

    Raises:
        InvalidEnsemble: ``missing_requirement``: this process lacks what the code needs. ``code_conflict``: it has
            imported another module of that name before.
    """
    for bundle in {node.files.bundle.root: node.files.bundle for node in nodes if node.files.bundle}.values():
        if bundle.is_trusted:
            _use(bundle.root, bundle.name)


@functools.cache
def _use(root: str, name: str) -> None:
    manifest = manifest_in(root)
    if manifest is None:
        return
    folder = os.path.join(root, CODE)
    _check_wheels(manifest.wheels, name)
    if manifest.code:
        _check_imported(manifest.code, folder, name)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
    _check_requirements(manifest.requirements, name)


def _check_imported(modules: Iterable[str], folder: str, name: str) -> None:
    for module in modules:
        found: Any = sys.modules.get(module)
        if found is None:
            continue
        place = getattr(found, "__file__", None) or next(iter(getattr(found, "__path__", ())), "")
        if not str(place).startswith(f"{folder}/"):
            text = (
                f"the bundle '{name}' brings the code '{module}', but this process has imported '{module}' from "
                f"'{place}' before; a process can have one of that name"
            )
            raise InvalidEnsemble([Problem(WHOLE_FILE, "code_conflict", text)])


def _check_requirements(requirements: Iterable[str], name: str) -> None:
    lacking = [text for line in requirements if (text := _lacking(requirement_of(line)))]
    if lacking:
        text = f"this worker lacks what the code of the bundle '{name}' needs: {listed(lacking)}; {_HOW}"
        raise InvalidEnsemble([Problem(WHOLE_FILE, "missing_requirement", text)])


def _lacking(requirement: Requirement) -> str:
    """Returns what is missing of a requirement; an empty text where nothing is."""
    if not is_wanted(requirement):
        return ""
    wanted = f"{requirement.name}{requirement.specifier}"
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return f"{wanted} (not installed)"
    fits = requirement.specifier.contains(version, prereleases=True)
    return "" if fits else f"{wanted} (it has {version})"


def _check_wheels(wheels: Iterable[str], name: str) -> None:
    """Refuses wheels of another Python or another kind of machine: they would fail somewhere in their middle."""
    here = set(sys_tags()) if wheels else set()
    for wheel in wheels:
        if here.isdisjoint(tags_of(wheel)):
            python = f"{sys.version_info.major}.{sys.version_info.minor}"
            text = f"the wheel '{wheel}' of the bundle '{name}' is not for this worker, which runs Python {python}"
            raise InvalidEnsemble([Problem(WHOLE_FILE, "missing_requirement", text)])
