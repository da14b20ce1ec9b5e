"""The table of all kinds of nodes: this project's, and those that installed distributions add.

A name leads to the module of its kind, which is imported when the kind is first asked for: whoever checks or loads an
ensemble imports only the kinds that it uses, and listing the names imports none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from beam_ensembles import __version__
from beam_ensembles.combiners.registry import COMBINE_KINDS
from beam_ensembles.errors import listed
from beam_ensembles.functions.registry import FUNCTION_KINDS
from beam_ensembles.graph.kinds import Distribution, Kind, UnusableKind
from beam_ensembles.handlers.registry import MODEL_KINDS
from beam_ensembles.plugins import Addition, additions, kind_at
from beam_ensembles.routes.registry import ROUTE_KINDS

_OWN: Final = {"model": MODEL_KINDS, "combine": COMBINE_KINDS, "route": ROUTE_KINDS, "apply": FUNCTION_KINDS}
PROJECT: Final = Distribution("beam-ensembles", __version__)
_NAMES: Final = (
    f"an entry point is named by one of {listed(list(_OWN))}, a dot and the kind's name, as in 'model.acme'"
)


class KindTable(Mapping[tuple[str, str], Kind]):
    """All kinds by (``model``, ``sklearn``).

    Asking for a kind raises ``UnusableKind`` where it cannot be used: ``duplicate_kind``, several distributions add it;
    ``broken_plugin``, it cannot be imported or is not a kind. Other kinds are not affected.

    Args:
        added: Finds the kinds that distributions add; it is called once, when the table is first used.
    """

    def __init__(self, added: Callable[[], Iterable[Addition]] = tuple) -> None:
        self._own = {(key, name): place for key, named in _OWN.items() for name, place in named.items()}
        self._find = added
        self._loaded: dict[tuple[str, str], Kind] = {}

    @functools.cached_property
    def added(self) -> Mapping[tuple[str, str], tuple[Addition, ...]]:
        """What installed distributions add, by key and name; nothing of it is imported."""
        found: dict[tuple[str, str], tuple[Addition, ...]] = {}
        for one in self._find():
            found[one.key] = (*found.get(one.key, ()), one)
        return found

    def __getitem__(self, key: tuple[str, str]) -> Kind:
        if key not in self._loaded:
            self._loaded[key] = self._kind(key)
        return self._loaded[key]

    def _kind(self, key: tuple[str, str]) -> Kind:
        own, added = self._own.get(key), self.added.get(key, ())
        if own is None and not added:
            raise KeyError(key)
        if own is not None and not added:
            return kind_at(own)
        if own is not None or len(added) > 1:
            raise _duplicate(key, added, is_own=own is not None)
        return added[0].kind()

    def __iter__(self) -> Iterator[tuple[str, str]]:
        yield from self._own
        yield from (key for key in self.added if key[0] in _OWN and key[1] and key not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        return key in self._own or any(key == one for one in self)

    def usable(self) -> list[Kind]:
        """Returns the kinds that can be used; all are imported."""
        return [kind for kind in map(self._found, self) if isinstance(kind, Kind)]

    def unusable(self) -> list[UnusableKind]:
        """Returns what is wrong with the kinds that cannot be used; all are imported."""
        misnamed = [
            one.broken(f"cannot be used: {_NAMES}")
            for (key, name), found in self.added.items()
            if key not in _OWN or not name
            for one in found
        ]
        return [error for error in map(self._found, self) if isinstance(error, UnusableKind)] + misnamed

    def _found(self, key: tuple[str, str]) -> Kind | UnusableKind:
        try:
            return self[key]
        except UnusableKind as error:
            return error


def _duplicate(key: tuple[str, str], added: Iterable[Addition], *, is_own: bool) -> UnusableKind:
    others = [str(one.distribution) for one in added]
    names = listed([str(PROJECT), *others] if is_own else others)
    text = f"there are several kinds '{key[0]}: {key[1]}', of the installed distributions {names}"
    which = "the one that is not this project's" if is_own else "all of them but one"
    return UnusableKind("duplicate_kind", f"{text}; uninstall {which}")


OWN_KINDS: Final = KindTable()
"""The kinds of this project."""

KINDS: Final = KindTable(additions)
"""All kinds."""
