"""CatBoost: models saved with ``save_model`` in its binary format (``.cbm``) or as JSON."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.graph.class_meanings import LABELS as OF_LABELS
from beam_ensembles.graph.class_meanings import SCORES, Meaning, of_classes, shown
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView, Work
from beam_ensembles.graph.options import option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.graph.shared_options import LabelOptions, NullOptions
from beam_ensembles.handlers.catboost.header import (
    CATEGORY,
    EMBEDDING,
    NUMBER,
    ONE_VS_ALL,
    SEVERAL_LABELS,
    TEXT,
    Header,
    check_format,
    header_of,
    read_header,
)
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.bad_model_files import raise_disagreements, read_or_report, refused
from beam_ensembles.handlers.support.beam_config import (
    A_WHOLE_NUMBER,
    HONOURED,
    REFUSED,
    SOME_THREADS,
    Accepted,
    CallOptions,
    check_arguments,
    check_config,
)
from beam_ensembles.handlers.support.categories import columns_and_names, fraction_as_category
from beam_ensembles.handlers.support.features import (
    Features,
    column_of_each,
    count_of,
    feature_arguments,
    is_number,
    log_order,
    match,
    nameless,
    warn_of_order,
)
from beam_ensembles.handlers.support.library_handler import handler_of, library_of
from beam_ensembles.handlers.support.missing_values import filler, may_be_missing, view_of
from beam_ensembles.handlers.support.model_file import FileOptions, check_file
from beam_ensembles.handlers.support.results import to_columns_of_one
from beam_ensembles.types import BOOLEAN, DOUBLE, INT64, STRING, Array, Type, dtype_of

CLASSIFIER: Final = "CatBoostClassifier"
REGRESSOR: Final = "CatBoostRegressor"
RANKER: Final = "CatBoostRanker"
MODEL_CLASSES: Final = ("CatBoost", CLASSIFIER, REGRESSOR, RANKER)
METHODS: Final = ("predict", "predict_proba")
PREDICTIONS: Final = ("RawFormulaVal", "Class", "Probability", "LogProbability", "Exponent")
CONFIG_REFUSED: Final = {**REFUSED, "model_class": "set 'model_class' on the node itself"}
_ROUNDS: Final[Mapping[str, Accepted]] = {
    "ntree_start": A_WHOLE_NUMBER,
    "ntree_end": A_WHOLE_NUMBER,
    "thread_count": SOME_THREADS,
}
_PREDICTION: Final = Accepted(", ".join(PREDICTIONS), lambda value: value in PREDICTIONS)
_DANGER: Final = "can end or corrupt the process, since CatBoost does not check what its files say"


class CatboostOptions(CallOptions, NullOptions, LabelOptions, FileOptions):
    """What a CatBoost model takes."""

    model_class: str | None = option(
        None,
        "The class that loads it.",
        choices=MODEL_CLASSES,
        shown="by the model's loss function: a classifier or a regressor",
    )
    method: str = option("predict", "The model's method to call.", choices=METHODS)


class CatboostKind(Kind[CatboostOptions]):
    """Runs a CatBoost model by its own classes, since Beam has no handler for it."""

    kind = "model"
    name = "catboost"
    summary = "Runs a CatBoost model saved as .cbm or JSON; its own header has types and classes."
    takes = (
        "A list of columns is the features, [N, F], by name or in the model's order; categories are texts or whole "
        "numbers. A mapping, {feature: column}, names them."
    )
    gives = "The return value of 'method', an item per row."
    extra = "catboost"
    modules = ("catboost", "pandas")
    work = Work.ONE_CORE
    options = CatboostOptions

    def check(self, node: NodeView[CatboostOptions]) -> Mapping[str, Type | None]:
        """Compares the node with the model's header, which is read where the file is local and trusted."""
        given, node = node, view_of(node)
        place = check_file(node, needs_trust=_DANGER)
        check_config(node, HONOURED, CONFIG_REFUSED)
        check_arguments(node, _arguments(node))
        check_ports(node, [node.options.method])
        path = None if place is None else local_path(place)
        header = None if path is None else read_or_report(node, path, read_header)
        for argument in feature_arguments(node).values():
            if not is_number(argument) and argument.element != "string":
                text = f"a CatBoost model takes numbers and texts, the node gives {argument.element}"
                node.problem("type_mismatch", argument.place, text)
                header = None
        if header is None:
            return settle(node, "signature_mismatch", {})
        for where, text in _disagreements(given, header):
            node.problem("signature_mismatch", where, text)
        return _settled(node, header)

    def load(self, node: CheckedNode[CatboostOptions]) -> Member:
        """Loads the model and compares it with the node again."""
        library, pandas = library_of(node, "catboost"), library_of(node, "pandas", "catboost")
        handler, model = member.load(
            node,
            lambda place: handler_of(
                node,
                functools.partial(_load, node, library, place),
                functools.partial(_call, node.options.method),
            ),
        )
        header = _header(model)
        raise_disagreements(node, _disagreements(node, header))
        features, _ = match(node, header.names)
        log_order(node, header.names)
        return member.BeamMember(
            handler,
            model,
            member.inference_args(node),
            read=_reader(node, header, features, pandas),
            write=functools.partial(to_columns_of_one, node),
            per_row=member.is_per_row(node),
            meanings=_meanings(node, header),
        )


def _arguments(node: NodeView[CatboostOptions]) -> Mapping[str, Accepted]:
    """Returns the ``inference_args`` that the method takes."""
    if node.options.method == "predict_proba" or node.options.model_class == RANKER:
        return _ROUNDS
    return {**_ROUNDS, "prediction_type": _PREDICTION}


def _load(node: CheckedNode[CatboostOptions], library: Any, place: str) -> Any:
    """Loads a model; whoever vouches for its file vouches for what CatBoost follows in it."""
    with open(place, "rb") as file:
        head = file.read(64)
    with refused(node, place):
        format_ = check_format(head)
    model = library.CatBoost()
    model.load_model(place, format=format_)
    name = _class_for(node, _header(model))
    return model if name == "CatBoost" else getattr(library, name)().load_model(place, format=format_)


def _header(model: Any) -> Header:
    """Returns what a loaded model says about itself."""
    types = dict.fromkeys(model.get_cat_feature_indices(), CATEGORY)
    types |= dict.fromkeys(model.get_text_feature_indices(), TEXT)
    types |= dict.fromkeys(model.get_embedding_feature_indices(), EMBEDDING)
    metadata = model.get_metadata()
    told = {key: metadata[key] if key in metadata.keys() else "" for key in ("params", "class_params")}  # noqa: SIM118
    _, bias = model.get_scale_and_bias()
    features = [(at, types.get(at, NUMBER), name) for at, name in enumerate(model.feature_names_)]
    return header_of(features, max(np.size(bias), 1), **told)


def _class_for(node: NodeView[CatboostOptions] | CheckedNode[CatboostOptions], header: Header) -> str:
    """Returns the class that a node asks for, or the one that belongs to the model's loss function."""
    asked = node.options.model_class
    return asked if asked is not None else CLASSIFIER if header.is_classifier else REGRESSOR


def _call(method: str, rows: Any, model: Any, arguments: Mapping[str, Any]) -> Any:
    """Returns a model's answer; a row's only label stands in a list where there are more than two classes."""
    answer = np.asarray(getattr(model, method)(rows, **arguments))
    return answer[:, 0] if answer.ndim == 2 and answer.shape[1] == 1 else answer


def _settled(node: NodeView[CatboostOptions], header: Header) -> Mapping[str, Type | None]:
    """Returns what the model's header tells of a node, and settles its types."""
    warn_of_order(node, header.names)
    _note_rounds(node)
    for column, meaning in _meanings(node, header).items():
        node.tell(column, meaning)
    answer = answer_type(node, header)
    return settle(node, "signature_mismatch", {output.column: answer for output in node.spec.outputs})


def _disagreements(
    node: NodeView[CatboostOptions] | CheckedNode[CatboostOptions], header: Header
) -> Iterator[tuple[str, str]]:
    """Compares a model with its node; gives the place below the node and a sentence."""
    yield from _wrong_class(node, header)
    features, unmatched = match(node, header.names)
    yield from unmatched
    if (text := nameless(node, features)) is not None:
        yield "inputs", text
    width = count_of(node.inputs, features.columns)
    if unmatched or width is None:
        return
    if width != len(header.types):
        yield "inputs", f"the model takes {len(header.types)} features, the columns of the node hold {width}"
        return
    for (column, name), type_ in zip(columns_and_names(node, features), header.types, strict=True):
        text = _wrong_feature(node, column, name, type_)
        if text:
            yield "inputs", text


def _wrong_class(
    node: NodeView[CatboostOptions] | CheckedNode[CatboostOptions], header: Header
) -> Iterator[tuple[str, str]]:
    name = _class_for(node, header)
    if node.options.method == "predict_proba" and name != CLASSIFIER:
        yield (
            "method",
            f"a {name} has no predict_proba; set 'model_class: {CLASSIFIER}' for a model of classes",
        )
    elif name == CLASSIFIER and not header.is_classifier:
        what = f"for {header.loss}" if header.loss else "with a loss function of its own"
        yield "model_class", f"the model was trained {what}, which is not a classification"
    labels = node.options.labels
    if labels and header.classes and header.loss not in SEVERAL_LABELS:
        are_names = isinstance(labels[0], str) and not isinstance(header.classes[0], str)
        if len(labels) != len(header.classes) or (not are_names and list(labels) != list(header.classes)):
            yield (
                "labels",
                f"the node's labels are {shown(labels)}, but the model's classes are {shown(header.classes)}, in this "
                "order",
            )


def _wrong_feature(
    node: NodeView[CatboostOptions] | CheckedNode[CatboostOptions], column: str, name: str, type_: str
) -> str:
    """Returns why a column cannot be a feature; empty where it can."""
    given = node.inputs.get(column)
    if given is None:
        return ""
    is_text = dtype_of(given.required()) is None
    if type_ in (CATEGORY, TEXT) and is_text and column in may_be_missing(node):
        how = f"as in training: COALESCE({column}, 'nan') in a node of 'apply: sql'"
        return f"'{column}' may be null, and CatBoost takes no missing {type_}; replace nulls before the model, {how}"
    if type_ == EMBEDDING:
        return f"the feature '{name}' is an embedding, which is not supported; use 'model: python'"
    if type_ == TEXT and not is_text:
        return f"'{column}' is {given}, but the feature '{name}' is a text"
    if type_ == NUMBER and is_text:
        return f"'{column}' is text, but the feature '{name}' is a number"
    return fraction_as_category(node, column) or "" if type_ == CATEGORY else ""


def _note_rounds(node: NodeView[CatboostOptions]) -> None:
    """Notes which trees a model uses, where that is not all of them."""
    given = node.options.inference_args
    start, end = given.get("ntree_start", 0), given.get("ntree_end", 0)
    if start or end:
        rounds = f"trees {start} to {end}, the last excluded" if end else f"trees from {start} on"
        node.note(f"{rounds} ('ntree_start', 'ntree_end')")


def answer_type(node: NodeView[CatboostOptions], header: Header) -> Type | None:
    """Returns the type of one row of a model's answer, or None where the header does not determine it."""
    name = _class_for(node, header)
    asked = node.options.inference_args.get("prediction_type")
    of_values = Array(DOUBLE, (header.values,)) if header.values > 1 else DOUBLE
    if asked is not None or name == "CatBoost":
        return of_values if asked in (None, "RawFormulaVal") else None
    if name != CLASSIFIER:
        return of_values
    if header.loss in SEVERAL_LABELS:
        return Array(DOUBLE, (header.values,)) if node.options.method == "predict_proba" else None
    if node.options.method == "predict_proba":
        return Array(DOUBLE, (max(header.values, 2),))
    return _type_of(header.classes)


def _type_of(classes: tuple[Any, ...] | None) -> Type | None:
    if classes and all(isinstance(one, str) for one in classes):
        return STRING
    if classes and all(isinstance(one, bool) for one in classes):
        return BOOLEAN
    return INT64 if classes and all(isinstance(one, int) for one in classes) else None


def _meanings(
    node: NodeView[CatboostOptions] | CheckedNode[CatboostOptions], header: Header
) -> dict[str, Meaning]:
    """Returns what a model's classes mean for the columns of its node."""
    given = node.options.inference_args
    asked = given.get("prediction_type")
    refused = "" if asked is None else f"'prediction_type: {asked}' asks for other values"
    is_classifier = _class_for(node, header) == CLASSIFIER
    if header.loss in SEVERAL_LABELS:
        refused = refused or "the model gives a probability for each of several labels"
    if header.loss == ONE_VS_ALL:
        refused = refused or f"the probabilities of '{ONE_VS_ALL}' do not add up to 1"
    if not is_classifier:
        refused = (
            refused or "the model gives scores ('method: predict_proba' of a classifier gives probabilities)"
        )
        found = Meaning(refused=refused)
    elif node.options.method == "predict_proba":
        found = of_classes(header.classes, SCORES, refused, is_open=True)
    else:
        found = Meaning(refused=refused) if refused else of_classes(header.classes, OF_LABELS, is_open=True)
    return {output.column: found for output in node.spec.outputs}


def _reader(
    node: CheckedNode[CatboostOptions], header: Header, features: Features, pandas: Any
) -> Callable[[Columns], Any]:
    """Returns the function that makes a model's features of a batch: a matrix of numbers, or a DataFrame."""
    fill = filler(node)
    if set(header.types) <= {NUMBER}:
        plain = Features(features.columns, None, has_text=False)
        return lambda columns: np.asarray(plain.read(fill(columns), None), np.float64)
    names = features.names or tuple(map(str, range(len(header.types))))
    of_features = column_of_each(node.inputs, features.columns)
    objects = frozenset(one for one in of_features if dtype_of(node.inputs[one].required()) is None)
    named = Features(features.columns, names, has_text=True, objects=objects)
    return lambda columns: named.read(fill(columns), pandas)
