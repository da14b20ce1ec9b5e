"""Kinds that installed distributions add, by their entry points; nothing of theirs is imported to find them.

A distribution adds a kind by an entry point of the group ``beam_ensembles.kinds``. Its name is the node's key and the
value there, with a dot between them: ``"model.acme" = "acme_ensembles.model:AcmeKind"``.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import re
from collections.abc import Iterator
from typing import Any, Final

from beam_ensembles.errors import ENDS_THE_PROGRAM, listed
from beam_ensembles.graph.kinds import Distribution, Kind, UnusableKind
from beam_ensembles.graph.options import Options, declared_options
from beam_ensembles.messages.foreign_errors import described

GROUP: Final = "beam_ensembles.kinds"
"""The group of the entry points."""

_TEXTS: Final = ("summary", "takes", "gives")
"""What a kind must say for people."""


@dataclasses.dataclass(frozen=True, slots=True)
class Addition:
    """A kind that an installed distribution adds.

    Attributes:
        name: The entry point's name, such as ``model.acme``.
        place: Where the kind is: ``module:Class``, or ``module:OBJECT``.
        distribution: The distribution.
    """

    name: str
    place: str
    distribution: Distribution

    @property
    def key(self) -> tuple[str, str]:
        """The node's key and its value there; the value is empty where the name has no dot."""
        key, _, value = self.name.partition(".")
        return key, value

    def kind(self) -> Kind:
        """Imports the kind.

        Raises:
            UnusableKind: ``broken_plugin``: It cannot be imported, or is not the kind that its name says.
        """
        try:
            kind = kind_at(self.place)
            fault = _fault(kind, self.key)
            if fault is None:
                kind.distribution = self.distribution
        except ENDS_THE_PROGRAM:
            raise
        except BaseException as error:  # a module may end in SystemExit
            fault = f"cannot be imported: {described(error)}"
        if fault is not None:
            raise self.broken(fault)
        return kind

    def broken(self, fault: str) -> UnusableKind:
        """Returns the error for an addition with a fault, which a verb says."""
        what = f"the kind '{self.name}' of the installed distribution {self.distribution} ('{self.place}')"
        text = f"{what} {fault}; repair, update or uninstall {self.distribution.name}"
        return UnusableKind("broken_plugin", text)


def additions() -> Iterator[Addition]:
    """Yields the kinds that installed distributions add, in the order in which Python finds the distributions."""
    seen = set()
    for found in importlib.metadata.distributions():
        try:
            if GROUP not in (found.read_text("entry_points.txt") or ""):
                continue
            points = found.entry_points.select(group=GROUP)
            distribution = Distribution(found.metadata["Name"] or "?", found.metadata["Version"] or "?")
        except (OSError, TypeError, ValueError):  # no text, or not of the form of entry points
            continue
        name = re.sub(r"[-_.]+", "-", distribution.name).lower()
        if name in seen:  # Python imports from the first of two folders
            continue
        seen.add(name)
        yield from (Addition(point.name, point.value, distribution) for point in points)


def kind_at(place: str) -> Kind:
    """Imports a kind.

    Args:
        place: ``module:Class``, or ``module:OBJECT``.
    """
    module, _, name = place.partition(":")
    found: Any = getattr(importlib.import_module(module), name)
    kind: Kind = found() if isinstance(found, type) else found
    return kind


def _fault(kind: object, key: tuple[str, str]) -> str | None:
    """Returns what is wrong with the description of a kind, if anything is."""
    if not isinstance(kind, Kind):
        return f"is a {type(kind).__name__}, not a subclass of beam_ensembles.graph.kinds.Kind"
    named = (getattr(kind, "kind", None), getattr(kind, "name", None))
    if named != key:
        return (
            f"calls itself {named[0]!r}, {named[1]!r}; its 'kind' and 'name' must be those of its entry point"
        )
    lacking = [name for name in _TEXTS if not isinstance(getattr(kind, name, None), str)]
    if lacking:
        return f"lacks the text of {listed(lacking)}"
    options = getattr(kind, "options", None)
    if not (isinstance(options, type) and issubclass(options, Options)):
        return "has no subclass of beam_ensembles.graph.options.Options as its 'options'"
    try:
        declared_options(options)
    except TypeError as error:
        return f"has {error}"
    return None
