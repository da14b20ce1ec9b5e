"""scikit-learn: estimators and pipelines saved with joblib, pickle or skops."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import (
    InvalidEnsemble,
    NodeError,
    Problem,
    listed,
)
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.graph.kinds import CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.graph.options import option
from beam_ensembles.graph.output_ports import check_ports, holds, settle
from beam_ensembles.graph.shared_options import LabelOptions, NullOptions
from beam_ensembles.handlers.sklearn.boosters import (
    keep_categories_behind_steps,
    refuse_boosters,
    refuse_categories_in_arrays,
    refuse_categories_of_catboost,
    takes_truth_as_numbers,
    with_categories,
)
from beam_ensembles.handlers.sklearn.fitted_steps import missing_marks, parts_of
from beam_ensembles.handlers.sklearn.inputs import examples_of, reader, unknown_categories
from beam_ensembles.handlers.sklearn.model_facts import (
    Facts,
    answer_type,
    disagreements,
    facts_of,
    meanings,
    named_for,
)
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.bad_model_files import raise_disagreements, read_or_report, refused
from beam_ensembles.handlers.support.beam_config import (
    HONOURED,
    REFUSED,
    CallOptions,
    check_config,
)
from beam_ensembles.handlers.support.features import (
    column_of_each,
    feature_arguments,
    log_order,
    match,
    warn_of_order,
)
from beam_ensembles.handlers.support.library_versions import Versions
from beam_ensembles.handlers.support.missing_values import view_of
from beam_ensembles.handlers.support.model_file import FileOptions, check_file, check_trust
from beam_ensembles.handlers.support.model_formats import other_kind
from beam_ensembles.handlers.support.results import to_columns_of_one
from beam_ensembles.handlers.support.unknown_categories import FailsUnknownCategories
from beam_ensembles.types import DOUBLE, Array, Type

_LOGGER: Final = logging.getLogger(__name__)
METHODS: Final = ("predict", "predict_proba", "decision_function", "transform")
ENDINGS: Final = {".joblib": "joblib", ".pkl": "pickle", ".pickle": "pickle", ".skops": "skops"}
FORMATS: Final = tuple(dict.fromkeys(ENDINGS.values()))
CONFIG_REFUSED: Final = {
    **REFUSED,
    "model_uri": "'uri' of the node says where the model is",
    "model_file_type": "'format' of the node says how the model was saved",
}


class SklearnOptions(CallOptions, NullOptions, LabelOptions, FileOptions):
    """What a scikit-learn model takes."""

    method: str = option("predict", "The model's method to call.", choices=METHODS)
    format: str | None = option(
        None, "How it was saved.", choices=FORMATS, shown="by the end of the file's name"
    )
    fast_forests: bool = option(
        True,
        "Whether a forest's trees are asked one after another, which is faster; false: as scikit-learn does.",
    )


class SklearnKind(Kind[SklearnOptions]):
    """Runs a scikit-learn model through Beam's ``SklearnModelHandlerNumpy``.

    A model fitted on a DataFrame gets one. Beam's handler for those differs only in taking frames of one row, so
    that its ``inference_fn`` cannot be given a batch: both go through the same handler here.
    """

    kind = "model"
    name = "sklearn"
    summary = "Runs a scikit-learn estimator or pipeline saved with joblib, pickle or skops."
    takes = (
        "A list of columns is the features, [N, F]; a model fitted on a DataFrame gets one. A mapping, "
        "{feature: column}, names them."
    )
    gives = "The return value of 'method', an item per row."
    extra = "sklearn"
    modules = ("sklearn", "pandas")
    work = Work.ONE_CORE
    options = SklearnOptions

    def check(self, node: NodeView[SklearnOptions]) -> Mapping[str, Type | None]:
        """Checks all but the model itself, which only a skops file lets see without running its code."""
        node = view_of(node)
        format_ = _format(node.options.format, node.options.uri)
        place = check_file(node, runs_code=format_ in ("joblib", "pickle"))
        facts = Facts() if place is None else _check_model(node, place)
        check_config(node, HONOURED, CONFIG_REFUSED)
        feature_arguments(node)
        check_ports(node, [node.options.method])
        warn_of_order(node, facts.names)
        for where, text in disagreements(node, facts, node.options.method):
            node.problem("signature_mismatch", where, text)
        for column, meaning in meanings(node, facts, node.options.method).items():
            node.tell(column, meaning)
        return _settled(node, answer_type(facts, node.options.method))

    def load(self, node: CheckedNode[SklearnOptions]) -> Member:
        """Loads the model and compares it with what the file says about it."""
        from beam_ensembles.handlers.sklearn.forests import faster_equivalent

        beam = member.handlers_of(node, "sklearn_inference", "sklearn")
        method = node.options.method
        versions = Versions()
        handler, model = member.load(node, functools.partial(_handler, node, beam, method), versions=versions)
        refuse_boosters(node, model)
        facts = named_for(node, model, facts_of(model))
        problems = list(disagreements(node, facts, method))
        if not hasattr(model, method):
            problems.insert(0, ("method", f"this {type(model).__name__} has no {method}"))
        raise_disagreements(node, problems)
        member.check_call(node, getattr(model, method))
        features, _ = match(node, facts.names)
        if features.names is None:
            refuse_categories_in_arrays(node, model)
        columns = tuple(column_of_each(node.inputs, features.columns))
        refuse_categories_of_catboost(node, model, columns)
        keep_categories_behind_steps(model, beam.pandas)
        parts = parts_of(model, len(columns))
        missing = missing_marks(model, parts, facts.names)
        log_order(node, facts.names, is_read=_format(node.options.format, str(node.uri)) == "skops")
        arguments = member.inference_args(node)
        loaded = member.BeamMember(
            handler,
            faster_equivalent(model, method) if node.options.fast_forests and not arguments else model,
            arguments,
            read=with_categories(
                model,
                reader(
                    node,
                    features,
                    missing,
                    beam.pandas,
                    is_matrix=facts.features is not None,
                    keeps_truth=not takes_truth_as_numbers(model),
                ),
                beam.pandas,
            ),
            write=functools.partial(to_columns_of_one, node),
            per_row=member.is_per_row(node),
            meanings=meanings(node, facts, method),
        )
        find = functools.partial(unknown_categories, parts, columns)
        return FailsUnknownCategories(versions.told_by(loaded), find, examples_of(parts, columns))


def _handler(node: CheckedNode[SklearnOptions], beam: Any, method: str, place: str) -> Any:
    """Creates Beam's handler; it knows joblib and pickle, and is shown how skops files are loaded."""
    format_ = _format(node.options.format, str(node.uri))
    call = _call if _is_vouched_for(node) else _call_without_jobs
    handler = beam.SklearnModelHandlerNumpy(
        place,
        beam.ModelFileType["JOBLIB" if format_ == "joblib" else "PICKLE"],
        inference_fn=functools.partial(call, method),
        **member.config(node),
    )
    if format_ == "skops":
        handler.load_model = functools.partial(_load_skops, node, place)
    return handler


def _is_vouched_for(node: CheckedNode[SklearnOptions]) -> bool:
    return node.options.sha256 is not None or node.is_trusted


def _load_skops(node: CheckedNode[SklearnOptions], place: str) -> Any:
    """Loads a skops file: with types that skops does not trust only where the file is vouched for."""
    try:
        import skops.io
    except ImportError as exc:
        raise member.not_installed(node, "sklearn", exc) from exc
    is_vouched = _is_vouched_for(node)
    known = () if is_vouched else _types_that_need_trust(node, place)
    untrusted = skops.io.get_untrusted_types(file=place)
    lacking = () if is_vouched else sorted({*known, *untrusted})
    if lacking:
        text = _untrusted(str(node.uri), lacking)
        raise InvalidEnsemble([Problem(node.spec.path("uri"), "untrusted_file", text)])
    model = skops.io.load(place, trusted=untrusted)
    if not is_vouched:
        from beam_ensembles.handlers.sklearn.skops_objects import check_objects

        with refused(node):
            check_objects(model)
    return model


def _types_that_need_trust(node: CheckedNode[SklearnOptions], place: str) -> Sequence[str]:
    from beam_ensembles.handlers.sklearn.skops_header import check_sizes_of, read_header

    with refused(node):
        check_sizes_of(place)
        return read_header(place).untrusted


def _untrusted(place: str, types: Sequence[str]) -> str:
    return (
        f"'{place}' holds types that run code, or that do not check their indices ({listed(types)}), "
        "but it is neither pinned nor trusted; "
        "pin it with 'sha256: <its digest>' on the node, or trust its folder (start with --trust FOLDER)"
    )


def _call_without_jobs(
    method: str, model: Any, batch: list[Any], inference_args: Mapping[str, Any] | None
) -> list[Any]:
    """Calls a model whose file nobody vouches for: its ``n_jobs`` would start any number of processes."""
    import joblib

    with joblib.parallel_config("sequential"):
        return _call(method, model, batch, inference_args)


def _call(method: str, model: Any, batch: list[Any], inference_args: Mapping[str, Any] | None) -> list[Any]:
    """Beam's ``inference_fn``: the batch is one array or DataFrame, the answer one item."""
    answer = getattr(model, method)(batch[0], **(inference_args or {}))
    if isinstance(answer, tuple) and any(np.ndim(item) > 0 for item in answer):
        # Means and deviations of as many rows as there are arrays would pass for a row each.
        text = f"{method} gave {len(answer)} arrays, as with 'return_std'; leave that out of 'inference_args'"
        raise NodeError("bad_output", f"{text}, or run the model in code of your own")
    if not isinstance(answer, list):
        return [answer]
    # Classifiers of several outputs give a list of probabilities, one array [N, classes] an output.
    widths = list(dict.fromkeys(np.shape(item)[-1:] for item in answer))
    if len(widths) > 1:
        numbers = listed([str(width[0]) for width in widths])
        text = f"the model's outputs have different numbers of classes ({numbers}), so they make no one array"
        raise NodeError("bad_output", f"{text}; save a model for each output")
    return [np.stack(answer, axis=1)]


def _format(said: str | None, uri: str) -> str:
    by_name = next((format_ for ending, format_ in ENDINGS.items() if uri.endswith(ending)), "")
    return said or by_name


def _check_model(node: NodeView[SklearnOptions], place: str) -> Facts:
    """Checks whether the file may be loaded; gives what the model says of itself, where that can be read safely."""
    uri = node.options.uri
    format_ = _format(node.options.format, uri)
    if not format_:
        hint = other_kind("sklearn", local_path(place))
        how = hint or f"; say {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        node.problem("missing_key", "format", f"'{uri}' ends in none of {', '.join(ENDINGS)}{how}")
    path = local_path(place)
    if format_ != "skops":
        check_trust(node, place)
        hint = other_kind("sklearn", path) if format_ else ""
        if hint:
            text = f"'{path}': the file is not a scikit-learn model saved with {format_}{hint}"
            node.problem("bad_model_file", "uri", text)
        return Facts()
    if path is None:
        return Facts()
    from beam_ensembles.handlers.sklearn.skops_header import read_header

    header = read_or_report(node, path, read_header)
    if header is None:
        return Facts()
    if header.untrusted and node.options.sha256 is None and not node.files.is_trusted(place):
        node.problem("untrusted_file", "uri", _untrusted(place, header.untrusted))
    return Facts(header.features, header.names, header.classes)


def _settled(node: NodeView[SklearnOptions], given: Type | None) -> Mapping[str, Type | None]:
    """Returns each column's declared type where the method can give it, else the one that the model says."""
    method = node.options.method
    settled = settle(node, "signature_mismatch", {output.column: given for output in node.spec.outputs})
    for output in node.spec.outputs:
        name, place = output.column, f"outputs.{output.column}"
        if settled[name] is None and output.type is None and given is None:
            example = '"array<double>[10]"' if method in ("predict_proba", "transform") else "double"
            text = f"a scikit-learn model is not read before it is loaded; declare a type: {name}: {example}"
            node.problem("missing_type", place, text)
        elif method == "predict_proba" and output.type is not None and not _is_probabilities(output.type):
            text = f"'{name}' is declared {output.type}, but predict_proba gives array<double>[number of classes]"
            node.problem("signature_mismatch", place, text)
            settled[name] = None
    return settled


def _is_probabilities(type_: Type) -> bool:
    while isinstance(type_, Array) and isinstance(type_.element, Array):
        type_ = type_.element
    return isinstance(type_, Array) and len(type_.shape or (0,)) <= 2 and holds(type_.element, DOUBLE)
