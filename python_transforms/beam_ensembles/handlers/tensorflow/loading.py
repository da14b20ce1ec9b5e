"""Loads TensorFlow models through Beam's handlers."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import InvalidEnsemble, Problem, listed
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.importing import import_name
from beam_ensembles.handlers.support.library_models import arguments as arguments_of
from beam_ensembles.handlers.tensorflow.calls import Served
from beam_ensembles.handlers.tensorflow.checks import untrusted
from beam_ensembles.handlers.tensorflow.formats import CREATE, KERAS, SAVED_MODEL, SERVING, WEIGHTS, format_of
from beam_ensembles.handlers.tensorflow.keras import read_keras
from beam_ensembles.handlers.tensorflow.options import TensorFlowOptions
from beam_ensembles.handlers.tensorflow.saved_model import read_saved_model
from beam_ensembles.handlers.tensorflow.unwritten_memory import scrub_memory
from beam_ensembles.handlers.tensorflow.weights import check_weights, unused_weights

Device = Callable[[], contextlib.AbstractContextManager[Any]]
"""Returns a context in which TensorFlow runs everything on a node's device."""


def device_of(node: CheckedNode[TensorFlowOptions], tf: Any) -> Device:
    """Returns a function that makes such contexts for the node's device.

    Raises:
        InvalidEnsemble: ``no_gpu``: the node asks for a GPU and this worker has none.
    """
    wanted = node.options.device or "auto"
    if wanted == "auto":
        return contextlib.nullcontext
    if wanted == "gpu" and not tf.config.list_physical_devices("GPU"):
        raise member.no_gpu_for_device(node, "TensorFlow finds none")
    return functools.partial(tf.device, f"{wanted.upper()}:0")


def handler_of(node: CheckedNode[TensorFlowOptions], beam: Any, device: Device, place: str) -> Any:
    """Creates Beam's handler; it knows Keras models, and is shown how a SavedModel is loaded."""
    create_name = node.options.create_model_fn
    form = format_of(str(node.uri), makes_model=create_name is not None)
    as_tensor = node.options.handler == "tensor"
    make = beam.TFModelHandlerTensor if as_tensor else beam.TFModelHandlerNumpy
    result = inference_imports.import_base().PredictionResult
    arguments = member.config(node) | {
        "inference_fn": functools.partial(_call, device, beam.tf.constant if as_tensor else _as_is, result)
    }
    if form in (KERAS, WEIGHTS) and not node.is_trusted:
        check_weights(place)
    if form == WEIGHTS:
        function = import_name(node, CREATE, str(create_name))
        create = functools.partial(
            function, **arguments_of(node, node.options.model_params, function, str(create_name))
        )
        handler = make(place, beam.ModelType.SAVED_WEIGHTS, create, **arguments)
        handler.load_model = functools.partial(_load_weights, node, handler.load_model, place)
        return handler
    if form == SAVED_MODEL:
        handler = make(place, **arguments)
        handler.load_model = functools.partial(_load_saved_model, node, beam.tf, place)
        return handler
    safe = form == KERAS and not _may_run_code(node, place)
    given = arguments.pop("load_model_args", {})
    return make(place, load_model_args={"compile": False, **given, "safe_mode": safe}, **arguments)


def _as_is(value: Any) -> Any:
    return value


def _call(
    device: Device,
    convert: Callable[[Any], Any],
    result: Any,
    model: Any,
    batch: Sequence[Any],
    inference_args: Mapping[str, Any],
    model_id: str | None = None,
) -> list[Any]:
    """Beam's ``inference_fn``: the batch is one array or one mapping of arrays, the answer one item."""
    (given,) = batch
    with device():
        if isinstance(given, Mapping):
            given = {name: convert(values) for name, values in given.items()}
        else:
            given = convert(given)
        return [result(batch[0], model(given, **inference_args), model_id)]


def _may_run_code(node: CheckedNode[TensorFlowOptions], place: str) -> bool:
    """Returns whether a Keras archive holds code that may be run.

    Raises:
        InvalidEnsemble: ``untrusted_file``: it does, and nothing vouches for it.
    """
    code = read_keras(place).code
    if code and node.options.sha256 is None and not node.is_trusted:
        raise InvalidEnsemble(
            [Problem(node.spec.path("uri"), "untrusted_file", untrusted(str(node.uri), code))]
        )
    return bool(code)


def _load_weights(node: CheckedNode[TensorFlowOptions], load: Callable[[], Any], place: str) -> Any:
    """Loads weights into the model that a function makes.

    Raises:
        InvalidEnsemble: ``bad_model_file``: the file has weights that the model has no place for.
    """
    model = load()
    unused = unused_weights(place, model)
    if unused:
        text = (
            f"'{node.uri}' has weights that the model of '{node.options.create_model_fn}' has no place for: "
            f"{listed(unused, 5)}; they are those of another model"
        )
        raise InvalidEnsemble([Problem(node.spec.path("uri"), "bad_model_file", text)])
    return model


def _load_saved_model(node: CheckedNode[TensorFlowOptions], tf: Any, place: str) -> Any:
    """Loads a SavedModel: the signature that the node asks for, or the object itself where it has none."""
    saved = read_saved_model(place)
    if node.options.sha256 is None and not node.is_trusted:
        if saved.unsafe:
            text = untrusted(str(node.uri), saved.unsafe)
            raise InvalidEnsemble([Problem(node.spec.path("uri"), "untrusted_file", text)])
        scrub_memory()  # kernels such as RFFT and Cholesky leave parts of some answers unwritten
    module = tf.saved_model.load(place)
    name = node.options.signature
    if name is None and not module.signatures:
        if not callable(module):
            text = "it has no signature, and is nothing that can be called"
            raise InvalidEnsemble([Problem(node.spec.path("uri"), "signature_mismatch", text)])
        return module
    names = list(module.signatures)
    if (name or SERVING) not in names:
        text = f"the model has no signature '{name or SERVING}' (its signatures: {listed(names)})"
        raise InvalidEnsemble([Problem(node.spec.path("signature"), "signature_mismatch", text)])
    return Served(module, module.signatures[name or SERVING], tf)
