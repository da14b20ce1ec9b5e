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

from beam_ensembles.handlers.support.unknown_categories import is_missing

_UNKNOWN: Final = re.compile(
    r"Found unknown categories (\[.*?\]) in column (\d+) during transform", re.DOTALL
)
_NUMPY_SCALAR: Final = re.compile(r"np\.\w+\(((?:'[^']*'|[^()'])*)\)")
_DEEPEST: Final = 16
_ONE_WITHIN: Final = ("best_estimator_", "estimator_", "regressor_", "classifier_", "estimator")
"""Where models that wrap another keep it, once it is fitted; a frozen or calibrated one as it was given."""
_SEVERAL_WITHIN: Final = ("calibrated_classifiers_", "estimators_")
"""Where models that wrap several keep them, if all of these see all features."""
_MOST_LOOKED_THROUGH: Final = 20_000


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
    elif several := _several_within(model):
        for one in several:
            yield from _parts(one, features, depth + 1)
    elif (within := next((name for name in _ONE_WITHIN if hasattr(model, name)), None)) is not None:
        yield from _parts(getattr(model, within), features, depth + 1)
    else:
        yield Part(model, features)


def as_given(model: Any) -> Iterator[Any]:
    """Yields a model and the models within it that are given its features unchanged, the outer ones first."""
    waiting = [(model, 0)]
    while waiting:
        one, depth = waiting.pop(0)
        yield one
        if depth < _DEEPEST:
            waiting.extend((within, depth + 1) for within in _directly_within(one))


def _directly_within(model: Any) -> Sequence[Any]:
    if hasattr(model, "steps"):
        return [step for _, step in model.steps if step is not None and step != "passthrough"][:1]
    if several := _several_within(model):
        return several
    return [getattr(model, name) for name in _ONE_WITHIN if hasattr(model, name)][:1]


def _several_within(model: Any) -> Sequence[Any]:
    """Returns the fitted models that a model wraps, all of which see all features; trees are no parts."""
    if hasattr(model, "estimators_features_"):
        return ()
    for name in _SEVERAL_WITHIN:
        found = getattr(model, name, None)
        if isinstance(found, list) and found and not hasattr(found[0], "tree_"):
            return [one for one in found if not isinstance(one, str)]
    return ()


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


_Marks = dict[int | None, set[float | None]]
"""What a missing text is, None or NaN, by feature; by None for features of any place."""


@dataclasses.dataclass(frozen=True, slots=True)
class MissingMarks:
    """What a missing text is to a model, None or NaN.

    Attributes:
        of_encoders: What its encoders know as a category: the training rows had it.
        of_imputers: What its imputers fill in.
        of_objects: The features whose numbers were objects to an encoder, as a DataFrame's are beside None.
    """

    of_encoders: Mapping[int | None, set[float | None]]
    of_imputers: Mapping[int | None, set[float | None]]
    of_objects: frozenset[int | None] = frozenset()

    def of(self, feature: int) -> float | None:
        """Returns the mark of a feature; NaN, as in pandas, where no part of the model has one.

        Raises:
            LookupError: Parts of the model have both, and nothing tells which of them the feature needs.
        """
        for place in (feature, None):
            for marks in (self.of_encoders, self.of_imputers):
                if known := marks.get(place):
                    if len(known) > 1:
                        raise LookupError
                    return next(iter(known))
        return math.nan


def missing_marks(model: Any, parts: Sequence[Part], names: Sequence[str] | None) -> MissingMarks:
    """Returns what a missing text is to a model.

    Args:
        model: The model. Its other parts, such as encoders behind a step that adds columns, say what they know by the
            names of their features; without names, it is what they know of features of any place.
        parts: Its parts that see features as they come.
        names: The names of its features; None where it knows none.
    """
    encoders: _Marks = {}
    imputers: _Marks = {}
    objects: set[int | None] = set()
    for part in parts:
        _note(part.estimator, part.features, encoders, imputers)
        objects.update(
            at
            for at, known in zip(part.features, _categories(part.estimator), strict=False)
            if _are_objects(known)
        )
    places = {name: at for at, name in enumerate(names or ())}
    for estimator in estimators_of(model):
        own = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
        _note(estimator, [places.get(name) for name in own], encoders, imputers)
    return MissingMarks(encoders, imputers, frozenset(objects))


def _note(estimator: Any, features: Sequence[int | None], encoders: _Marks, imputers: _Marks) -> None:
    """Notes what an estimator says of a missing text, for its features, and for features of any place."""
    for at, known in enumerate(_categories(estimator)):
        for value in np.asarray(known).ravel().tolist():
            if is_missing(value):
                mark = None if value is None else math.nan
                encoders.setdefault(features[at] if at < len(features) else None, set()).add(mark)
                encoders.setdefault(None, set()).add(mark)
    wanted = getattr(estimator, "missing_values", 0)
    if is_missing(wanted) or type(wanted).__name__ == "NAType":  # of pandas; scikit-learn takes it for NaN
        mark = None if wanted is None else math.nan
        for feature in features:
            if feature is not None:
                imputers.setdefault(feature, set()).add(mark)
        if np.asarray(getattr(estimator, "statistics_", ())).dtype.kind == "O":
            imputers.setdefault(None, set()).add(mark)


def _are_objects(known: Any) -> bool:
    """Returns whether an encoder knows numbers as objects, which it compares with no array of numbers."""
    values = np.asarray(known)
    is_object = values.dtype == object
    return is_object and any(
        isinstance(value, int | float) and not is_missing(value) for value in values.tolist()
    )


def estimators_of(model: Any) -> Iterator[Any]:
    """Yields a model and whatever estimators it holds, at any depth."""
    waiting, seen = [model], {id(model)}
    while waiting and len(seen) < _MOST_LOOKED_THROUGH:
        one = waiting.pop()
        if hasattr(one, "get_params"):
            yield one
        for part in _held_by(one):
            holds = isinstance(part, list | tuple | dict)
            if id(part) not in seen and (holds or hasattr(part, "get_params") or hasattr(part, "estimator")):
                seen.add(id(part))
                waiting.append(part)


def _held_by(one: Any) -> Sequence[Any]:
    if isinstance(one, list | tuple):
        return one
    return list((one if isinstance(one, dict) else getattr(one, "__dict__", {})).values())


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
