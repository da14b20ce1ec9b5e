"""Looks through the objects of a skops file that nobody vouches for: their types alone do not show what they do.

The objects are made of plain values, and nothing has been called yet but what sets their state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import ModelFormatError, listed

_NAMES_A_METHOD: Final = ("chain_method", "chain_method_", "stack_method", "stack_method_")
"""Attributes with the methods that a model calls on the models within it, by name and with the rows."""
_METHODS: Final = ("auto", "decision_function", "predict", "predict_log_proba", "predict_proba", "transform")
_CACHE: Final = "memory"
"""The attribute with a folder in which ``fit`` keeps pickles, and reads those that are there."""
_NUMBERS: Final = 624
"""How many numbers MT19937 holds; numpy reads on from any position that it is given, out of them as well."""


def check_objects(model: Any) -> None:
    """Checks a model and all that it holds; takes away the folders in which it would keep files.

    Raises:
        ModelFormatError: A model in it would call others by other methods than those that predict, or its random
            numbers would come from memory that is not theirs.
    """
    waiting, seen = [model], set()
    while waiting:
        found = waiting.pop()
        if id(found) not in seen:  # all of them stay alive: the model holds them
            seen.add(id(found))
            _check(found)
            waiting += _parts(found)


def _parts(found: Any) -> Iterable[Any]:
    if isinstance(found, type):
        return ()
    own = tuple((getattr(found, "__dict__", None) or {}).values())
    if isinstance(found, Mapping):
        return (*own, *found, *found.values())
    if isinstance(found, list | tuple | set | frozenset):
        return (*own, *found)
    if isinstance(found, np.ndarray) and found.dtype.hasobject:
        return np.asarray(found).ravel().tolist()
    return own


def _check(found: Any) -> None:
    if isinstance(found, np.random.RandomState):
        position = found.get_state(legacy=False)["state"]["pos"]
        if not 0 <= position <= _NUMBERS:
            raise ModelFormatError(f"its random numbers start at {position} of {_NUMBERS}")
    if isinstance(found, type) or not getattr(found, "__dict__", None):
        return
    attributes = vars(found)
    for name in _NAMES_A_METHOD:
        said = attributes.get(name)
        methods = said if isinstance(said, list | tuple) else [] if said is None else [said]
        if any(type(method) is not str or method not in _METHODS for method in methods):
            text = (
                f"'{name}' of its {type(found).__name__} is {str(said)[:100]}; it may name {listed(_METHODS)}"
            )
            raise ModelFormatError(text)
    if attributes.get(_CACHE) is not None:
        attributes[_CACHE] = None
