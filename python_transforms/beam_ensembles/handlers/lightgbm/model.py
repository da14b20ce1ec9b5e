"""LightGBM: models saved as text with ``save_model``."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.graph.class_meanings import LABELS as OF_LABELS
from beam_ensembles.graph.class_meanings import SCORES, Meaning, of_classes
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView, Work
from beam_ensembles.graph.options import option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.graph.shared_options import LabelOptions, NullOptions
from beam_ensembles.handlers.lightgbm.header import OVA, Header, read_header
from beam_ensembles.handlers.lightgbm.trees import check_model
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.arguments import Values
from beam_ensembles.handlers.support.bad_model_files import raise_disagreements, read_or_report, refused
from beam_ensembles.handlers.support.beam_config import (
    A_TRUTH,
    A_WHOLE_NUMBER,
    HONOURED,
    REFUSED,
    SOME_THREADS,
    Accepted,
    CallOptions,
    check_arguments,
    check_config,
)
from beam_ensembles.handlers.support.categories import (
    Category,
    categories_of,
    columns_and_names,
    matrix_reader,
    uncategorised,
)
from beam_ensembles.handlers.support.features import (
    Features,
    count_of,
    feature_arguments,
    is_number,
    log_order,
    match,
    nameless,
    warn_of_order,
)
from beam_ensembles.handlers.support.library_handler import handler_of, library_of
from beam_ensembles.handlers.support.missing_values import view_of
from beam_ensembles.handlers.support.model_file import FileOptions, check_file
from beam_ensembles.handlers.support.results import to_columns_of_one
from beam_ensembles.handlers.support.unknown_categories import FailsUnknownCategories
from beam_ensembles.types import DOUBLE, INT64, Array, Type

CLASSIFIER: Final = "LGBMClassifier"
MODEL_CLASSES: Final = ("Booster", CLASSIFIER, "LGBMRegressor", "LGBMRanker")
METHODS: Final = ("predict", "predict_proba")
CLASSIFICATIONS: Final = ("binary", "cross_entropy", "multiclass", OVA)
CONFIG_REFUSED: Final = {**REFUSED, "model_class": "set 'model_class' on the node itself"}
ARGUMENTS: Final[Mapping[str, Accepted]] = {
    "start_iteration": A_WHOLE_NUMBER,
    "num_iteration": A_WHOLE_NUMBER,
    "raw_score": A_TRUTH,
    "pred_leaf": A_TRUTH,
    "pred_contrib": A_TRUTH,
    "num_threads": SOME_THREADS,
}
"""The arguments of ``Booster.predict``; it takes any others for settings of LightGBM."""
_OTHER_VALUES: Final = ("raw_score", "pred_leaf", "pred_contrib")
_HOW_KEPT: Final = "train it on a DataFrame whose texts are of pandas's type 'category'"


class LightgbmOptions(CallOptions, NullOptions, LabelOptions, FileOptions):
    """What a LightGBM model takes."""

    model_class: str = option("Booster", "The class whose answers it returns.", choices=MODEL_CLASSES)
    method: str = option("predict", "The model's method to call.", choices=METHODS)


class LightgbmKind(Kind[LightgbmOptions]):
    """Runs a LightGBM model by its own ``Booster``, since Beam has no handler for it."""

    kind = "model"
    name = "lightgbm"
    summary = "Runs a LightGBM model saved as text with save_model; its own header has the types."
    takes = (
        "A list of columns is the features, [N, F], by name or in the model's order. A mapping, "
        "{feature: column}, names them."
    )
    gives = "The return value of 'method', an item per row."
    extra = "lightgbm"
    modules = ("lightgbm", "pandas")
    work = Work.ONE_CORE
    options = LightgbmOptions

    def check(self, node: NodeView[LightgbmOptions]) -> Mapping[str, Type | None]:
        """Compares the node with the model's header, which is read where the file is local."""
        declared, node = node.inputs, view_of(node)
        place = check_file(node)
        check_config(node, HONOURED, CONFIG_REFUSED)
        check_arguments(node, ARGUMENTS)
        _check_method(node)
        check_ports(node, [node.options.method])
        path = None if place is None else local_path(place)
        return _against_header(
            node, declared, None if path is None else read_or_report(node, path, read_header)
        )

    def load(self, node: CheckedNode[LightgbmOptions]) -> Member:
        """Loads the model and compares it with the node again."""
        library, pandas = library_of(node, "lightgbm"), library_of(node, "pandas", "lightgbm")
        found: list[Header] = []

        def make(place: str) -> Any:
            return handler_of(
                node, lambda: _load(node, library, place, found), functools.partial(_call, node)
            )

        handler, model = member.load(node, make)
        features, categories = _features(node, found[-1], pandas)
        read = matrix_reader(node, features, categories)
        loaded = member.BeamMember(
            handler,
            model,
            member.inference_args(node),
            read=lambda columns: _matrix(read(columns)),
            write=functools.partial(to_columns_of_one, node),
            per_row=member.is_per_row(node),
        )
        if not categories:
            return loaded
        return FailsUnknownCategories(loaded, examples={one.column: one.values for one in categories})


def _load(node: CheckedNode[LightgbmOptions], library: Any, place: str, found: list[Header]) -> Any:
    """Loads a model from bytes that were checked: lightgbm follows wrong indices out of its memory."""
    with open(place, "rb") as file:
        data = file.read()
    with refused(node, place):
        text, header = check_model(data)
    found.append(header)
    return library.Booster(model_str=text)


def _matrix(read: tuple[Values, Columns]) -> Values:
    """Returns the features as LightGBM reads them in place; whole numbers it would make float32."""
    rows, _ = read
    return np.ascontiguousarray(rows, np.float32 if rows.dtype == np.float32 else np.float64)


def _call(node: CheckedNode[LightgbmOptions], rows: Values, model: Any, arguments: Mapping[str, Any]) -> Any:
    """Returns what the node's class and method give, as LightGBM's scikit-learn classes make it of the booster's."""
    answer = model.predict(rows, **arguments)
    options = node.options
    if options.model_class != CLASSIFIER or any(arguments.get(name) for name in _OTHER_VALUES):
        return answer
    chances = answer if np.ndim(answer) > 1 else np.vstack((1.0 - answer, answer)).transpose()
    return chances if options.method == "predict_proba" else np.argmax(chances, axis=1)


def _check_method(node: NodeView[LightgbmOptions]) -> None:
    if node.options.method == "predict_proba" and node.options.model_class != CLASSIFIER:
        text = (
            f"a {node.options.model_class} has no predict_proba; set 'model_class: {CLASSIFIER}', "
            "or leave 'method' out: a Booster's predict gives probabilities where its objective does"
        )
        node.problem("bad_value", "method", text)


def _against_header(
    node: NodeView[LightgbmOptions], declared: Mapping[str, Type | None], header: Header | None
) -> Mapping[str, Type | None]:
    """Compares a node with the model's header, where there is one, and settles its types."""
    for argument in feature_arguments(node).values():
        if not is_number(argument) and not (argument.element == "string" and (header is None or header.kept)):
            text = f"a LightGBM model takes numbers, the node gives {argument.element}"
            node.problem("type_mismatch", argument.place, text)
            return settle(node, "signature_mismatch", {})
    refused = _refused(node)
    if header is None:
        for output in node.spec.outputs if refused else ():
            node.tell(output.column, Meaning(refused=refused))
        return settle(node, "signature_mismatch", {})
    warn_of_order(node, header.names)
    for place, text in _disagreements(node, declared, header):
        node.problem("signature_mismatch", place, text)
    if node.options.model_class == CLASSIFIER and header.objective not in CLASSIFICATIONS:
        what = f"for {header.objective}" if header.objective else "with an objective of its own"
        text = f"the model was trained {what}, which is not a classification"
        node.problem("signature_mismatch", "model_class", text)
    _note_rounds(node)
    answer = answer_type(header, node.options.model_class, node.options.method, node.options.inference_args)
    for output in node.spec.outputs:
        node.tell(output.column, _meaning(node, header, answer, refused))
    return settle(node, "signature_mismatch", {output.column: answer for output in node.spec.outputs})


def _disagreements(
    node: NodeView[LightgbmOptions] | CheckedNode[LightgbmOptions],
    declared: Mapping[str, Type | None],
    header: Header,
) -> Iterator[tuple[str, str]]:
    """Compares a model's features with its node; gives the place below the node and a sentence.

    Args:
        node: The node.
        declared: The types of its inputs as they are declared: a category that may be missing is not a fraction.
        header: What the model's file says.
    """
    if header.kept and not header.are_placed:
        yield (
            "uri",
            "LightGBM keeps categories for other features than its file names as such: it trains ordered ones as "
            "numbers, and the file does not tell which; train it with unordered ones, as "
            "frame[column].cat.as_unordered() makes them, and with these columns alone as 'categorical_feature'",
        )
        return
    features, unmatched = match(node, header.names)
    yield from unmatched
    if (text := nameless(node, features)) is not None:
        yield "inputs", text
    width = count_of(node.inputs, features.columns)
    if unmatched or width is None:
        return
    if width != header.features:
        yield "inputs", f"the model takes {header.features} features, the columns of the node hold {width}"
        return
    names = columns_and_names(node, features)
    yield from uncategorised(names, declared, _kept(node, header, features), _HOW_KEPT)


def _kept(
    node: NodeView[LightgbmOptions] | CheckedNode[LightgbmOptions], header: Header, features: Features
) -> dict[str, Sequence[Any]]:
    """Returns the categories that the model keeps, by the feature's name."""
    names = [name for _, name in columns_and_names(node, features)]
    return {names[at]: values for at, values in header.categories.items() if at < len(names)}


def _features(
    node: CheckedNode[LightgbmOptions], header: Header, pandas: Any
) -> tuple[Features, tuple[Category, ...]]:
    """Compares a loaded model's features with the node; gives them, and those that are categories of the model's."""
    features, _ = match(node, header.names)
    log_order(node, header.names)
    raise_disagreements(node, _disagreements(node, node.inputs, header))
    return features, categories_of(node, features, _kept(node, header, features), pandas)


def _note_rounds(node: NodeView[LightgbmOptions]) -> None:
    """Notes which rounds a model uses, where that is not all of them."""
    given = node.options.inference_args
    start, count = given.get("start_iteration", 0), given.get("num_iteration", -1)
    if start > 0 or count > 0:
        end = f"up to {max(start, 0) + count}, the last excluded" if count > 0 else "to the last"
        node.note(f"boosting rounds from {max(start, 0)} {end} ('start_iteration', 'num_iteration')")


def _refused(node: NodeView[LightgbmOptions]) -> str:
    """Returns why the arguments of the call make it return other values than probabilities; empty where they do not."""
    given = node.options.inference_args
    asked = next((name for name in _OTHER_VALUES if given.get(name)), None)
    return "" if asked is None else f"'{asked}' in its 'inference_args' asks for other values"


def _meaning(node: NodeView[LightgbmOptions], header: Header, answer: Type | None, refused: str) -> Meaning:
    """Returns what an answer means: the classes are always 0, 1, 2 and so on."""
    if not isinstance(answer, Array):
        is_label = node.options.model_class == CLASSIFIER and not refused
        return of_classes(range(max(header.values, 2)), OF_LABELS) if is_label else Meaning(refused=refused)
    if header.objective == OVA:
        refused = refused or f"the probabilities of the objective '{OVA}' do not add up to 1"
    if not header.objective:
        refused = refused or "the model names no objective of LightGBM, so it gives scores"
    return of_classes(range(max(header.values, 2)), SCORES, refused)


def answer_type(header: Header, model_class: str, method: str, arguments: Mapping[str, Any]) -> Type | None:
    """Returns the type of one row of a model's answer, or None where the header does not determine it."""
    if arguments.get("pred_leaf") or arguments.get("pred_contrib"):
        return None
    if model_class == CLASSIFIER and not arguments.get("raw_score"):
        return Array(DOUBLE, (max(header.values, 2),)) if method == "predict_proba" else INT64
    return Array(DOUBLE, (header.values,)) if header.values > 1 else DOUBLE
