"""An ensemble file to a checked graph, whose warnings are logged."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Final

from beam_ensembles.bundles.file_names import is_bundle
from beam_ensembles.bundles.opened import OpenedBundle
from beam_ensembles.errors import WHOLE_FILE, InvalidEnsemble, Problem
from beam_ensembles.files.ensemble_files import ANYTHING, FileProblem, Files
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.load import read_text

_LOGGER: Final = logging.getLogger(__name__)


def checked_with_warnings(
    text: str, files: Files, parameters: Mapping[str, str] | None, *, with_profile: bool = True
) -> EnsembleGraph:
    """Checks an ensemble's text with the kinds of this version, and logs what could not be checked.

    Args:
        text: YAML or JSON.
        files: What it may use.
        parameters: Values of ``${name}`` in it.
        with_profile: Whether the profile of its inputs counts.

    Raises:
        InvalidEnsemble: The text is wrong; everything that is wrong is reported at once.
    """
    graph = check_text(text, KINDS, files, parameters=parameters, with_profile=with_profile)
    for warning in graph.warnings:
        _LOGGER.warning("ensemble '%s': %s", graph.spec.name, warning)
    return graph


def with_own_folder(file: str | os.PathLike[str], trust: Sequence[str]) -> tuple[str, ...]:
    """Returns places to trust for the person who names a file: its own folder, and others."""
    return (os.path.dirname(os.path.abspath(file)), *trust)


def graph_of_file(
    file: str | os.PathLike[str],
    *,
    parameters: Mapping[str, str] | None = None,
    trust: Sequence[str] | None = None,
    with_profile: bool = True,
) -> EnsembleGraph:
    """Reads and checks a file of this machine, for the user who names it.

    Args:
        file: The file, YAML or JSON.
        parameters: Values of ``${name}`` in it.
        trust: Folders whose pickles may be loaded without a ``sha256``. By default its own folder: users trust
            the files of their machine that they name.
        with_profile: Whether the profile of its inputs counts.

    Raises:
        InvalidEnsemble: The file is missing or wrong; everything that is wrong is reported at once.
    """
    given = ensemble_of_file(file, parameters, trust)
    return checked_with_warnings(given.text, given.files, given.parameters, with_profile=with_profile)


def ensemble_of_file(
    file: str | os.PathLike[str],
    parameters: Mapping[str, str] | None = None,
    trust: Sequence[str] | None = None,
) -> OpenedBundle:
    """Reads an ensemble file or a bundle of this machine, for the user who names it, without checking the ensemble.

    The arguments are those of ``graph_of_file``.

    Raises:
        InvalidEnsemble: The file is missing, or the bundle is not as it was packed.
    """
    files, path = files_of(file, trust), os.path.abspath(file)
    if is_bundle(path):
        from beam_ensembles.bundles.opening import open_bundle

        return open_bundle(path, files, parameters)
    return OpenedBundle(read_text(path), files, parameters or {}, path)


def files_of(file: str | os.PathLike[str], trust: Sequence[str] | None = None) -> Files:
    """Returns what a file of this machine may use, for the user who names it; ``trust`` as in ``graph_of_file``.

    Raises:
        InvalidEnsemble: The file is missing.
    """
    path = os.path.abspath(file)
    folder = os.path.dirname(path)
    try:
        Files(trusted=(folder,)).check(path)
    except FileProblem as error:
        raise InvalidEnsemble([Problem(WHOLE_FILE, error.code, str(error))]) from error
    return files_below(folder, trust)


def files_below(folder: str, trust: Sequence[str] | None = None) -> Files:
    """Returns what an ensemble whose files are in a folder may use, for the user who names that folder.

    Args:
        folder: Relative URIs are relative to it.
        trust: As in ``graph_of_file``; by default the folder.
    """
    places = (folder,) if trust is None else tuple(trust)
    return Files(folder, places, code=ANYTHING, hosts=ANYTHING, secrets=ANYTHING, is_own=True)
