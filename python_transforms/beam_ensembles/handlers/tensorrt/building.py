"""Loads TensorRT's engines, and builds them from ONNX graphs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import (
    EnsembleError,
    InvalidEnsemble,
    ModelFormatError,
    Problem,
)
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.support.bad_model_files import refused
from beam_ensembles.handlers.support.beam_config import batch_limit
from beam_ensembles.handlers.support.member import no_gpu, not_installed
from beam_ensembles.handlers.tensorrt import libraries
from beam_ensembles.handlers.tensorrt.engine import Engine
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.types import dtype_of, row_shape

MOST_ROWS: Final = 64
"""The most rows at once of an engine that is built here, where the node does not say."""
_OLDEST: Final = 10


def modules(node: CheckedNode) -> tuple[Any, Any]:
    """Imports TensorRT and CUDA's runtime, and makes sure that they find a GPU.

    Returns:
        The modules ``tensorrt`` and ``cuda.bindings.runtime``.

    Raises:
        InvalidEnsemble: ``not_installed``, where one or its libraries are not there, or too old; ``no_gpu``.
    """
    try:
        trt, cuda = inference_imports.import_tensorrt(), importlib.import_module("cuda.bindings.runtime")
    except ModuleNotFoundError as exc:
        raise not_installed(node, "tensorrt", exc) from exc
    except (ImportError, OSError) as exc:
        text = f"this worker cannot load TensorRT ({text_of(exc)}); {libraries.how()}"
        raise InvalidEnsemble([Problem(node.spec.path("model"), "not_installed", text)]) from exc
    if int(trt.__version__.partition(".")[0]) < _OLDEST:
        raise not_installed(
            node, "tensorrt", ImportError(f"TensorRT {trt.__version__} is older than {_OLDEST}")
        )
    try:
        error, count = cuda.cudaGetDeviceCount()
    except RuntimeError as exc:  # the driver's library cannot be opened
        raise no_gpu(node, "model", text_of(exc)) from exc
    if error != cuda.cudaError_t.cudaSuccess or not count:
        raise no_gpu(node, "model", f"CUDA says {error}, {count or 0} devices")
    return trt, cuda


def load_engine(node: CheckedNode, place: str, logger: Any) -> Engine:
    """Loads an engine that was built before.

    Raises:
        EnsembleError: It was built for another GPU or another TensorRT.
    """
    trt, cuda = modules(node)
    with open(place, "rb") as file:
        return _deserialized(node, file.read(), logger, trt, cuda)


def build_engine(node: CheckedNode, handler: Any, logger: Any) -> Engine:
    """Builds an engine from an ONNX graph, for the GPU of this worker; that takes seconds to many minutes.

    Args:
        node: The node; its columns give lengths that the graph leaves open, its ``batch`` the most rows.
        handler: Beam's handler, which reads the graph.
        logger: TensorRT's logger.

    Raises:
        EnsembleError: TensorRT cannot read the graph, or build an engine of it.
    """
    trt, cuda = modules(node)
    network, builder = handler.load_onnx()
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    rows = row_shapes(node, [network.get_input(at).name for at in range(network.num_inputs)])
    for at in range(network.num_inputs):
        tensor = network.get_input(at)
        low, high = profile_of(tuple(tensor.shape), rows.get(tensor.name), batch_limit(node) or MOST_ROWS)
        profile.set_shape(tensor.name, low, high, high)
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise _failed(node, "TensorRT cannot build an engine of it; the worker's log says why")
    return _deserialized(node, plan, logger, trt, cuda)


def _deserialized(node: CheckedNode, plan: Any, logger: Any, trt: Any, cuda: Any) -> Engine:
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    if engine is None:
        text = f"TensorRT {trt.__version__} cannot load it; an engine runs where it was built: the same version and GPU"
        raise _failed(node, text)
    with refused(node):
        return Engine(engine, trt, cuda)


def _failed(node: CheckedNode, text: str) -> EnsembleError:
    return InvalidEnsemble([Problem(node.spec.path("uri"), "load_failed", f"'{node.uri}': {text}")])


def row_shapes(node: CheckedNode, inputs: list[str]) -> Mapping[str, tuple[int, ...]]:
    """Returns the shape of one row of each input, as far as the node's columns say it; that of a list they do not."""
    ports = node.spec.inputs.ports if node.spec.inputs is not None else None
    types = [node.inputs[column] for column in node.spec.columns]
    shapes = [row_shape(type_) for type_ in types]
    if ports is not None:
        named = zip(ports, types, shapes, strict=True)
        return {port: shape for port, type_, shape in named if dtype_of(type_) is not None}
    if any(dtype_of(type_) is None for type_ in types):
        return {}
    if len(shapes) == 1 and shapes[0]:
        return {inputs[0]: shapes[0]}
    return {inputs[0]: (sum(shape[0] if shape else 1 for shape in shapes),)}


def profile_of(
    dims: tuple[int, ...], row: tuple[int, ...] | None, most: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the smallest and the largest shape of an input that an engine is built for.

    Args:
        dims: The shape in the graph; -1 is a length that is left open.
        row: The shape of one row of the node's column; None where it is not known.
        most: The most rows at once.

    Raises:
        ModelFormatError: A length is left open that the column does not give.
    """
    rest = []
    for at, dim in enumerate(dims[1:]):
        if dim < 0 and (row is None or at >= len(row)):
            raise ModelFormatError(
                f"length {at + 1} of {list(dims)} is open, and no column says how long it is"
            )
        rest.append(dim if dim >= 0 or row is None else row[at])
    low, high = (1, most) if dims[0] < 0 else (dims[0], dims[0])
    return (low, *rest), (high, *rest)
