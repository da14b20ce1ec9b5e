"""The table of all kinds of nodes that this version runs.

A name leads to the module of its kind, which is imported when the kind is first asked for: whoever checks or loads an
ensemble imports only the kinds that it uses, and listing the names imports none.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Final

from beam_ensembles.combiners.registry import COMBINE_KINDS
from beam_ensembles.functions.registry import FUNCTION_KINDS
from beam_ensembles.graph.kinds import Kind
from beam_ensembles.handlers.registry import MODEL_KINDS
from beam_ensembles.routes.registry import ROUTE_KINDS

_OWN: Final = {"model": MODEL_KINDS, "combine": COMBINE_KINDS, "route": ROUTE_KINDS, "apply": FUNCTION_KINDS}


class KindTable(Mapping[tuple[str, str], Kind]):
    """All kinds by (``model``, ``sklearn``).

    Args:
        places: Where each kind is, ``module:Class`` or ``module:OBJECT``, by the key and its values.
    """

    def __init__(self, places: Mapping[str, Mapping[str, str]]) -> None:
        self._places = {(key, name): place for key, named in places.items() for name, place in named.items()}
        self._loaded: dict[tuple[str, str], Kind] = {}

    def __getitem__(self, key: tuple[str, str]) -> Kind:
        if key not in self._loaded:
            self._loaded[key] = _kind_at(self._places[key])
        return self._loaded[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places


def _kind_at(place: str) -> Kind:
    module, _, name = place.partition(":")
    found = getattr(importlib.import_module(module), name)
    return found() if isinstance(found, type) else found


KINDS: Final = KindTable(_OWN)
"""All kinds."""
