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
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, NodeView, Option
from beam_ensembles.graph.labels import check_labels
from beam_ensembles.handlers import member
from beam_ensembles.handlers.arguments import Values, list_argument, matrix, numeric_width
from beam_ensembles.handlers.config import CALLS, HONOURED, LABELS, REFUSED, check_calls, check_config
from beam_ensembles.handlers.model_file import SHA256, URI, check_file
from beam_ensembles.handlers.results import to_columns
from beam_ensembles.handlers.xgboost_header import Header, HeaderError, read_header
from beam_ensembles.types import FLOAT, INT64, NUMPY_DTYPES, Array, Type

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
    extra: str | None = "xgboost"
    modules: tuple[str, ...] = ("xgboost", "pandas", "scipy")
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
        _check_one_argument(node)
        _check_method(node)
        check_ports(node, [_method(node)])
        header = None
        path = None if place is None else local_path(place)
        if path is not None:
            try:
                header = read_header(path)
            except (HeaderError, OSError) as exc:
                node.problem("bad_model_file", "uri", f"'{path}': {exc}")
        return _against_header(node, header)

    def load(self, node: CheckedNode) -> Member:
        """Loads the model and compares its number of features with the node."""
        beam = member.handlers_of(node, "xgboost_inference", "xgboost")
        model_class = getattr(beam.xgboost, str(node.spec.options.get("model_class", "Booster")))
        call = _Call(beam.PredictionResult, str(node.spec.options.get("method", "predict")))
        handler, model = member.load(
            node,
            lambda place: beam.XGBoostModelHandlerNumpy(model_class, place, call, **member.config(node)),
        )
        if isinstance(model, beam.xgboost.Booster):
            call.matrix, call.in_place = beam.xgboost.DMatrix, not _is_linear(model)
        _check_features(node, model)
        member.check_call(node, getattr(model, call.method))
        return member.BeamMember(
            handler,
            model,
            member.inference_args(node),
            read=lambda columns: matrix(columns, node.spec.columns),
            write=functools.partial(_columns, node),
            per_row=member.is_per_row(node),
        )


@dataclasses.dataclass(slots=True)
class _Call:
    """Beam's ``inference_fn``: the batch is one matrix, the answer one item.

    Attributes:
        result: Beam's class of a prediction.
        method: What is called on the model.
        matrix: Makes XGBoost's matrix of a numpy one, as Beam's own function does for every row; None for a
            model that takes numpy's.
        in_place: Whether a booster can read numpy's matrix in place, which is faster and gives the same.
    """

    result: Any
    method: str
    matrix: Callable[[Values], Any] | None = None
    in_place: bool = False

    def __call__(
        self, batch: list[Values], model: Any, inference_args: Mapping[str, Any] | None
    ) -> list[Any]:
        rows = batch[0]
        if self.matrix is None:
            answer = getattr(model, self.method)(rows, **(inference_args or {}))
        elif inference_args or not self.in_place:
            answer = model.predict(self.matrix(rows), **(inference_args or {}))
        else:
            _refuse_infinite(rows)
            answer = model.inplace_predict(rows)
        return [self.result(rows, answer)]


def _refuse_infinite(rows: Values) -> None:
    """XGBoost's own matrix refuses what no float32 holds; reading in place it would not look."""
    if (np.abs(rows) > np.finfo(np.float32).max).any():
        raise NodeError("wrong_value", "a feature is infinite or too large for XGBoost's float32")


def _is_linear(booster: Any) -> bool:
    name: str = json.loads(booster.save_config())["learner"]["gradient_booster"]["name"]
    return name == "gblinear"


def _columns(node: CheckedNode, answer: Any, rows: int) -> Columns:
    return to_columns(node, dict.fromkeys(node.outputs, answer), rows)


def _method(node: NodeView) -> str:
    return str(node.option("method", "predict"))


def _model_class(node: NodeView) -> str:
    return str(node.option("model_class", "Booster"))


def _check_one_argument(node: NodeView) -> None:
    inputs = node.spec.inputs
    if inputs is not None and inputs.ports is not None:
        text = f"an XGBoost model takes one argument; list its columns: [{', '.join(inputs.columns)}]"
        node.problem("unknown_port", inputs.path(0), text)


def _check_method(node: NodeView) -> None:
    if _method(node) == "predict_proba" and _model_class(node) not in CLASSIFIERS:
        text = (
            f"a {_model_class(node)} has no predict_proba; say 'model_class: XGBClassifier', "
            "or leave 'method' out: a Booster's predict gives probabilities where its objective does"
        )
        node.problem("bad_value", "method", text)


def _against_header(node: NodeView, header: Header | None) -> Mapping[str, Type | None]:
    """Compares a node with the model's header, where there is one, and settles its types."""
    argument = list_argument(node)
    if argument is not None and argument.element not in NUMPY_DTYPES:
        text = f"an XGBoost model takes numbers, the node gives {argument.element}"
        node.problem("type_mismatch", argument.place, text)
    elif argument is not None and header is not None and argument.width != header.features:
        text = f"the model takes {header.features} features, the columns of the node hold {argument.width}"
        node.problem("signature_mismatch", argument.place, text)
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
    if header.objective == "reg:quantileerror":  # one value a quantile, and the header does not count them
        return None
    return Array(FLOAT, (header.targets,)) if header.targets > 1 else FLOAT


def _check_features(node: CheckedNode, model: Any) -> None:
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    width, wanted = numeric_width(node.inputs, node.spec.columns), booster.num_features()
    if width != wanted:
        text = f"the model takes {wanted} features, the columns of the node hold {width}"
        raise InvalidEnsemble([Problem(node.spec.path("inputs"), "signature_mismatch", text)])
