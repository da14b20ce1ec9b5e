"""ONNX: graphs run by onnxruntime."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
    Problem,
    listed,
    nearest,
)
from beam_ensembles.files.ensemble_files import Files, local_path
from beam_ensembles.graph.kinds import ROWS_OF_A_CALL, CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.graph.output_ports import ports_of
from beam_ensembles.handlers.onnx.call import FEEDING, call, call_with_items, columns_of, extra_feeds, feeder
from beam_ensembles.handlers.onnx.classes import ModelClasses, meanings, read_classes
from beam_ensembles.handlers.onnx.emptiness import Emptiness, find_emptiness
from beam_ensembles.handlers.onnx.emptiness import describe as describe_emptiness
from beam_ensembles.handlers.onnx.encoders import (
    inputs_of_silent_mappers,
    strict_encoders,
    unknown_categories,
)
from beam_ensembles.handlers.onnx.graph import read_signature
from beam_ensembles.handlers.onnx.operators import describe, foreign_operators
from beam_ensembles.handlers.onnx.options import OnnxOptions
from beam_ensembles.handlers.onnx.session import (
    PROVIDER_OPTIONS,
    PROVIDERS,
    SESSION_CHOICES,
    SESSION_OPTIONS,
    SPINNING,
    check_device,
    find_libraries,
    is_provider_options,
    is_session_options,
    keep_dequantized,
    providers,
    session_options,
    signature_of,
)
from beam_ensembles.handlers.onnx.trees import check_trees
from beam_ensembles.handlers.onnx.weights import weight_files
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.bad_model_files import refused
from beam_ensembles.handlers.support.beam_config import (
    HONOURED,
    REFUSED,
    Accepted,
    check_config,
)
from beam_ensembles.handlers.support.missing_values import filler, given, may_be_missing, view_of
from beam_ensembles.handlers.support.model_file import check_file
from beam_ensembles.handlers.support.model_formats import other_kind
from beam_ensembles.handlers.support.ragged_lists import by_length
from beam_ensembles.handlers.support.signature_checks import asked_for, check_signature
from beam_ensembles.handlers.support.signatures import (
    Signature,
)
from beam_ensembles.handlers.support.unknown_categories import FailsUnknownCategories
from beam_ensembles.spec.places import below
from beam_ensembles.types import DOUBLE, Type, dtype_of


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(name in PROVIDERS for name in value)


CONFIG_HONOURED: Final = {
    **HONOURED,
    "providers": Accepted(f"a list of {', '.join(PROVIDERS)}; the first that works is taken", _is_names),
    "provider_options": Accepted(
        f"a list of mappings, one per provider, of {', '.join(PROVIDER_OPTIONS)} to numbers or words",
        is_provider_options,
    ),
    "session_options": Accepted(
        f"a mapping of {', '.join(SESSION_OPTIONS)} to numbers, of {SPINNING} to true or false, and of "
        + " and ".join(f"{name} to {', '.join(words)}" for name, words in SESSION_CHOICES.items()),
        is_session_options,
    ),
}
_FLOATS: Final = ("float16", "float", "double")
CONFIG_REFUSED: Final = {**REFUSED, "model_uri": "'uri' of the node says where the model is"}


class OnnxKind(Kind[OnnxOptions]):
    """Runs an ONNX graph through Beam's ``OnnxModelHandlerNumpy``."""

    kind = "model"
    name = "onnx"
    summary = "Runs an ONNX graph; its own signature has the types."
    takes = "A list of columns is the graph's only input; a mapping, {input: column}, names each."
    gives = "The graph's outputs, by name."
    extra = "onnx"
    modules = ("onnx", "onnxruntime")
    work = Work.ONE_CORE
    call_rows = ROWS_OF_A_CALL
    options = OnnxOptions

    def check(self, node: NodeView[OnnxOptions]) -> Mapping[str, Type | None]:
        """Compares the node with the graph, which is read where the file is local."""
        place = check_file(node, beside=weight_files)
        check_config(node, CONFIG_HONOURED, CONFIG_REFUSED)
        path = None if place is None else local_path(place)
        signature, classes = None, None
        if path is not None:
            try:
                signature = read_signature(path)
                classes = read_classes(path)
                weight_files(path)
                _check_operators(node, path, str(place))
                _warn_of_silent_mappers(node, path)
            except (ModelFormatError, OSError) as exc:
                node.problem("bad_model_file", "uri", f"'{path}': {exc}{other_kind('onnx', path)}")
        _check_device(node)
        _tell(node, signature, classes)
        return _check(node, signature)

    def files_beside(self, path: str) -> Sequence[str]:
        """Returns the files of weights."""
        return weight_files(path)

    def load(self, node: CheckedNode[OnnxOptions]) -> Member:
        """Loads the graph and compares the node with it once more: the file may have been far away before."""
        beam = member.handlers_of(node, "onnx_inference", "onnx")
        arguments = member.config(node)
        arguments["session_options"] = session_options(beam.ort, arguments.get("session_options", {}))
        arguments["providers"] = providers(node, beam.ort)
        find_libraries(beam.ort, arguments["providers"])
        make = functools.partial(_handler, node, beam, arguments)
        handler, session = member.load(node, make)
        check_device(node, session, arguments["providers"])
        signature = signature_of(session)
        view = _compare(node, signature)
        by_name = {port.name: port for port in signature.outputs}
        outputs = {column: by_name[name] for column, name in ports_of(node.spec, list(by_name)).items()}
        names = list(dict.fromkeys(port.name for port in outputs.values()))
        feed, fill = feeder(node, signature, next(iter(asked_for(view, signature)), None)), filler(node)
        loaded = member.BeamMember(
            handler,
            session,
            extra_feeds(node, signature),
            read=lambda columns: (names, feed(fill(columns))),
            write=functools.partial(columns_of, node, outputs),
            per_row=member.is_per_row(node),
            meanings=meanings(node, handler.classes, outputs),
        )
        whole = by_length(node, loaded, signature)
        if not handler.encoders:
            return whole
        return FailsUnknownCategories(whole, functools.partial(unknown_categories, node, handler.encoders))


def _check_operators(node: NodeView[OnnxOptions], path: str, place: str) -> None:
    """Reports operators that may do more than compute, unless the file is pinned or lies under a trusted place."""
    foreign = foreign_operators(path)
    if foreign and node.options.sha256 is None and not node.files.is_trusted(place):
        node.problem("untrusted_file", "uri", describe(place, foreign))


def _warn_of_silent_mappers(node: NodeView[OnnxOptions], path: str) -> None:
    """Warn of inputs that hold categories which the graph scores even where it does not know them."""
    silent = inputs_of_silent_mappers(path)
    if silent:
        text = f"the graph gives a category of its input {listed(silent)} that it does not know the code -1, silently"
        text = f"{text}; a 'when' with 'IN' keeps such rows from it"
        node.warn(Problem(node.spec.path("uri"), "unchecked_categories", text))


def _tell(node: NodeView[OnnxOptions], signature: Signature | None, classes: ModelClasses | None) -> None:
    """Tell the meanings of the columns, as far as the file was read."""
    by_name = {} if signature is None else {port.name: port for port in signature.outputs}
    columns = ports_of(node.spec, list(by_name))
    for column, meaning in meanings(
        node, classes, {name: by_name[port] for name, port in columns.items()}
    ).items():
        node.tell(column, meaning)


def _check_loaded(node: CheckedNode[OnnxOptions], path: str) -> Emptiness:
    """Checks a file on a worker, where one of another place is seen for the first time.

    Returns:
        Where its tensors may be empty although they must not be; of a file that is trusted, too.

    Raises:
        InvalidEnsemble: onnxruntime must not be given it.
    """
    with refused(node, path):
        foreign = foreign_operators(path)
        check_trees(path)
        found = find_emptiness(path)
    if node.options.sha256 is not None or node.is_trusted:
        return dataclasses.replace(found, is_fusible=False)
    text = ""
    if foreign:
        text = describe(str(node.uri), foreign)
    elif found.leaking or (found.ending and not node.spec.isolated):
        text = describe_emptiness(str(node.uri), found)
    if text:
        raise InvalidEnsemble([Problem(node.spec.path("uri"), "untrusted_file", text)])
    return found


def _handler(node: CheckedNode[OnnxOptions], beam: Any, arguments: Mapping[str, Any], place: str) -> Any:
    """Creates Beam's handler. It gives ONNX Runtime one message of at most 2 GiB, without files beside it."""
    found = _check_loaded(node, place)
    if found.is_fusible:
        keep_dequantized(arguments["session_options"])
    function = call_with_items if found.is_guarded else call
    handler = beam.OnnxModelHandlerNumpy(place, inference_fn=function, **arguments)
    handler.classes, handler.encoders = read_classes(place), strict_encoders(place)
    if weight_files(place):
        given = (arguments.get(name) for name in ("session_options", "providers", "provider_options"))
        handler.load_model = functools.partial(beam.ort.InferenceSession, place, *given)
    return handler


def _check(node: NodeView[OnnxOptions], signature: Signature | None) -> Mapping[str, Type | None]:
    """Compares a node with the graph, where it is known."""
    names = [port.name for port in signature.inputs] if signature is not None else []
    for name in node.options.inference_args:
        if signature is not None and name not in names:
            text = f"the model has no input '{name}' (its inputs: {listed(names)}){nearest(name, names)}"
            node.problem("unknown_port", below("inference_args", name), text)
    _check_missing(node, signature)
    return check_signature(view_of(node), signature, FEEDING)


def _check_missing(node: NodeView[OnnxOptions], signature: Signature | None) -> None:
    """Reports columns whose nulls have no missing value in a tensor: only floating-point numbers have one, NaN."""
    inputs = node.spec.inputs
    if inputs is None:
        return
    elements = {} if signature is None else {port.name: port.element for port in signature.inputs}
    for column in may_be_missing(node):
        index = inputs.columns.index(column)
        name = next(iter(elements), "") if inputs.ports is None else inputs.ports[index]
        wanted = elements.get(name) or "float"
        is_number = dtype_of(given(node.inputs[column] or DOUBLE)) is not None
        if not is_number or wanted not in _FLOATS:
            held = f"a tensor of {wanted}" if is_number else "a tensor of text, or a list,"
            text = f"'{column}' may be null, and {held} has no missing value, as floats have NaN"
            node.problem(
                "type_mismatch", inputs.path(index), f"{text}; fill it before (apply: sql, COALESCE)"
            )


def _compare(node: CheckedNode[OnnxOptions], signature: Signature) -> NodeView[OnnxOptions]:
    problems: list[Problem] = []
    view = NodeView(node.spec, node.options, node.inputs, Files(), problems.append)
    _check(view, signature)
    if problems:
        raise InvalidEnsemble(problems)
    return view


def _check_device(node: NodeView[OnnxOptions]) -> None:
    if node.options.device is not None and "providers" in node.options.config:
        text = "'device' and 'config.providers' both say what runs the graph; leave one of them out"
        node.problem("bad_value", "device", text)
