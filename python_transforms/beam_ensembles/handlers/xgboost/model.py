"""XGBoost: models saved with ``save_model`` as JSON or UBJSON."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import InvalidEnsemble, NodeError, Problem
from beam_ensembles.graph.answers import check_ports, settle
from beam_ensembles.graph.files import local_path
from beam_ensembles.graph.kinds import CheckedNode, Member, NodeView, Option
from beam_ensembles.graph.labels import check_labels
from beam_ensembles.handlers import member
from beam_ensembles.handlers.arguments import Values
from beam_ensembles.handlers.config import CALLS, HONOURED, LABELS, REFUSED, check_calls, check_config
from beam_ensembles.handlers.features import Features, match
from beam_ensembles.handlers.model_file import SHA256, URI, check_file
from beam_ensembles.handlers.results import to_columns_of_one
from beam_ensembles.handlers.signatures import ModelFormatError
from beam_ensembles.handlers.xgboost.features import (
    MARGIN,
    WHOLE,
    Batch,
    categories_of,
    check_features,
    disagreements,
    reader,
    uncategorised,
)
from beam_ensembles.handlers.xgboost.header import Header, read_header
from beam_ensembles.handlers.xgboost.trees import TreeError, check_model
from beam_ensembles.types import FLOAT, INT64, Array, Type

CLASSIFIERS: Final = ("XGBClassifier", "XGBRFClassifier")
MODEL_CLASSES: Final = ("Booster", *CLASSIFIERS, "XGBRegressor", "XGBRFRegressor", "XGBRanker")
METHODS: Final = ("predict", "predict_proba")
CONFIG_REFUSED: Final = {
    **REFUSED,
    "model_class": "'model_class' stands on the node itself",
    "model_state": "'uri' of the node says where the model is",
}
_SHAPELESS_ARGS: Final = frozenset(("iteration_range", "validate_features", "base_margin", "training"))
"""Arguments of predict that leave type and shape of the answer as they are."""


class XgboostKind:
    """Runs an XGBoost model through Beam's ``XGBoostModelHandlerNumpy``."""

    kind = "model"
    name = "xgboost"
    summary = "Runs an XGBoost model saved as JSON or UBJSON; its own header gives the types."
    takes = (
        "A list of columns is the features, [N, F], by name or in the model's order. A mapping, "
        "{feature: column}, names them; 'base_margin' and 'data', the whole matrix, may stand beside."
    )
    gives = "What 'method' gives, an item a row."
    extra: str | None = "xgboost"
    modules: tuple[str, ...] = ("xgboost", "pandas", "scipy")
    takes_nulls = False
    options: tuple[Option, ...] = (
        URI,
        SHA256,
        Option("model_class", "string", "The class that loads it.", choices=MODEL_CLASSES, default="Booster"),
        Option("method", "string", "What is called on the model.", choices=METHODS, default="predict"),
        LABELS,
        *CALLS,
    )

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Compares the node with the model's header, which is read where the file is local."""
        place = check_file(node)
        check_config(node, HONOURED, CONFIG_REFUSED)
        check_calls(node)
        check_labels(node)
        _check_method(node)
        check_ports(node, [_method(node)])
        header = None
        path = None if place is None else local_path(place)
        if path is not None:
            try:
                header = read_header(path)
            except (ModelFormatError, OSError) as exc:
                node.problem("bad_model_file", "uri", f"'{path}': {exc}")
        return _against_header(node, header)

    def load(self, node: CheckedNode) -> Member:
        """Loads the model and compares its features with the node."""
        beam = member.handlers_of(node, "xgboost_inference", "xgboost")
        model_class = getattr(beam.xgboost, str(node.spec.options.get("model_class", "Booster")))
        call = _Call(beam.PredictionResult, str(node.spec.options.get("method", "predict")))
        handler, model = member.load(node, functools.partial(_handler, node, beam, model_class, call))
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        features, categories = _features(node, booster)
        if isinstance(model, beam.xgboost.Booster):
            call.is_linear = _is_linear(booster)
            call.matrix = functools.partial(_matrix, beam.xgboost.DMatrix, booster)
        elif features.names is not None:
            call.defaults = {
                "validate_features": False
            }  # they are in their order; numpy's arrays have no names
        member.check_call(node, getattr(model, call.method))
        return member.BeamMember(
            handler,
            model,
            member.inference_args(node),
            read=reader(node, features, categories, beam.pandas),
            write=functools.partial(to_columns_of_one, node),
            per_row=member.is_per_row(node),
        )


def _handler(node: CheckedNode, beam: Any, model_class: Any, call: _Call, place: str) -> Any:
    """Returns Beam's handler, which loads only checked bytes."""
    handler = beam.XGBoostModelHandlerNumpy(model_class, place, call, **member.config(node))
    handler.load_model = functools.partial(_load, node, model_class, place)
    return handler


def _load(node: CheckedNode, model_class: Any, place: str) -> Any:
    """Loads a model from bytes that were checked: xgboost follows wrong indices out of its memory."""
    with open(place, "rb") as file:
        data = file.read()
    try:
        check_model(data)
    except TreeError as exc:
        problem = Problem(node.spec.path("uri"), "bad_model_file", f"'{node.uri}': {exc}")
        raise InvalidEnsemble([problem]) from exc
    model = model_class()
    model.load_model(bytearray(data))
    return model


@dataclasses.dataclass(slots=True)
class _Call:
    """Beam's ``inference_fn``: the batch is one item, the answer another.

    Attributes:
        result: Beam's class of a prediction.
        method: What is called on the model.
        matrix: Makes XGBoost's own matrix of a batch, as Beam's function does for every row; None for a model that
            makes it itself.
        is_linear: Whether it is a booster that cannot read numpy's matrix in place, which is faster and gives the same.
        defaults: Arguments of the call where the node has none.
    """

    result: Any
    method: str
    matrix: Callable[[Batch], Any] | None = None
    is_linear: bool = False
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __call__(self, batch: list[Batch], model: Any, inference_args: Mapping[str, Any] | None) -> list[Any]:
        (one,) = batch
        args = {**self.defaults, **(inference_args or {})}
        if self.matrix is None:
            margin = {} if one.margin is None else {MARGIN: one.margin}
            answer = getattr(model, self.method)(one.rows, **margin, **args)
        elif args or self.is_linear or not isinstance(one.rows, np.ndarray):
            answer = model.predict(self.matrix(one), **args)
        else:
            _refuse_infinite(one.rows)
            answer = model.inplace_predict(one.rows, base_margin=one.margin)
        return [self.result(one.rows, answer)]


def _matrix(make: Callable[..., Any], booster: Any, batch: Batch) -> Any:
    if not isinstance(batch.rows, np.ndarray):
        return make(batch.rows, base_margin=batch.margin, enable_categorical=True)
    return make(
        batch.rows,
        base_margin=batch.margin,
        feature_names=booster.feature_names,
        feature_types=booster.feature_types,
        enable_categorical=True,
    )


def _refuse_infinite(rows: Values) -> None:
    """XGBoost's own matrix refuses what no float32 holds; reading in place it would not look."""
    if (np.abs(rows) > np.finfo(np.float32).max).any():
        raise NodeError("wrong_value", "a feature is infinite or too large for XGBoost's float32")


def _is_linear(booster: Any) -> bool:
    name: str = json.loads(booster.save_config())["learner"]["gradient_booster"]["name"]
    return name == "gblinear"


def _method(node: NodeView) -> str:
    return str(node.option("method", "predict"))


def _model_class(node: NodeView) -> str:
    return str(node.option("model_class", "Booster"))


def _check_method(node: NodeView) -> None:
    if _method(node) == "predict_proba" and _model_class(node) not in CLASSIFIERS:
        text = (
            f"a {_model_class(node)} has no predict_proba; say 'model_class: XGBClassifier', "
            "or leave 'method' out: a Booster's predict gives probabilities where its objective does"
        )
        node.problem("bad_value", "method", text)


def _against_header(node: NodeView, header: Header | None) -> Mapping[str, Type | None]:
    """Compares a node with the model's header, where there is one, and settles its types."""
    check_features(node, header)
    if header is None:
        return settle(node, "signature_mismatch", {})
    if _model_class(node) in CLASSIFIERS and not header.objective.startswith(("binary:", "multi:")):
        text = f"the model was trained for {header.objective}, which is no classification"
        node.problem("signature_mismatch", "model_class", text)
    answer = answer_type(header, _model_class(node), _method(node))
    if not set(node.option("inference_args") or {}) <= _SHAPELESS_ARGS:
        answer = None
    return settle(node, "signature_mismatch", {output.column: answer for output in node.spec.outputs})


def answer_type(header: Header, model_class: str, method: str) -> Type | None:
    """Gives the type of one row of a model's answer, or None where the header does not determine it."""
    if model_class in CLASSIFIERS:
        if method == "predict_proba":
            return Array(FLOAT, (header.targets if header.targets > 1 else max(header.classes, 2),))
        return Array(INT64, (header.targets,)) if header.targets > 1 else INT64
    if header.objective == "multi:softprob":
        return Array(FLOAT, (header.classes,))
    if header.objective in (
        "reg:quantileerror",
        "reg:expectileerror",
    ):  # one a quantile; the header does not count
        return None
    return Array(FLOAT, (header.targets,)) if header.targets > 1 else FLOAT


def _features(node: CheckedNode, booster: Any) -> tuple[Features, dict[str, Any]]:
    """Compares a loaded model's features with the node; gives them, and the categories that the model keeps."""
    names, categories = booster.feature_names, categories_of(booster)
    features, _ = match(node, names, (MARGIN,), WHOLE)
    found = list(disagreements(node, booster.num_features(), names, booster.feature_types))
    found = found or list(uncategorised(node, features, categories))
    if found:
        raise InvalidEnsemble(
            Problem(node.spec.path(place), "signature_mismatch", text) for place, text in found
        )
    return features, categories
