"""Checks a TensorFlow node against what its model says of itself, without TensorFlow."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from beam_ensembles.errors import (
    listed,
    nearest,
)
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.handlers.support.arguments import leaf
from beam_ensembles.handlers.support.bad_model_files import read_or_report
from beam_ensembles.handlers.support.importing import check_import
from beam_ensembles.handlers.support.library_models import check_params
from beam_ensembles.handlers.support.model_file import check_file, check_trust
from beam_ensembles.handlers.support.signature_checks import check_inputs, check_signature, port_type
from beam_ensembles.handlers.support.signatures import (
    Port,
    Signature,
)
from beam_ensembles.handlers.tensorflow.formats import (
    CREATE,
    KERAS,
    KERAS_H5,
    SAVED_MODEL,
    SERVING,
    WEIGHTS,
    format_of,
)
from beam_ensembles.handlers.tensorflow.hub_cache import cache_folder, cached, is_handle
from beam_ensembles.handlers.tensorflow.keras import KerasModel, read_keras
from beam_ensembles.handlers.tensorflow.options import TensorFlowOptions
from beam_ensembles.handlers.tensorflow.saved_model import SavedModel, read_saved_model, strays_of
from beam_ensembles.spec.places import below
from beam_ensembles.types import BYTES, Type

_LOAD_FAILED: Final = "load_failed"
_APPLICATIONS: Final = ("keras.applications.[A-Z]*", "keras.applications.*.[A-Z]*")
"""The functions of Keras that make a model; others beside them fetch files."""


def check_model(node: NodeView[TensorFlowOptions]) -> Mapping[str, Type | None]:
    """Checks a node's file, inputs and outputs; gives the type of each output column, None where it is not known."""
    uri, create = node.options.uri, node.options.create_model_fn
    if node.spec.file is None:  # reported already
        return check_signature(node, None)
    form = format_of(uri, makes_model=create is not None)
    _check_keys(node, form)
    place = _place(node, uri, form)
    check_params(node, node.options.model_params, str(create), place)
    path = None if place is None else local_path(place)
    if form == KERAS_H5 and place is not None:
        check_trust(node, place)
    if path is not None and form == SAVED_MODEL:
        strays = () if _is_vouched(node, place or path) else strays_of(path)
        if strays:  # its signatures could be those of another file
            node.problem("untrusted_file", "uri", untrusted(place or path, strays))
            return check_signature(node, None)
        saved = read_or_report(node, path, read_saved_model)
        return check_served(node, place or path, saved)
    if path is not None and form == KERAS:
        return _check_keras(node, place or path, read_or_report(node, path, read_keras))
    return check_signature(node, None)


def _check_keys(node: NodeView[TensorFlowOptions], form: str) -> None:
    """Reports keys that say nothing for a model of this form, and those that it needs."""
    create = node.options.create_model_fn
    if create is not None:
        check_import(node, CREATE, create, library=_APPLICATIONS)
    if create is None and node.options.model_params is not None:
        node.problem(
            "unsupported_option", "model_params", f"they are the arguments of '{CREATE}', which is not there"
        )
    if form == WEIGHTS and create is None:
        text = f"'{node.options.uri}' holds only weights; name the function that makes the model: '{CREATE}'"
        node.problem("missing_key", CREATE, text)
    if form != SAVED_MODEL and node.options.signature is not None:
        node.problem("unsupported_option", "signature", "only a SavedModel has signatures; leave it out")


def _place(node: NodeView[TensorFlowOptions], uri: str, form: str) -> str | None:
    """Returns where the model is; for a handle of TensorFlow Hub that is this machine's cache, if it is there."""
    if not is_handle(uri) or node.files.is_packed(uri):
        return check_file(node, folders=form == SAVED_MODEL)
    folder = cached(uri)
    if folder is None:
        text = (
            f"it is not in the cache of TensorFlow Hub on this machine, '{cache_folder()}' (TFHUB_CACHE_DIR)"
        )
        node.warning(_LOAD_FAILED, "uri", f"'{uri}' could not be read: {text}")
    return folder


def check_served(
    node: NodeView[TensorFlowOptions], place: str, saved: SavedModel | None
) -> Mapping[str, Type | None]:
    """Checks a node against the signature of a SavedModel that it calls."""
    if saved is None:
        return check_signature(node, None)
    if saved.unsafe and not _is_vouched(node, place):
        node.problem("untrusted_file", "uri", untrusted(place, saved.unsafe))
    wanted = node.options.signature or SERVING
    if not saved.signatures and node.options.signature is None:
        return check_signature(node, None)  # an object that is itself called
    signature = saved.signatures.get(wanted)
    if signature is None:
        names = list(saved.signatures)
        text = (
            f"the model has no signature '{wanted}' (its signatures: {listed(names)}){nearest(wanted, names)}"
        )
        node.problem("signature_mismatch", "signature", text)
        return check_signature(node, None)
    return check_tensors(node, signature)


def check_tensors(
    node: NodeView[TensorFlowOptions], signature: Signature, *, takes_more: bool = False
) -> Mapping[str, Type | None]:
    """Checks a node against what a model takes and gives, and settles its types.

    Args:
        node: The node.
        signature: What the model takes and gives.
        takes_more: Whether its ``inference_args`` are other arguments than its inputs.
    """
    names = [port.name for port in signature.inputs]
    extra = {} if takes_more else node.options.inference_args
    for name in [name for name in extra if name not in names]:
        text = f"the model has no input '{name}' (its inputs: {listed(names)}){nearest(name, names)}"
        node.problem("signature_mismatch", below("inference_args", name), text)
    return check_signature(node, with_bytes(node, signature))


def with_bytes(node: NodeView[TensorFlowOptions], signature: Signature) -> Signature:
    """Types TensorFlow's texts, which are bytes, as bytes where the node's columns are."""
    inputs = node.spec.inputs
    ports = (inputs.ports or [port.name for port in signature.inputs]) if inputs is not None else ()
    columns = dict(zip(ports, node.spec.columns, strict=False))
    given = {port for port, column in columns.items() if leaf(node.inputs.get(column)) == BYTES.name}
    wanted = {o.port or o.column for o in node.spec.outputs if leaf(o.type) == BYTES.name}
    alone = len(signature.outputs) == 1 and wanted
    return Signature(
        tuple(_as_bytes(port) if port.name in given else port for port in signature.inputs),
        tuple(_as_bytes(port) if alone or port.name in wanted else port for port in signature.outputs),
    )


def _as_bytes(port: Port) -> Port:
    return dataclasses.replace(port, element="bytes") if port.element == "string" else port


def _check_keras(
    node: NodeView[TensorFlowOptions], place: str, model: KerasModel | None
) -> Mapping[str, Type | None]:
    """Checks a node against the layers at both ends of a Keras model."""
    if model is None:
        return check_signature(node, None)
    if model.code and not _is_vouched(node, place):
        node.problem("untrusted_file", "uri", untrusted(place, model.code))
    if model.inputs is None or model.outputs is None:
        return check_signature(node, None)
    check_inputs(node, Signature(model.inputs, ()))
    declared = {output.column: output.type for output in node.spec.outputs}
    columns = check_ports(node, list(model.outputs))
    known = {column: port for column, name in columns.items() if (port := model.outputs[name]) is not None}
    return settle(
        node,
        "signature_mismatch",
        {column: port_type(port, declared[column]) for column, port in known.items()},
    )


def _is_vouched(node: NodeView[TensorFlowOptions], place: str) -> bool:
    return node.options.sha256 is not None or node.files.is_trusted(place)


def untrusted(place: str, parts: Sequence[str]) -> str:
    """Returns the message for a model that may do more than compute, and how to trust it."""
    return (
        f"'{place}' may do more than compute ({listed(list(parts))}), but it is neither pinned nor trusted; "
        "pin it with 'sha256: <its digest>' on the node, or trust its folder (start with --trust FOLDER)"
    )
