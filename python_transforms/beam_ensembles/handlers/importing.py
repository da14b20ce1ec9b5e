"""Classes and functions that an ensemble file names, imported on a worker."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from beam_ensembles.errors import InvalidEnsemble, Problem, nearest
from beam_ensembles.graph.files import FileProblem
from beam_ensembles.graph.kinds import CheckedNode, NodeView


def check_import(node: NodeView, key: str, name: str) -> None:
    """Reports a name that may not be imported (``untrusted_code``) or is none (``bad_name``).

    Args:
        node: The node.
        key: The node's key that holds it.
        name: Dotted name of a class or function.
    """
    try:
        node.files.check_code(name)
    except FileProblem as problem:
        node.problem(problem.code, key, str(problem))


def import_name(node: CheckedNode, key: str, name: str) -> Any:
    """Imports a class or function that was checked.

    What a module has itself imported from another package is not taken for its own, or allowing one package would
    allow all that it uses.

    Args:
        node: The node.
        key: The node's key that holds it.
        name: Dotted name of a class or function; nested classes are named with their class.

    Raises:
        InvalidEnsemble: ``import_failed`` where there is no such class or function on this worker.
    """
    try:
        found = _find(name)
    except ImportError as exc:
        raise _failed(node, key, str(exc)) from exc
    if not (inspect.isclass(found) or inspect.isroutine(found)):
        raise _failed(node, key, f"'{name}' is neither a class nor a function, but a {type(found).__name__}")
    if str(found.__module__).partition(".")[0] != name.partition(".")[0]:
        raise _failed(node, key, f"'{name}' is {found.__module__}.{found.__qualname__}; name it there")
    return found


def _find(name: str) -> Any:
    """Imports the longest part of a dotted name that is a module, and takes the rest from it."""
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module_name = ".".join(parts[:end])
        try:
            found: Any = importlib.import_module(module_name)
        except ModuleNotFoundError as exc:
            if exc.name is None or not f"{module_name}.".startswith(f"{exc.name}."):
                raise
            continue
        for part in parts[end:]:
            if not hasattr(found, part):
                raise ImportError(
                    f"'{module_name}' has no '{'.'.join(parts[end:])}'{nearest(part, dir(found))}"
                )
            found = getattr(found, part)
        return found
    raise ImportError(f"this worker has no module '{parts[0]}'")


def _failed(node: CheckedNode, key: str, text: str) -> InvalidEnsemble:
    return InvalidEnsemble([Problem(node.spec.path(key), "import_failed", text)])
