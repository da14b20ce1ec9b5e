"""XGBoost: models saved with ``save_model`` as JSON or UBJSON."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.graph.class_meanings import LABELS as OF_LABELS
from beam_ensembles.graph.class_meanings import SCORES, Meaning, of_classes
from beam_ensembles.graph.kinds import CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.graph.options import option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.graph.shared_options import LabelOptions, NullOptions
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.arguments import Values
from beam_ensembles.handlers.support.bad_model_files import (
    raise_disagreements,
    read_or_report,
    refused,
    wrong,
)
from beam_ensembles.handlers.support.beam_config import (
    HONOURED,
    REFUSED,
    CallOptions,
    check_config,
)
from beam_ensembles.handlers.support.categories import (
    Category,
    categories_of,
    columns_and_names,
    uncategorised,
)
from beam_ensembles.handlers.support.features import Features, log_order, match
from beam_ensembles.handlers.support.missing_values import view_of
from beam_ensembles.handlers.support.model_file import FileOptions, check_file
from beam_ensembles.handlers.support.results import to_columns_of_one
from beam_ensembles.handlers.support.unknown_categories import FailsUnknownCategories
from beam_ensembles.handlers.xgboost.categories import HOW_KEPT, kept_categories
from beam_ensembles.handlers.xgboost.features import (
    MARGIN,
    WHOLE,
    Batch,
    check_features,
    check_margin_is_there,
    disagreements,
    reader,
)
from beam_ensembles.handlers.xgboost.header import COUNT, Header, read_header
from beam_ensembles.handlers.xgboost.trees import check_model
from beam_ensembles.types import DOUBLE, FLOAT, INT64, Array, Type

CLASSIFIERS: Final = ("XGBClassifier", "XGBRFClassifier")
MODEL_CLASSES: Final = ("Booster", *CLASSIFIERS, "XGBRegressor", "XGBRFRegressor", "XGBRanker")
METHODS: Final = ("predict", "predict_proba")
CONFIG_REFUSED: Final = {
    **REFUSED,
    "model_class": "set 'model_class' on the node itself",
    "model_state": "'uri' of the node says where the model is",
}
_SHAPELESS_ARGS: Final = frozenset(("iteration_range", "validate_features", "base_margin", "training"))
"""Arguments of predict that leave type and shape of the answer as they are."""


class XgboostOptions(CallOptions, NullOptions, LabelOptions, FileOptions):
    """What an XGBoost model takes."""

    model_class: str = option("Booster", "The class that loads it.", choices=MODEL_CLASSES)
    method: str = option("predict", "The model's method to call.", choices=METHODS)


class XgboostKind(Kind[XgboostOptions]):
    """Runs an XGBoost model through Beam's ``XGBoostModelHandlerNumpy``."""

    kind = "model"
    name = "xgboost"
    summary = "Runs an XGBoost model saved as JSON or UBJSON; its own header has the types."
    takes = (
        "A list of columns is the features, [N, F], by name or in the model's order. A mapping, "
        "{feature: column}, names them; 'base_margin' and 'data', the whole matrix, are allowed too."
    )
    gives = "The return value of 'method', an item per row."
    extra = "xgboost"
    modules = ("xgboost", "pandas", "scipy")
    work = Work.ONE_CORE
    options = XgboostOptions

    def check(self, node: NodeView[XgboostOptions]) -> Mapping[str, Type | None]:
        """Compares the node with the model's header, which is read where the file is local."""
        check_margin_is_there(node)
        node = view_of(node)
        place = check_file(node)
        check_config(node, HONOURED, CONFIG_REFUSED)
        _check_method(node)
        check_ports(node, [node.options.method])
        path = None if place is None else local_path(place)
        return _against_header(node, None if path is None else read_or_report(node, path, read_header))

    def load(self, node: CheckedNode[XgboostOptions]) -> Member:
        """Loads the model and compares its features with the node."""
        beam = member.handlers_of(node, "xgboost_inference", "xgboost")
        model_class = getattr(beam.xgboost, node.options.model_class)
        call = _Call(beam.PredictionResult, node.options.method)
        handler, model = member.load(node, functools.partial(_handler, node, beam, model_class, call))
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        features, categories = _features(node, booster, beam.pandas)
        call.is_linear = _is_linear(booster)
        rounds = {} if call.is_linear else _rounds_that_count(node, booster)
        if isinstance(model, beam.xgboost.Booster):
            call.matrix = functools.partial(_matrix, beam.xgboost.DMatrix, booster)
            call.defaults = rounds
        elif features.names is not None:
            # They are in their order; numpy's arrays have no names.
            call.defaults = {"validate_features": False}
        member.check_call(node, getattr(model, call.method))
        loaded = member.BeamMember(
            handler,
            model,
            member.inference_args(node),
            read=reader(node, features, categories),
            write=functools.partial(to_columns_of_one, node),
            per_row=member.is_per_row(node),
        )
        if not categories:
            return loaded
        return FailsUnknownCategories(loaded, examples={one.column: one.values for one in categories})


def _handler(node: CheckedNode[XgboostOptions], beam: Any, model_class: Any, call: _Call, place: str) -> Any:
    """Returns Beam's handler, which loads only checked bytes."""
    handler = beam.XGBoostModelHandlerNumpy(model_class, place, call, **member.config(node))
    handler.load_model = functools.partial(_load, node, model_class, place)
    return handler


def _load(node: CheckedNode[XgboostOptions], model_class: Any, place: str) -> Any:
    """Loads a model from bytes that were checked: xgboost follows wrong indices out of its memory."""
    with open(place, "rb") as file:
        data = file.read()
    with refused(node, place):
        check_model(data)
    model = model_class()
    model.load_model(bytearray(data))
    return model


@dataclasses.dataclass(slots=True)
class _Call:
    """Beam's ``inference_fn``: the batch is one item, the answer another.

    Attributes:
        result: Beam's class of a prediction.
        method: The model's method to call.
        matrix: Makes XGBoost's own matrix of a batch, as Beam's function does for every row; None for a model that
            makes it itself.
        is_linear: Whether it is a booster that cannot read numpy's matrix in place, which is faster and gives the same.
        defaults: Arguments of the call that the node's own replace.
    """

    result: Any
    method: str
    matrix: Callable[[Batch], Any] | None = None
    is_linear: bool = False
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __call__(self, batch: list[Batch], model: Any, inference_args: Mapping[str, Any] | None) -> list[Any]:
        (one,) = batch
        args = {**self.defaults, **(inference_args or {})}
        reads_in_place = not inference_args and not self.is_linear
        if self.matrix is None:
            margin = {} if one.margin is None else {MARGIN: one.margin}
            answer = getattr(model, self.method)(one.rows, **margin, **args)
        elif not reads_in_place:
            answer = model.predict(self.matrix(one), **args)
        else:
            _refuse_infinite(one.rows)
            answer = model.inplace_predict(one.rows, base_margin=one.margin, **args)
        return [self.result(one.rows, answer)]


def _matrix(make: Callable[..., Any], booster: Any, batch: Batch) -> Any:
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


def _rounds_that_count(node: CheckedNode[XgboostOptions], booster: Any) -> dict[str, Any]:
    """Returns the rounds that XGBoost's scikit-learn classes use: up to ``best_iteration`` where that is said.

    Raises:
        InvalidEnsemble: ``bad_model_file``: ``best_iteration`` is not one of the model's rounds.
    """
    best, rounds = booster.attr("best_iteration"), booster.num_boosted_rounds()
    if best is None:
        return {}
    if not COUNT.fullmatch(best) or int(best) >= rounds:
        raise wrong(
            node, f"its 'best_iteration' is {best[:40]!r}, the model has {rounds} rounds, counted from 0"
        )
    return {"iteration_range": (0, int(best) + 1)}


def _is_linear(booster: Any) -> bool:
    name: str = json.loads(booster.save_config())["learner"]["gradient_booster"]["name"]
    return name == "gblinear"


def _check_method(node: NodeView[XgboostOptions]) -> None:
    if node.options.method == "predict_proba" and node.options.model_class not in CLASSIFIERS:
        text = (
            f"a {node.options.model_class} has no predict_proba; set 'model_class: XGBClassifier', "
            "or leave 'method' out: a Booster's predict gives probabilities where its objective does"
        )
        node.problem("bad_value", "method", text)


def _against_header(node: NodeView[XgboostOptions], header: Header | None) -> Mapping[str, Type | None]:
    """Compares a node with the model's header, where there is one, and settles its types."""
    check_features(node, header)
    if header is None:
        refused = _refused(node)
        for output in node.spec.outputs if refused else ():
            node.tell(output.column, Meaning(refused=refused))
        return settle(node, "signature_mismatch", {})
    if node.options.model_class in CLASSIFIERS and not header.objective.startswith(("binary:", "multi:")):
        text = f"the model was trained for {header.objective}, which is not a classification"
        node.problem("signature_mismatch", "model_class", text)
    _note_rounds(node, header)
    answer = answer_type(header, node.options.model_class, node.options.method)
    for output in node.spec.outputs:
        node.tell(output.column, _meaning(node, header, answer))
    if not set(node.options.inference_args) <= _SHAPELESS_ARGS:
        answer = None
    return settle(node, "signature_mismatch", {output.column: answer for output in node.spec.outputs})


def _note_rounds(node: NodeView[XgboostOptions], header: Header) -> None:
    """Note which rounds a model uses, where that is not all of them."""
    given = (node.options.inference_args).get("iteration_range")
    if isinstance(given, list) and len(given) == 2:
        start, end = given
        rounds = f"boosting rounds {start} to {end}, the last excluded" if end else "all boosting rounds"
        node.note(f"{rounds} ('iteration_range')")
    elif header.best_iteration is not None:
        count = header.best_iteration + 1
        rounds = "1 boosting round" if count == 1 else f"{count} boosting rounds"
        node.note(f"{rounds}, up to its best_iteration {header.best_iteration}")


_NO_PROBABILITIES: Final = (
    "output_margin",
    "pred_contribs",
    "pred_interactions",
    "pred_leaf",
    "approx_contribs",
)


def _refused(node: NodeView[XgboostOptions]) -> str:
    """Returns why the arguments of the call make it return other values than probabilities; empty where they do not."""
    given = node.options.inference_args
    asked = next((name for name in _NO_PROBABILITIES if given.get(name)), None)
    return "" if asked is None else f"'{asked}' in its 'inference_args' asks for other values"


def _meaning(node: NodeView[XgboostOptions], header: Header, answer: Type | None) -> Meaning:
    """Returns what an answer means: the classes are always 0, 1, 2 and so on."""
    refused = _refused(node)
    if not isinstance(answer, Array):
        is_label = node.options.model_class in CLASSIFIERS and not refused
        return of_classes(range(max(header.classes, 2)), OF_LABELS) if is_label else Meaning(refused=refused)
    if header.targets > 1:
        return Meaning(
            refused=refused or f"the model predicts {header.targets} targets, one beside the other"
        )
    if _gives_flags(header) and node.options.model_class in CLASSIFIERS and node.options.method == "predict":
        refused = refused or "the model gives 0 or 1 for each class; 'predict_proba' gives probabilities"
    return of_classes(range(max(header.classes, 2)), SCORES, refused)


def _gives_flags(header: Header) -> bool:
    """Whether a classifier predicts 0 or 1 for each class: XGBoost takes two of ``multi:softprob`` for labels."""
    return header.objective == "multi:softprob" and header.classes == 2


def answer_type(header: Header, model_class: str, method: str) -> Type | None:
    """Returns the type of one row of a model's answer, or None where the header does not determine it."""
    if model_class in CLASSIFIERS:
        if method == "predict_proba":
            return Array(FLOAT, (header.targets if header.targets > 1 else max(header.classes, 2),))
        flags = header.classes if _gives_flags(header) else header.targets
        return Array(DOUBLE, (flags,)) if flags > 1 else INT64
    if header.objective == "multi:softprob":
        return Array(FLOAT, (header.classes,))
    if header.objective in (
        "reg:quantileerror",
        "reg:expectileerror",
    ):  # one a quantile; the header does not count
        return None
    return Array(FLOAT, (header.targets,)) if header.targets > 1 else FLOAT


def _features(
    node: CheckedNode[XgboostOptions], booster: Any, pandas: Any
) -> tuple[Features, tuple[Category, ...]]:
    """Compares a loaded model's features with the node; gives them, and those that are categories of the model's."""
    names = booster.feature_names
    kept = kept_categories(booster)
    features, _ = match(node, names, (MARGIN,), WHOLE)
    log_order(node, names)
    raise_disagreements(node, disagreements(node, booster.num_features(), names, booster.feature_types))
    raise_disagreements(node, uncategorised(columns_and_names(node, features), node.inputs, kept, HOW_KEPT))
    return features, categories_of(node, features, kept, pandas)
