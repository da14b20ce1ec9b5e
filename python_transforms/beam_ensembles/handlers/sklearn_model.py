"""scikit-learn: estimators and pipelines saved with joblib or pickle."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.errors import InvalidEnsemble, Problem, listed
from beam_ensembles.graph.answers import check_ports, holds
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, NodeView, Option
from beam_ensembles.graph.labels import check_labels
from beam_ensembles.handlers import member
from beam_ensembles.handlers.arguments import list_argument, matrix, numeric_width
from beam_ensembles.handlers.config import CALLS, HONOURED, LABELS, REFUSED, check_calls, check_config
from beam_ensembles.handlers.model_file import SHA256, URI, check_file, check_trust
from beam_ensembles.handlers.results import to_columns
from beam_ensembles.types import DOUBLE, Array, Type, row_shape

METHODS: Final = ("predict", "predict_proba", "decision_function", "transform")
FORMATS: Final = ("joblib", "pickle")
CONFIG_REFUSED: Final = {
    **REFUSED,
    "model_uri": "'uri' of the node says where the model is",
    "model_file_type": "'format' of the node says how the model was saved",
}


class SklearnKind:
    """Runs a scikit-learn model through Beam's ``SklearnModelHandlerNumpy``."""

    kind = "model"
    name = "sklearn"
    summary = "Runs a scikit-learn estimator or pipeline saved with joblib or pickle."
    extra: str | None = "sklearn"
    modules: tuple[str, ...] = ("sklearn", "pandas")
    options: tuple[Option, ...] = (
        URI,
        SHA256,
        Option("method", "string", "What is called on the model.", choices=METHODS, default="predict"),
        Option(
            "format", "string", "How it was saved.", choices=FORMATS, default="by the end of the file's name"
        ),
        LABELS,
        *CALLS,
    )

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Checks all but the model itself, which cannot be read without running its code."""
        place = check_file(node)
        if place is not None:
            check_trust(node, place)
            _check_format(node)
        check_config(node, HONOURED, CONFIG_REFUSED)
        check_calls(node)
        check_labels(node)
        _check_one_argument(node)
        list_argument(node)
        check_ports(node, [_method(node)])
        return {output.column: _declared(node, output.column, output.type) for output in node.spec.outputs}

    def load(self, node: CheckedNode) -> Member:
        """Loads the model and compares it with what the file says about it."""
        beam = member.handlers_of(node, "sklearn_inference", "sklearn")
        method = str(node.spec.options.get("method", "predict"))
        handler, model = member.load(
            node,
            lambda place: beam.SklearnModelHandlerNumpy(
                place,
                beam.ModelFileType[_format(node.spec.options, str(node.uri)).upper()],
                inference_fn=functools.partial(_call, method),
                **member.config(node),
            ),
        )
        problems = _disagreements(node, model, method)
        if problems:
            raise InvalidEnsemble(problems)
        member.check_call(node, getattr(model, method))
        return member.BeamMember(
            handler,
            model,
            member.inference_args(node),
            read=lambda columns: matrix(columns, node.spec.columns),
            write=functools.partial(_columns, node),
            per_row=member.is_per_row(node),
        )


def _call(method: str, model: Any, batch: list[Any], inference_args: Mapping[str, Any] | None) -> list[Any]:
    """Beam's ``inference_fn``: the batch is one matrix, the answer one item."""
    return [getattr(model, method)(batch[0], **(inference_args or {}))]


def _columns(node: CheckedNode, answer: Any, rows: int) -> Columns:
    return to_columns(node, dict.fromkeys(node.outputs, answer), rows)


def _method(node: NodeView) -> str:
    return str(node.option("method", "predict"))


def _format(options: Mapping[str, Any], uri: str) -> str:
    return str(options.get("format") or ("joblib" if uri.endswith(".joblib") else "pickle"))


def _check_format(node: NodeView) -> None:
    uri = str(node.option("uri"))
    if node.option("format") is None and not uri.endswith((".joblib", ".pkl", ".pickle")):
        text = f"'{uri}' ends neither in .joblib nor in .pkl or .pickle; say {' or '.join(FORMATS)}"
        node.problem("missing_key", "format", text)


def _check_one_argument(node: NodeView) -> None:
    inputs = node.spec.inputs
    if inputs is not None and inputs.ports is not None:
        node.problem(
            "unknown_port",
            inputs.path(0),
            f"a scikit-learn model takes one argument; list its columns: [{', '.join(inputs.columns)}]",
        )


def _declared(node: NodeView, column: str, declared: Type | None) -> Type | None:
    """Gives a column's declared type where the method can give it."""
    method, place = _method(node), f"outputs.{column}"
    if declared is None:
        example = '"array<double>[10]"' if method in ("predict_proba", "transform") else "double"
        text = f"a scikit-learn model is not read before it is loaded; declare a type: {column}: {example}"
        node.problem("missing_type", place, text)
    elif method == "predict_proba" and not _is_probabilities(declared):
        text = f"'{column}' is declared {declared}, but predict_proba gives array<double>[number of classes]"
        node.problem("signature_mismatch", place, text)
        return None
    return declared


def _is_probabilities(type_: Type) -> bool:
    return isinstance(type_, Array) and len(type_.shape or (0,)) == 1 and holds(type_.element, DOUBLE)


def _disagreements(node: CheckedNode, model: Any, method: str) -> list[Problem]:
    """Compares a loaded model with the node: its method, its number of features and of classes."""
    found: list[tuple[str, str]] = []
    if not hasattr(model, method):
        found.append(("method", f"this {type(model).__name__} has no {method}"))
    width, wanted = numeric_width(node.inputs, node.spec.columns), getattr(model, "n_features_in_", None)
    if width is not None and wanted is not None and width != wanted:
        found.append(
            ("inputs", f"the model was trained on {wanted} features, the columns of the node hold {width}")
        )
    classes = getattr(model, "classes_", None)
    if classes is not None and not isinstance(classes, list):  # a list: several outputs, each with its own
        found += _class_disagreements(node, classes.tolist(), method)
    return [Problem(node.spec.path(place), "signature_mismatch", text) for place, text in found]


def _class_disagreements(node: CheckedNode, classes: list[Any], method: str) -> Iterator[tuple[str, str]]:
    """Compares a model's classes with the declared widths and labels; numbered classes may have names."""
    if method == "predict_proba":
        for name, type_ in node.outputs.items():
            if row_shape(type_) not in ((), (len(classes),)):
                yield f"outputs.{name}", f"'{name}' is declared {type_}; the model has {len(classes)} classes"
    labels = node.spec.options.get("labels") or classes
    are_names = isinstance(labels[0], str) and not isinstance(classes[0], str)
    if len(labels) != len(classes) or (not are_names and labels != classes):
        yield "labels", f"the model's classes are {listed([str(one) for one in classes])}, in this order"
