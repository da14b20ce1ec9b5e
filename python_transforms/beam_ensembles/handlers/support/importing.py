"""Classes and functions that an ensemble file names, imported on a worker."""

from __future__ import annotations

import fnmatch
import importlib
import inspect
from collections.abc import Sequence
from typing import Any

from beam_ensembles.errors import ENDS_THE_PROGRAM, InvalidEnsemble, NodeError, Problem, listed, nearest
from beam_ensembles.files.ensemble_files import LIBRARY_CODE, FileProblem, Files, is_of_library
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.handlers.support.load_failures import BRING_CODE, reason
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.spec.places import below


class ImportOptions(Options):
    """The modules to import before a model is loaded."""

    imports: list[Any] = option(
        [],
        "Modules that are imported before the model is loaded, such as those that register its layers or operators.",
        last=True,
    )


def check_modules(node: NodeView[ImportOptions]) -> None:
    """Reports modules under ``imports`` that are no names, or that nobody allowed: importing one runs its code."""
    for index, name in enumerate(node.options.imports):
        place = below("imports", index)
        if not isinstance(name, str):
            node.problem("wrong_type", place, f"a module is a text such as 'package.module', not {name!r}")
        elif not all(part.isidentifier() for part in name.split(".")):
            node.problem("bad_name", place, f"'{name}' is not a module's name, such as 'package.module'")
        elif not is_vouched_for(node.files, name):
            text = f"importing '{name}' runs its code, which no flag allows"
            how = f"allow it when starting the service: --allow-code '{name}'"
            node.problem("untrusted_code", place, f"{text}; {how}")


def import_modules(node: CheckedNode[ImportOptions]) -> None:
    """Imports what a node names under ``imports``.

    Raises:
        InvalidEnsemble: ``import_failed``: a module is not there, or raises an error itself.
    """
    for index, name in enumerate(node.options.imports):
        place = below("imports", index)
        try:
            importlib.import_module(name)
        except ENDS_THE_PROGRAM:
            raise
        except ImportError as exc:
            raise _failed(node, place, f"importing '{name}': {reason(exc)}") from exc
        except BaseException as exc:  # what stands in a module may raise anything, and call sys.exit()
            raise _failed(node, place, f"importing '{name}' raises {NodeError.of(exc).message}") from exc


def check_import(node: NodeView, key: str, name: str, *, library: Sequence[str] | None = None) -> None:
    """Reports a name that may not be imported (``untrusted_code``) or is none (``bad_name``).

    Args:
        node: The node.
        key: The node's key that holds it.
        name: Dotted name of a class or function.
        library: Which names of known libraries (patterns) are allowed by default; None for all of them. Some of
            their functions run code of files, or start programs.
    """
    try:
        node.files.check_code(name)
    except FileProblem as problem:
        node.problem(problem.code, key, str(problem))
        return
    is_known = library is None or any(fnmatch.fnmatchcase(name, pattern) for pattern in library)
    if not is_known and not is_vouched_for(node.files, name):
        text = f"'{name}' runs code that no flag allows (allowed by default: {listed(library or ())})"
        node.problem(
            "untrusted_code", key, f"{text}; allow it when starting the service: --allow-code '{name}'"
        )


def is_vouched_for(files: Files, name: str) -> bool:
    """Returns whether somebody allowed a name, rather than the defaults."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in files.code if pattern not in LIBRARY_CODE)


def import_name(node: CheckedNode, key: str, name: str) -> Any:
    """Imports a class or function that was checked.

    What a module has itself imported from another package is not taken for its own, or allowing one package would
    allow all that it uses. Of a known library only what is defined in its allowed modules is taken.

    Args:
        node: The node.
        key: The node's key that holds it.
        name: Dotted name of a class or function; nested classes are named with their class.

    Raises:
        InvalidEnsemble: ``import_failed`` where there is no such class or function on this worker.
    """
    try:
        found = _find(name)
    except ENDS_THE_PROGRAM:
        raise
    except ModuleNotFoundError as exc:
        raise _failed(node, key, f"importing '{name}': {reason(exc)}") from exc
    except ImportError as exc:
        raise _failed(node, key, text_of(exc)) from exc
    except BaseException as exc:  # what stands in a module may raise anything, and call sys.exit()
        raise _failed(node, key, f"importing '{name}' raises {NodeError.of(exc).message}") from exc
    if not (inspect.isclass(found) or inspect.isroutine(found)):
        raise _failed(node, key, f"'{name}' is neither a class nor a function, but a {type(found).__name__}")
    if str(found.__module__).partition(".")[0] != name.partition(".")[0]:
        raise _failed(node, key, f"'{name}' is {found.__module__}.{found.__qualname__}; name it there")
    if not _is_at_home(found, name):
        text = f"'{name}' is {found.__module__}.{found.__qualname__}, which is not among the allowed names"
        raise _failed(node, key, f"{text} ({listed(LIBRARY_CODE)})")
    return found


def _is_at_home(found: Any, name: str) -> bool:
    """Whether what a library's name stands for is defined in the modules that its pattern allows."""
    modules = [
        pattern.partition("*")[0].rpartition(".")[0]
        for pattern in LIBRARY_CODE
        if fnmatch.fnmatchcase(name, pattern)
    ]
    defined = f"{found.__module__}.".replace("keras.src.", "keras.", 1)
    return not modules or any(defined.startswith(f"{module}.") for module in modules)


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
    how = "install it" if is_of_library(name) else BRING_CODE
    raise ImportError(f"this worker has no module '{parts[0]}'; {how}")


def _failed(node: CheckedNode, key: str, text: str) -> InvalidEnsemble:
    return InvalidEnsemble([Problem(node.spec.path(key), "import_failed", text)])
