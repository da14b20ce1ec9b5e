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
_ARGUMENTS: Final = ("inv_kw_args", "kw_args")
_PARTLY: Final = "where"
"""The argument of numpy's functions that leaves parts of the answer as the memory was before."""
_CACHE: Final = "memory"
"""The attribute with a folder in which ``fit`` keeps pickles, and reads those that are there."""
_NUMBERS: Final = 624
"""How many numbers MT19937 holds; numpy reads on from any position that it is given, out of them as well."""


def check_objects(model: Any) -> None:
    """Checks a model and all that it holds; takes away the folders in which it would keep files.

    Raises:
        ModelFormatError: A model in it would call others by other methods than those that predict, or something else
            than its own methods, or would answer with memory that is not its own.
    """
    waiting: list[Any] = [model]
    seen: set[int] = set()
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
        return list(np.asarray(found).ravel())
    return own


def _check(found: Any) -> None:
    if isinstance(found, np.random.RandomState):
        position = found.get_state(legacy=False)["state"]["pos"]
        if not 0 <= position <= _NUMBERS:
            raise ModelFormatError(f"its random numbers start at {position} of {_NUMBERS}")
    if isinstance(found, type) or not getattr(found, "__dict__", None):
        return
    attributes = vars(found)
    own = next((name for name in attributes if callable(getattr(type(found), str(name), None))), None)
    if own is not None:
        raise ModelFormatError(f"its {type(found).__name__} has something else for '{str(own)[:100]}'")
    for name in _ARGUMENTS:
        if isinstance(said := attributes.get(name), Mapping) and _PARTLY in said:
            raise ModelFormatError(f"'{name}' of its {type(found).__name__} sets '{_PARTLY}'")
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
