"""Are a worker's versions those of the service? Asked on the worker before it unpickles anything that the service sent.

The text of this file travels in front of every pickled function (``Guarded``), so a worker that has another version of
this project, or lacks it, runs the sender's own check. Therefore it imports nothing but the standard library, and does
nothing that Python 3.8 could not do.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pickle
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

PROJECT = "beam-ensembles"
_MODULES = {PROJECT: "beam_ensembles", "Beam": "apache_beam"}
_NONE = "none"
_PLUGIN = "plugin "
"""In front of the name of a distribution that adds kinds."""


def versions(plugins: Iterable[str] = ()) -> dict[str, str]:
    """Returns the versions that must be the same on both sides: this project's, Beam's, and Python's first two numbers.

    Args:
        plugins: Names of distributions that add kinds, whose versions are given, too.
    """
    found = {name: _version(module) for name, module in _MODULES.items()}
    found["Python"] = "{}.{}".format(*sys.version_info[:2])
    return {**found, **{_PLUGIN + name: _installed(name) for name in plugins}}


def check(sent: Mapping[str, str], ensemble: str) -> None:
    """Refuses to go on where the versions are not those of the sender.

    Args:
        sent: The sender's ``versions``.
        ensemble: The ensemble's name.

    Raises:
        EnsembleError: They differ. (``RuntimeError`` on a worker without this project.)
    """
    here = versions(name[len(_PLUGIN) :] for name in sent if name.startswith(_PLUGIN))
    other = [name for name in sent if here.get(name) != sent[name]]
    if other:
        raise _error()(
            f"ensemble '{ensemble}' was expanded with {_listed(sent, list(sent))}, but this worker has "
            f"{_listed(here, other)}: the service and its workers must have the same versions ({_advice(sent, other)})"
        )


def _advice(sent: Mapping[str, str], other: Sequence[str]) -> str:
    plugins = [name for name in other if name.startswith(_PLUGIN)]
    advice = []
    if len(plugins) < len(other):
        image = f"{PROJECT} {sent[PROJECT]} for Python {sent['Python']}"
        advice.append(f"the worker image to take is that of {image}")
    if plugins:
        advice.append(f"install {_listed(sent, plugins)} on the workers")
    return "; ".join(advice)


class Check:
    """Pickles as a call of ``check``: what is pickled behind it is not unpickled where the versions differ.

    Args:
        ensemble: The ensemble's name, for the error.
        plugins: The versions of the distributions that add kinds which it uses, by name.
    """

    def __init__(self, ensemble: str, plugins: Mapping[str, str]) -> None:
        self._ensemble, self._plugins = ensemble, plugins

    def __reduce__(self) -> tuple[Any, ...]:
        return check, (_sent(self._plugins), self._ensemble)


def restore(sent: Mapping[str, str], ensemble: str, pickled: bytes) -> Any:
    """Checks, and only then unpickles."""
    check(sent, ensemble)
    return pickle.loads(pickled)  # noqa: S301 - a part of what the worker is unpickling anyway


class Guarded:
    """Pickles as the check with something behind it that was pickled before, and unpickles as that.

    Args:
        ensemble: The ensemble's name, for the error.
        pickled: The pickle behind the check.
        source: The text of this module.
        plugins: The versions of the distributions that add kinds which the ensemble uses, by name.
    """

    def __init__(self, ensemble: str, pickled: bytes, source: str, plugins: Mapping[str, str]) -> None:
        self._names = {"ensemble": ensemble, "pickled": pickled, "source": source, "sent": _sent(plugins)}

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickle can call only what the worker has, and for certain that is Python's own; code objects are
        # another thing in another Python. So it is the text that goes: ours, never anything that a caller sent.
        run = "exec(source, module) or module['restore'](sent, ensemble, pickled)"
        return eval, (run, {**self._names, "module": {"__name__": __name__}})


def _version(module: str) -> str:
    try:
        return str(importlib.import_module(module).__version__)
    except ImportError:
        return _NONE


def _sent(plugins: Mapping[str, str]) -> dict[str, str]:
    return {**versions(), **{_PLUGIN + name: version for name, version in plugins.items()}}


def _installed(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return _NONE


def _listed(found: Mapping[str, str], names: Sequence[str]) -> str:
    words = [f"no {name}" if found[name] == _NONE else f"{name} {found[name]}" for name in names]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _error() -> Any:
    """Returns the exception that a prepared worker answers in one line, whatever its version."""
    try:
        return importlib.import_module("beam_ensembles.errors").EnsembleError
    except (ImportError, AttributeError):
        return RuntimeError
