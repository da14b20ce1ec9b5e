"""A fitted voting or stacking estimator of scikit-learn as an ensemble file and its members."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import EnsembleError
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.spec.language import is_name

_ONE_INPUT: Final = "features"
_FINAL: Final = "final_estimator"
ESTIMATORS: Final = ("VotingClassifier", "VotingRegressor", "StackingClassifier", "StackingRegressor")


def spec_of(
    model: Any, name: str, inputs: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the ensemble of an estimator: what its file holds, and the members to save beside it, by file name.

    Args:
        model: One of ``ESTIMATORS``, fitted.
        name: The ensemble's name.
        inputs: The types of its columns, by name. By default doubles: a column for each name that the model has seen,
            or one tensor for a model that was trained on an array.

    Raises:
        EnsembleError: The model is another one, is not fitted, or has labels that an ensemble cannot have.
    """
    kind = next((base.__name__ for base in type(model).__mro__ if base.__name__ in ESTIMATORS), "")
    if not kind or not type(model).__module__.startswith("sklearn."):
        raise EnsembleError(f"{type(model).__name__} is not one of {', '.join(ESTIMATORS)} of scikit-learn")
    if not hasattr(model, "estimators_"):
        raise EnsembleError(f"this {kind} is not fitted; call its fit first")
    columns = dict(inputs) if inputs is not None else _inputs_of(model)
    members = list(_members_of(model))
    build = _voting if kind.startswith("Voting") else _stacking
    nodes, files = build(model, members, list(columns), _classes_of(model))
    return {"ensemble": name, "inputs": columns, "nodes": nodes, "outputs": _outputs_of(nodes)}, files


def _inputs_of(model: Any) -> dict[str, str]:
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        wrong = [name for name in map(str, names) if not is_name(name)]
        if wrong:
            text = f"the {type(model).__name__} was fitted on a column '{wrong[0]}', which cannot be a name"
            raise EnsembleError(
                f"{text}: names have letters, digits, '_' and '-'; rename the columns and fit again, or fit on an array"
            )
        return dict.fromkeys(map(str, names), "double")
    return {_ONE_INPUT: f"array<double>[{model.n_features_in_}]"}


def _members_of(model: Any) -> Iterator[tuple[str, Any]]:
    """Yields the fitted members by the name that a node can have; those that were dropped are none."""
    kept = [name for name, estimator in model.estimators if not _is_dropped(estimator)]
    taken: set[str] = {_FINAL}
    for name, estimator in zip(kept, model.estimators_, strict=True):
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        plain = plain if re.match(r"[A-Za-z]", plain) else f"member_{plain}"
        while plain in taken:
            plain += "_"
        taken.add(plain)
        yield plain, estimator


def _is_dropped(estimator: Any) -> bool:
    return isinstance(estimator, str) and estimator == "drop"


def _classes_of(model: Any) -> list[Any] | None:
    """Returns the labels of a classifier; None for a regressor."""
    found = getattr(model, "classes_", None)
    if found is None:
        return None
    if isinstance(found, list):
        raise EnsembleError("the model was trained on several labels a row; an ensemble has one")
    labels = [label.item() if isinstance(label, np.generic) else label for label in found]
    if not all(isinstance(label, str | int) for label in labels):
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise EnsembleError(
            f"the model's labels are of type {kinds}; an ensemble has texts, whole numbers or booleans"
        )
    return labels


def _voting(
    model: Any, members: Sequence[tuple[str, Any]], columns: list[str], classes: list[Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    soft = classes is not None and model.voting == "soft"
    method = "predict_proba" if soft else "predict"
    nodes, files = _asked(members, columns, {name: method for name, _ in members}, classes)
    weights = _weights_of(model)
    combined: dict[str, Any] = {"inputs": [_column_of(name) for name, _ in members]}
    if weights:
        combined["weights"] = weights
    if classes is None:
        mean = "weighted_mean" if weights else "mean"
        nodes["mean"] = {"combine": mean, **combined, "outputs": {"prediction": {"from": "mean"}}}
        return nodes, files
    outputs: dict[str, Any] = {"class_index": {"from": "label"}}
    nodes["vote"] = {"combine": "soft_vote" if soft else "hard_vote", **combined, "outputs": outputs}
    if soft:
        outputs["probabilities"] = _probabilities(classes)
    if soft and not isinstance(classes[0], bool):
        nodes["vote"]["labels"] = classes
        outputs["label"] = outputs.pop("class_index")
    else:
        nodes["label"] = _label(classes)
    return nodes, files


def _weights_of(model: Any) -> list[float]:
    """Returns the weights of the members that were not dropped; none where all count alike."""
    if model.weights is None:
        return []
    pairs = zip(model.estimators, model.weights, strict=True)
    return [float(weight) for (_, estimator), weight in pairs if not _is_dropped(estimator)]


def _stacking(
    model: Any, members: Sequence[tuple[str, Any]], columns: list[str], classes: list[Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    methods = dict(zip((name for name, _ in members), model.stack_method_, strict=True))
    nodes, files = _asked(members, columns, methods, classes)
    passed = {"passthrough": columns} if model.passthrough else {}
    nodes["stack"] = {
        "combine": "stack", "inputs": [_column_of(name) for name, _ in members], **passed, "outputs": {"stacked": {}},
    }  # fmt: skip
    final = model.final_estimator_
    files[f"{_FINAL}.joblib"] = final
    if classes is None:
        nodes[_FINAL] = _model(_FINAL, "predict", ["stacked"], "prediction", "double")
        return nodes, files
    nodes[_FINAL] = _model(_FINAL, "predict", ["stacked"], "class_index", "int64")
    nodes["label"] = _label(classes)
    if hasattr(final, "predict_proba"):
        nodes["probability"] = _model(
            _FINAL, "predict_proba", ["stacked"], "probabilities", _probabilities(classes)
        )
    return nodes, files


def _asked(
    members: Sequence[tuple[str, Any]],
    columns: list[str],
    methods: Mapping[str, str],
    classes: list[Any] | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the nodes that ask the members, each with its method, and the files of these."""
    nodes, files = {}, {}
    for name, estimator in members:
        method = methods[name]
        if method == "predict":
            type_ = "double" if classes is None else "int64"
        else:
            width = len(classes or ())
            type_ = "double" if method == "decision_function" and width == 2 else f"array<double>[{width}]"
        nodes[name] = _model(name, method, columns, _column_of(name), type_)
        files[f"{name}.joblib"] = estimator
    return nodes, files


def _model(name: str, method: str, columns: list[str], output: str, type_: str) -> dict[str, Any]:
    return {
        "model": "sklearn", "uri": f"{name}.joblib", "method": method, "inputs": columns, "outputs": {output: type_},
    }  # fmt: skip


def _label(classes: list[Any]) -> dict[str, Any]:
    """Returns the node that turns a position into its label: members are trained on positions of labels."""
    arms = " ".join(f"WHEN {at} THEN {_literal(label)}" for at, label in enumerate(classes))
    select = {"label": f"CASE class_index {arms} END"}
    return {"apply": "sql", "inputs": ["class_index"], "select": select, "outputs": {"label": {}}}


def _literal(label: Any) -> str:
    if isinstance(label, str):
        return "'" + label.replace("'", "''") + "'"
    return str(label).upper()


def _probabilities(classes: list[Any]) -> str:
    return f"array<double>[{len(classes)}]"


def _outputs_of(nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    found = [column for node in nodes.values() for column in node["outputs"]]
    return [column for column in ("label", "probabilities", "prediction") if column in found]


def _column_of(member: str) -> str:
    return f"{member}_answer"


def save(files: Mapping[str, Any], folder: Path) -> None:
    """Saves members with joblib.

    Args:
        files: The members by file name.
        folder: Where to; it exists.

    Raises:
        EnsembleError: A member holds what cannot be pickled, such as a lambda.
    """
    import joblib

    for name, member in files.items():
        try:
            joblib.dump(member, folder / name)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            text = f"the member '{name.removesuffix('.joblib')}' cannot be saved: {text_of(error)}"
            raise EnsembleError(f"{text}; a function in it must be one of an importable module") from error
