"""TensorFlow: SavedModels, Keras archives, weights of a model that a function makes, models of TensorFlow Hub."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import EnsembleError, InvalidEnsemble, Problem
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph.kinds import ROWS_OF_A_CALL, CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.beam_config import (
    HONOURED,
    REFUSED,
    Accepted,
    check_config,
)
from beam_ensembles.handlers.support.importing import check_modules, import_modules
from beam_ensembles.handlers.support.ragged_lists import by_length
from beam_ensembles.handlers.support.signatures import Signature
from beam_ensembles.handlers.tensorflow.calls import Served, columns_of, reader, signature_of
from beam_ensembles.handlers.tensorflow.checks import check_model, check_tensors
from beam_ensembles.handlers.tensorflow.formats import CREATE
from beam_ensembles.handlers.tensorflow.hub_cache import cache_folder, cached, is_handle
from beam_ensembles.handlers.tensorflow.loading import device_of, handler_of
from beam_ensembles.handlers.tensorflow.options import TensorFlowOptions
from beam_ensembles.types import Type

CONFIG_HONOURED: Final = {
    **HONOURED,
    "load_model_args": Accepted(
        "a mapping of compile to true or false",
        lambda value: (
            isinstance(value, Mapping)
            and all(name == "compile" and isinstance(setting, bool) for name, setting in value.items())
        ),
    ),
}
CONFIG_REFUSED: Final = {
    **REFUSED,
    "model_uri": "'uri' of the node says where the model is",
    "model_type": f"weights are those of a node with '{CREATE}'",
    "create_model_fn": f"'{CREATE}' stands on the node itself",
    "custom_weights": f"name the weights as 'uri', and what makes the model as '{CREATE}'",
}


class TensorflowKind(Kind[TensorFlowOptions]):
    """Runs a TensorFlow model through Beam's ``TFModelHandlerNumpy`` or ``TFModelHandlerTensor``."""

    kind = "model"
    name = "tensorflow"
    summary = "Runs a TensorFlow SavedModel, a Keras model, or one of TensorFlow Hub that is cached."
    takes = (
        "A list of columns is the model's only input; a mapping, {input: column}, names each input of the "
        "signature or of the Keras model."
    )
    gives = (
        "The outputs of the signature or of the Keras model, by name; output_0, output_1, ... where one layer of "
        "the Keras model returns several of them."
    )
    extra = "tensorflow"
    modules = ("tensorflow", "tensorflow_hub")
    work = Work.ALL_CORES
    call_rows = ROWS_OF_A_CALL
    options = TensorFlowOptions

    def check(self, node: NodeView[TensorFlowOptions]) -> Mapping[str, Type | None]:
        """Compares the node with the model's own signature, where that can be read without TensorFlow."""
        check_config(node, CONFIG_HONOURED, CONFIG_REFUSED)
        check_modules(node)
        return check_model(node)

    def is_on_hub(self, uri: str) -> bool:
        """Whether it is a handle of TensorFlow Hub."""
        return is_handle(uri)

    def cached(self, uri: str, revision: str | None) -> str:
        """Returns the folder in which tensorflow_hub keeps it."""
        folder = cached(uri)
        if folder is None:
            text = f"'{uri}' is not in the cache of TensorFlow Hub on this machine, '{cache_folder()}'"
            raise EnsembleError(f"{text} (TFHUB_CACHE_DIR); load it once to put it there")
        return folder

    def load(self, node: CheckedNode[TensorFlowOptions]) -> Member:
        """Loads the model and compares the node with it once more: the file may have been far away before."""
        beam = _beam(node)
        import_modules(node)
        node = _in_cache(node)
        device = device_of(node, beam.tf)
        with device():
            handler, model = member.load(
                node, functools.partial(handler_of, node, beam, device), folders=True
            )
        signature = _compare(node, model)
        if not isinstance(model, Served) and hasattr(model, "call"):
            member.check_call(node, model.call)
        names = [port.name for port in signature.outputs] if signature is not None else ["output"]
        loaded = member.BeamMember(
            handler,
            model,
            member.inference_args(node),
            read=reader(node, signature),
            write=functools.partial(columns_of, node, names),
            per_row=member.is_per_row(node),
        )
        return by_length(node, loaded, signature)


def _beam(node: CheckedNode[TensorFlowOptions]) -> Any:
    """Imports Beam's handlers. TensorFlow otherwise takes all memory of a GPU."""
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    return member.handlers_of(node, "tensorflow_inference", "tensorflow")


def _in_cache(node: CheckedNode[TensorFlowOptions]) -> CheckedNode[TensorFlowOptions]:
    """Puts the folder of the cache instead of a handle of TensorFlow Hub."""
    handle = str(node.uri)
    if not is_handle(handle):
        return node
    folder = cached(handle)
    if folder is None:
        text = f"'{handle}' is not in this worker's cache of TensorFlow Hub, '{cache_folder()}' (TFHUB_CACHE_DIR)"
        raise InvalidEnsemble([Problem(node.spec.path("uri"), "load_failed", text)])
    return dataclasses.replace(node, uri=folder)


def _compare(node: CheckedNode[TensorFlowOptions], model: Any) -> Signature | None:
    """Compares the node with the loaded model; gives what the model takes and gives, where it says so."""
    signature = signature_of(model)
    if signature is None:
        return None
    problems: list[Problem] = []
    view = NodeView(node.spec, node.options, node.inputs, Files(), problems.append)
    check_tensors(view, signature, takes_more=not isinstance(model, Served))
    if problems:
        raise InvalidEnsemble(problems)
    return signature
