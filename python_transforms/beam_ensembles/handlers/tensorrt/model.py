"""TensorRT: engines built before, and engines built from ONNX graphs when they are loaded."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.beam_repairs.inference_imports import TENSORRT_BINDINGS
from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
    Problem,
    listed,
)
from beam_ensembles.files.ensemble_files import Files, local_path
from beam_ensembles.graph.kinds import (
    ROWS_OF_A_CALL,
    CheckedNode,
    Columns,
    Kind,
    Member,
    NodeView,
    Work,
)
from beam_ensembles.graph.options import option
from beam_ensembles.graph.output_ports import ports_of
from beam_ensembles.graph.shared_options import LabelOptions, SampleOptions
from beam_ensembles.handlers.onnx.graph import read_signature
from beam_ensembles.handlers.onnx.weights import weight_files
from beam_ensembles.handlers.pytorch.call import given_of
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.arguments import Values
from beam_ensembles.handlers.support.bad_model_files import read_or_report
from beam_ensembles.handlers.support.beam_config import (
    HONOURED,
    REFUSED,
    BatchOptions,
    ConfigOptions,
    TrialOptions,
    batch_limit,
    check_config,
)
from beam_ensembles.handlers.support.cache_options import CacheOptions
from beam_ensembles.handlers.support.model_file import FileOptions, check_file
from beam_ensembles.handlers.support.ragged_lists import by_length
from beam_ensembles.handlers.support.results import to_columns
from beam_ensembles.handlers.support.signature_checks import check_signature
from beam_ensembles.handlers.support.signatures import (
    Port,
    Signature,
)
from beam_ensembles.handlers.tensorrt import libraries
from beam_ensembles.handlers.tensorrt.building import MOST_ROWS, build_engine, load_engine, modules
from beam_ensembles.handlers.tensorrt.engine import Engine
from beam_ensembles.types import Type

FORMATS: Final = ("engine", "onnx")
CONFIG_REFUSED: Final = {
    **REFUSED,
    "engine_path": "'uri' of the node says where the model is",
    "onnx_path": "'uri' of the node says where the model is",
}


class TensorRTOptions(
    CacheOptions, TrialOptions, ConfigOptions, SampleOptions, BatchOptions, LabelOptions, FileOptions
):
    """What a TensorRT engine takes."""

    format: str | None = option(
        None, "The format of the file.", choices=FORMATS, shown="onnx where its name ends so, else engine"
    )


class TensorRTKind(Kind[TensorRTOptions]):
    """Runs a TensorRT engine through Beam's ``TensorRTEngineHandlerNumPy``."""

    kind = "model"
    name = "tensorrt"
    summary = "Runs a TensorRT engine on an NVIDIA GPU, or builds one from an ONNX graph when it is loaded."
    takes = "A list of columns is the engine's only input; a mapping, {input: column}, names each."
    gives = "The engine's outputs, by name."
    extra = "tensorrt"
    modules = (f"tensorrt|{TENSORRT_BINDINGS}", "cuda")
    work = Work.ALL_CORES
    call_rows = ROWS_OF_A_CALL
    options = TensorRTOptions

    def missing_libraries(self) -> str | None:
        """Returns which of TensorRT's libraries are not on this machine, and where they come from."""
        return libraries.missing()

    def check(self, node: NodeView[TensorRTOptions]) -> Mapping[str, Type | None]:
        """Checks all but an engine itself, which only TensorRT can read; an ONNX graph says its types."""
        format_ = _format(node.options.format, node.options.uri)
        place = check_file(node, runs_code=format_ == "engine")
        check_config(node, HONOURED, CONFIG_REFUSED)
        path = None if place is None else local_path(place)
        return check_signature(node, _graph(node, path) if format_ == "onnx" and path is not None else None)

    def load(self, node: CheckedNode[TensorRTOptions]) -> Member:
        """Loads or builds the engine and compares it with the node."""
        modules(node)  # Beam's module is imported without TensorRT too, and only warns of it
        beam = member.handlers_of(node, "tensorrt_inference", "tensorrt")
        handler, engine = member.load(node, functools.partial(_handler, node, beam))
        _compare(node, engine.signature)
        loaded = member.BeamMember(
            handler,
            engine,
            {},
            read=lambda columns: given_of(node, engine.signature, columns).named,
            write=functools.partial(_columns, node, ports_of(node.spec, engine.outputs)),
            per_row=member.is_per_row(node),
        )
        return by_length(node, loaded, engine.signature)


def _handler(node: CheckedNode[TensorRTOptions], beam: Any, place: str) -> Any:
    """Creates Beam's handler; the engine that it loads is ours, since Beam's takes static shapes only."""
    arguments = member.config(node)
    arguments.pop("max_batch_size", None)
    is_graph = _format(node.options.format, str(node.uri)) == "onnx"
    if is_graph:
        _whole_graph(place)
    handler = beam.TensorRTEngineHandlerNumPy(
        min_batch_size=1,
        max_batch_size=batch_limit(node) or MOST_ROWS,
        inference_fn=functools.partial(_call, beam.PredictionResult),
        **{"onnx_path" if is_graph else "engine_path": place},
        **arguments,
    )
    handler.load_model = (
        functools.partial(build_engine, node, handler, beam.TRT_LOGGER)
        if is_graph
        else functools.partial(load_engine, node, place, beam.TRT_LOGGER)
    )
    return handler


def _whole_graph(path: str) -> Signature:
    """Returns what an ONNX graph takes and gives, which must hold its own weights: TensorRT is given its bytes alone.

    Raises:
        ModelFormatError: It does not.
    """
    found, names = read_signature(path), weight_files(path)
    if names:
        raise ModelFormatError(f"it keeps its weights in {listed(names)}; save it as one file")
    return found


def _call(result: Any, batch: list[Mapping[str, Values]], engine: Engine, _: Any = None) -> list[Any]:
    """Beam's ``inference_fn``: the batch is what each input is given, the answer one mapping."""
    return [result(None, engine(batch[0]))]


def _columns(
    node: CheckedNode[TensorRTOptions], ports: Mapping[str, str], answer: Mapping[str, Values], rows: int
) -> Columns:
    return to_columns(node, {name: answer[ports[name]] for name in node.outputs}, rows)


def _format(said: str | None, uri: str) -> str:
    return said or ("onnx" if uri.endswith(".onnx") else "engine")


def _graph(node: NodeView[TensorRTOptions], path: str) -> Signature | None:
    """Reads what a local graph takes and gives; engines take any number of rows, since batches are padded and cut."""
    found = read_or_report(node, path, _whole_graph, "onnx")
    if found is None:
        return None
    return Signature(tuple(map(_any_rows, found.inputs)), tuple(map(_any_rows, found.outputs)))


def _any_rows(port: Port) -> Port:
    return Port(port.name, port.element, (None, *port.dims[1:]) if port.dims else port.dims)


def _compare(node: CheckedNode[TensorRTOptions], signature: Signature) -> None:
    problems: list[Problem] = []
    check_signature(NodeView(node.spec, node.options, node.inputs, Files(), problems.append), signature)
    if problems:
        raise InvalidEnsemble(problems)
