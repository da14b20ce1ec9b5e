"""What a scikit-learn model says of itself, in its file or once it is loaded, and whether a node agrees."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Final

from beam_ensembles.graph.class_meanings import LABELS, SCORES, Meaning, of_classes, shown
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.graph.shared_options import LabelOptions
from beam_ensembles.handlers.sklearn.boosters import finds_several_labels
from beam_ensembles.handlers.sklearn.fitted_steps import as_given
from beam_ensembles.handlers.support.features import count_of, match, nameless
from beam_ensembles.types import BOOLEAN, DOUBLE, INT64, STRING, Array, Type, row_shape

_TYPES: Final[dict[type, Type]] = {str: STRING, bool: BOOLEAN, int: INT64, float: DOUBLE}


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """What a model says.

    Attributes:
        features: How many features it takes; None where it does not say.
        names: Their names; None where it was not fitted on a DataFrame.
        classes: Its classes; None where it has none, or several outputs with their own.
    """

    features: int | None = None
    names: tuple[str, ...] | None = None
    classes: tuple[Any, ...] | None = None


def facts_of(model: Any) -> Facts:
    """Reads the facts of a loaded model."""
    names, classes = _names_of(model), getattr(model, "classes_", None)
    if classes is not None and finds_several_labels(model):
        classes = None
    count = getattr(model, "n_features_in_", None) or (None if names is None else len(names))
    return Facts(
        count,  # CatBoost says 0 once it was saved with joblib
        None if names is None or _are_numbers(names) else names,
        None if classes is None or isinstance(classes, list) else tuple(classes.tolist()) or None,
    )


def named_for(node: CheckedNode, model: Any, facts: Facts) -> Facts:
    """Returns a model's facts with the node's own names of its features, where a step of someone's own hides them.

    A pipeline that begins with a transformer that notes nothing of its features was mostly fitted on a DataFrame, and
    may read it by name. The columns stand in the order in which a later step knows them, where one does.
    """
    inputs = node.spec.inputs
    if facts.names is not None or facts.features is not None or inputs is None:
        return facts
    labels = inputs.ports or inputs.columns
    count = count_of(node.inputs, node.spec.columns)
    if len(labels) < 2 or count != len(labels):
        return facts
    later = [name for name in _later_names(model) if name in labels]
    if inputs.ports is None and not later:
        return facts
    return dataclasses.replace(facts, names=(*later, *(name for name in labels if name not in later)))


def _later_names(model: Any) -> tuple[str, ...]:
    """Returns the names that the first later step of a pipeline has of its features; none where none has any."""
    for one in as_given(model):
        for _, step in getattr(one, "steps", ()):
            names = _names_of(step)
            if names is not None and not _are_numbers(names):
                return names
    return ()


def _names_of(model: Any) -> tuple[str, ...] | None:
    """Returns the names of a model's features, its own or those of a model within it that is given the same ones.

    CatBoost's models, and pipelines that begin with ``passthrough``, hide them from the estimators around them.
    """
    count = getattr(model, "n_features_in_", None)
    for one in as_given(model):
        found = _own_names(one)
        if found is not None:
            return found if not count or count == len(found) else None
    return None


def _own_names(model: Any) -> tuple[str, ...] | None:
    """Returns the names that a model says: scikit-learn's, CatBoost's, or those of LightGBM's ``Booster``."""
    found = getattr(model, "feature_names_in_", None)
    if found is None and getattr(model, "n_features_in_", None) == 0:
        found = getattr(model, "feature_names_", None)
    if found is None and callable(getattr(model, "feature_name", None)):
        found = model.feature_name()
    return None if found is None or not len(found) else tuple(map(str, found))


def _are_numbers(names: Sequence[str]) -> bool:
    """Whether names only count: what CatBoost and LightGBM call the features of an array."""
    return all(name in (str(at), f"Column_{at}") for at, name in enumerate(names))


def answer_type(facts: Facts, method: str) -> Type | None:
    """Returns the type of a row's answer, where the facts settle it."""
    if facts.classes is None:
        return None
    if method == "predict_proba":
        return Array(DOUBLE, (len(facts.classes),))
    return _TYPES.get(type(facts.classes[0])) if method == "predict" else None


def meanings(
    node: NodeView[LabelOptions] | CheckedNode[LabelOptions], facts: Facts, method: str
) -> dict[str, Meaning]:
    """Returns what a model's classes mean for the columns of its node.

    Args:
        node: The node.
        facts: The model's facts, as far as they are known.
        method: The method to call.
    """
    found = {}
    for output in node.spec.outputs:
        type_ = output.type or answer_type(facts, method)
        shape = () if type_ is None else row_shape(type_)
        is_one = facts.classes is None or shape == (len(facts.classes),)
        if method == "predict_proba":
            found[output.column] = of_classes(facts.classes if is_one else None, SCORES, is_open=True)
        elif method == "decision_function":
            refused = "decision_function gives scores ('method: predict_proba' gives probabilities)"
            classes = facts.classes if is_one else None
            found[output.column] = of_classes(classes, SCORES, refused, is_open=True)
        elif shape:
            found[output.column] = Meaning(
                refused=f"{method} gives other values; use 'method: predict_proba'"
            )
        elif method == "predict":
            found[output.column] = of_classes(facts.classes, LABELS, is_open=True)
    return found


def disagreements(
    node: NodeView[LabelOptions] | CheckedNode[LabelOptions], facts: Facts, method: str
) -> Iterator[tuple[str, str]]:
    """Compares a model with its node: its features, its classes; gives the place below the node and a sentence."""
    features, unmatched = match(node, facts.names)
    yield from unmatched
    if facts.features is not None and (text := nameless(node, features)) is not None:
        yield "inputs", text
    width = count_of(node.inputs, node.spec.columns)
    if not unmatched and None not in (width, facts.features) and width != facts.features:
        text = f"the model was trained on {facts.features} features, the columns of the node hold {width}"
        yield "inputs", text
    if facts.classes is not None:
        yield from _class_disagreements(node, facts.classes, method)


def _class_disagreements(
    node: NodeView[LabelOptions] | CheckedNode[LabelOptions], classes: Sequence[Any], method: str
) -> Iterator[tuple[str, str]]:
    """Compares a model's classes with the declared widths and labels; numbered classes may have names."""
    if method == "predict_proba":
        for output in node.spec.outputs:
            shape = () if output.type is None else row_shape(output.type)
            if shape not in ((), (len(classes),)):
                text = f"'{output.column}' is declared {output.type}; the model has {len(classes)} classes"
                yield f"outputs.{output.column}", text
    labels = node.options.labels or list(classes)
    are_names = isinstance(labels[0], str) and not isinstance(classes[0], str)
    if len(labels) != len(classes) or (not are_names and list(labels) != list(classes)):
        text = f"the node's labels are {shown(labels)}, but the model's classes are {shown(classes)}, in this order"
        yield "labels", text
