"""The parts of a fitted scikit-learn model that read its features as they come: imputers and encoders.

They say what a missing text is to the model, and which feature an unknown category was found in.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.handlers.categories import is_missing

_UNKNOWN: Final = re.compile(
    r"Found unknown categories (\[.*?\]) in column (\d+) during transform", re.DOTALL
)
_NUMPY_SCALAR: Final = re.compile(r"np\.\w+\(((?:'[^']*'|[^()'])*)\)")
_DEEPEST: Final = 16
_ONE_WITHIN: Final = ("best_estimator_", "estimator_", "regressor_", "classifier_")
"""Where models that wrap another keep it, once it is fitted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """An estimator that reads features of the model as they come.

    Attributes:
        estimator: It.
        features: The places of the features that are its columns.
    """

    estimator: Any
    features: tuple[int, ...]


def parts_of(model: Any, features: int) -> list[Part]:
    """Returns the parts of a model, those that see a feature first before those that see it later.

    Args:
        model: An estimator or a pipeline.
        features: How many features it takes.
    """
    return list(_parts(model, tuple(range(features)), 0))


def _parts(model: Any, features: tuple[int, ...], depth: int) -> Iterator[Part]:
    if depth > _DEEPEST:
        return
    if hasattr(model, "steps"):
        yield from _of_steps([step for _, step in model.steps], features, depth + 1)
    elif hasattr(model, "transformers_"):
        places = getattr(model, "_transformer_to_input_indices", {})
        for name, transformer, _ in model.transformers_:
            own = tuple(features[at] for at in places.get(name, ()) if at < len(features))
            yield from _parts(transformer, own, depth + 1)
    elif hasattr(model, "transformer_list"):
        for _, transformer in model.transformer_list:
            yield from _parts(transformer, features, depth + 1)
    elif (within := next((name for name in _ONE_WITHIN if hasattr(model, name)), None)) is not None:
        yield from _parts(getattr(model, within), features, depth + 1)
    else:
        yield Part(model, features)


def _of_steps(steps: Sequence[Any], features: tuple[int, ...], depth: int) -> Iterator[Part]:
    """Goes through steps as long as each takes as many columns as there are features."""
    for step in steps:
        if getattr(step, "n_features_in_", len(features)) != len(features):
            return
        yield from _parts(step, features, depth)
        if hasattr(step, "transformers_") or hasattr(step, "transformer_list"):
            return


def known_values(parts: Sequence[Part]) -> Mapping[int, list[Any]]:
    """Returns the values of features that encoders know, by feature, where one reads it as it comes."""
    found: dict[int, list[Any]] = {}
    for part in parts:
        for at, known in enumerate(_categories(part.estimator)[: len(part.features)]):
            values = [value for value in np.asarray(known).ravel().tolist() if not is_missing(value)]
            if values:
                found.setdefault(part.features[at], values)
    return found


def missing_marks(parts: Sequence[Part]) -> Mapping[int, float | None]:
    """Returns what a missing text is to a model, None or NaN, by feature, where it says so."""
    found: dict[int, float | None] = {}
    for part in parts:
        for at, mark in _marks(part.estimator, len(part.features)):
            found.setdefault(part.features[at], mark)
    return found


def _marks(estimator: Any, count: int) -> Iterator[tuple[int, float | None]]:
    if hasattr(estimator, "missing_values"):
        wanted = estimator.missing_values
        is_not_available = type(wanted).__name__ == "NAType"  # of pandas; scikit-learn takes it for NaN
        if is_not_available or is_missing(wanted):
            yield from ((at, None if wanted is None else math.nan) for at in range(count))
    for at, known in enumerate(_categories(estimator)[:count]):
        marks = [value for value in np.asarray(known).ravel().tolist() if is_missing(value)]
        if marks:
            yield at, None if marks[0] is None else math.nan


def _categories(estimator: Any) -> list[Any]:
    found = getattr(estimator, "categories_", None)
    return list(found) if isinstance(found, list | tuple) else []


@dataclasses.dataclass(frozen=True, slots=True)
class Unknown:
    """What an encoder says of a category that it does not know.

    Attributes:
        where: Where it is, for people.
        value: The category, or the first of several.
        known: Those that the encoder knows.
        feature: The feature's place; None where the encoder does not see it as it comes.
    """

    where: str
    value: Any
    known: Sequence[Any]
    feature: int | None


def unknown_of(error: ValueError, parts: Sequence[Part], columns: Sequence[str]) -> Unknown | None:
    """Returns what an encoder's error says; None for any other error.

    Args:
        error: The error.
        parts: The parts of the model.
        columns: The column of each feature of the model.
    """
    found = _UNKNOWN.search(str(error))
    if found is None:
        return None
    encoder, at = _raised_by(error), int(found.group(2))
    part = next((part for part in parts if part.estimator is encoder), None)
    known = _categories(encoder)[at].tolist() if at < len(_categories(encoder)) else ()
    value = _first_value(found.group(1))
    if part is None or at >= len(part.features):
        name = "encoder" if encoder is None else type(encoder).__name__
        return Unknown(f"column {at} of its {name}", value, known, None)
    feature = part.features[at]
    return Unknown(
        f"'{columns[feature]}'", value, known, feature if _is_first(part, feature, parts) else None
    )


def _is_first(part: Part, feature: int, parts: Sequence[Part]) -> bool:
    """Whether nothing but an imputer may have changed a feature before a part sees it."""
    before = parts[: parts.index(part)]
    return all(feature not in one.features or hasattr(one.estimator, "statistics_") for one in before)


def _first_value(said: str) -> Any:
    """Reads the first value of a list as scikit-learn prints it: ``['violet', nan]``, ``[np.int64(3)]``."""
    plain = _NUMPY_SCALAR.sub(r"\1", said)
    try:
        (found, *_) = ast.literal_eval("[None]" if plain == "[nan]" else plain)
    except (ValueError, SyntaxError):
        return plain
    return found


def _raised_by(error: BaseException) -> Any:
    """Returns the encoder that raised an error: only the frame of its method knows it."""
    at, encoder = error.__traceback__, None
    while at is not None:
        one = at.tb_frame.f_locals.get("self")
        encoder = one if _categories(one) else encoder
        at = at.tb_next
    return encoder
