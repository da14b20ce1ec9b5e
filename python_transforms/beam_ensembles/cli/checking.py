"""Checks an ensemble file as the person who named it on the command line trusts it, and says what is in it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from beam_ensembles.cli.ensemble_file import warn, wrong
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.lock_names import lock_of
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.graph.class_meanings import LABELS, SCORES, declared
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.loading import ensemble_of_file, with_own_folder


def checked_file(path: str, parameters: Mapping[str, str], trust: Sequence[str]) -> EnsembleGraph:
    """Reads and checks an ensemble file; its own folder is trusted, and so are the code and secrets that it names.

    Args:
        path: The file.
        parameters: Values of ``${name}``.
        trust: Further folders and URI prefixes to trust.

    Raises:
        InvalidEnsemble: With everything that is wrong.
    """
    given = ensemble_of_file(path, parameters, with_own_folder(path, trust))
    return check_text(given.text, KINDS, given.files, parameters=given.parameters)


def checked_with_lock(
    path: str, parameters: Mapping[str, str], trust: Sequence[str]
) -> tuple[EnsembleGraph, str | None]:
    """Does what ``checked_file`` does, and looks at the lock beside the file.

    Returns:
        The graph, and why the lock is stale; None where it is not, or where there is none.

    Raises:
        InvalidEnsemble: With everything that is wrong.
    """
    given = ensemble_of_file(path, parameters, with_own_folder(path, trust))
    if not os.path.isfile(lock_of(given.path)):
        return check_text(given.text, KINDS, given.files, parameters=given.parameters), None
    from beam_ensembles.locks.digests import collecting
    from beam_ensembles.locks.stale import stale_lock

    files = collecting(given.files)
    graph = check_text(given.text, KINDS, files, parameters=given.parameters)
    return graph, stale_lock(given.path, graph, files)


def checked_or_told(args: argparse.Namespace) -> EnsembleGraph | None:
    """Returns the checked graph of a verb's file, whose warnings it prints, or prints what is wrong with the file.

    Args:
        args: With the arguments of ``add_file_arguments``.
    """
    try:
        graph = checked_file(args.file, dict(args.parameter), args.trust)
    except InvalidEnsemble as exc:
        print(wrong(args.file, exc.problems, sys.stderr), file=sys.stderr)
        return None
    warn(args.file, graph.warnings)
    return graph


def contents(graph: EnsembleGraph) -> dict[str, Any]:
    """Returns what a caller needs to know of an ensemble, as plain data: its columns, classes and parameters."""
    return {
        "ensemble": graph.spec.name,
        "description": graph.spec.description,
        "inputs": {column: str(type_) for column, type_ in graph.spec.inputs},
        "outputs": {column: str(type_) for column, type_ in graph.outputs},
        "labels": _labels(graph),
        "parameters": list(graph.spec.parameters),
    }


def _labels(graph: EnsembleGraph) -> dict[str, list[str | int]]:
    """Returns the classes of each output that holds one of them, or a score for each in this order."""
    known = {
        column: meaning.classes
        for node in graph.nodes
        for column, meaning in declared(node.spec, node.told).items()
        if meaning.classes is not None and meaning.holds in (LABELS, SCORES)
    }
    return {column: list(known[column]) for column, _ in graph.outputs if column in known}
