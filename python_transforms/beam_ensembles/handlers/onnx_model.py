"""ONNX: graphs run by onnxruntime."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import EnsembleError, InvalidEnsemble, Problem, listed, nearest
from beam_ensembles.graph.answers import ports_of
from beam_ensembles.graph.files import Files, local_path
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, NodeView, Option
from beam_ensembles.graph.labels import check_labels
from beam_ensembles.handlers import member
from beam_ensembles.handlers.arguments import Values, cast, join
from beam_ensembles.handlers.config import (
    CALLS,
    HONOURED,
    LABELS,
    REFUSED,
    Accepted,
    check_calls,
    check_config,
)
from beam_ensembles.handlers.model_file import SHA256, URI, check_file
from beam_ensembles.handlers.onnx_graph import ModelFormatError, Port, Signature, read_signature
from beam_ensembles.handlers.onnx_signature import check_signature
from beam_ensembles.handlers.results import to_columns
from beam_ensembles.types import NUMPY_DTYPES, Type

SESSION_OPTIONS: Final = (
    "enable_cpu_mem_arena", "enable_mem_pattern", "inter_op_num_threads", "intra_op_num_threads",
    "log_severity_level", "use_deterministic_compute",
)  # fmt: skip
"""What ``session_options`` may set of onnxruntime's SessionOptions: plain numbers and truth values."""


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) for name in value)


def _is_session_options(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        name in SESSION_OPTIONS and isinstance(setting, int) for name, setting in value.items()
    )


CONFIG_HONOURED: Final = {
    **HONOURED,
    "providers": Accepted(
        "a list of onnxruntime's execution providers, the first that works is taken", _is_names
    ),
    "provider_options": Accepted(
        "a list of mappings, one a provider",
        lambda value: isinstance(value, list) and all(isinstance(one, Mapping) for one in value),
    ),
    "session_options": Accepted(f"a mapping of {', '.join(SESSION_OPTIONS)} to numbers", _is_session_options),
}
CONFIG_REFUSED: Final = {**REFUSED, "model_uri": "'uri' of the node says where the model is"}


class OnnxKind:
    """Runs an ONNX graph through Beam's ``OnnxModelHandlerNumpy``."""

    kind = "model"
    name = "onnx"
    summary = "Runs an ONNX graph; its own signature gives the types."
    extra: str | None = "onnx"
    modules: tuple[str, ...] = ("onnx", "onnxruntime")
    options: tuple[Option, ...] = (URI, SHA256, LABELS, *CALLS)

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Compares the node with the graph, which is read where the file is local."""
        place = check_file(node)
        check_config(node, CONFIG_HONOURED, CONFIG_REFUSED)
        check_calls(node)
        check_labels(node)
        path = None if place is None else local_path(place)
        signature = None
        if path is not None:
            try:
                signature = read_signature(path)
            except (ModelFormatError, OSError) as exc:
                node.problem("bad_model_file", "uri", f"'{path}': {exc}")
        return check_signature(node, signature)

    def load(self, node: CheckedNode) -> Member:
        """Loads the graph and compares the node with it once more: the file may have been far away before."""
        beam = member.handlers_of(node, "onnx_inference", "onnx")
        arguments = member.config(node)
        if "session_options" in arguments:
            arguments["session_options"] = _session_options(beam.ort, arguments["session_options"])
        _check_providers(node, beam.ort, arguments.setdefault("providers", _providers(beam.ort)))
        handler, session = member.load(
            node, lambda place: beam.OnnxModelHandlerNumpy(place, inference_fn=_call, **arguments)
        )
        signature = Signature(_ports(session.get_inputs()), _ports(session.get_outputs()))
        _compare(node, signature)
        ports = ports_of(node.spec, [port.name for port in signature.outputs])
        names, feed = list(dict.fromkeys(ports.values())), _feeder(node, signature)
        return member.BeamMember(
            handler,
            session,
            _extra_feeds(node, signature),
            read=lambda columns: (names, feed(columns)),
            write=functools.partial(_columns, node, ports),
            per_row=member.is_per_row(node),
        )


def _call(session: Any, batch: list[Any], inference_args: Mapping[str, Any] | None) -> list[Any]:
    """Beam's ``inference_fn``: the batch is what is wanted and what is given, the answer one mapping."""
    names, feeds = batch[0]
    return [dict(zip(names, session.run(names, {**feeds, **(inference_args or {})}), strict=True))]


def _columns(node: CheckedNode, ports: Mapping[str, str], answer: Mapping[str, Any], rows: int) -> Columns:
    return to_columns(node, {name: answer[ports[name]] for name in node.outputs}, rows)


def _compare(node: CheckedNode, signature: Signature) -> None:
    problems: list[Problem] = []
    check_signature(NodeView(node.spec, node.inputs, Files(), problems.append), signature)
    if problems:
        raise InvalidEnsemble(problems)


def _feeder(node: CheckedNode, signature: Signature) -> Callable[[Columns], Mapping[str, Values]]:
    """Gives the function that makes the graph's inputs of the node's columns."""
    columns, ports = node.spec.columns, node.spec.inputs.ports if node.spec.inputs is not None else None
    given = {port.name: port for port in signature.inputs}
    if ports is not None:
        pairs = [(given[port], column) for port, column in zip(ports, columns, strict=True)]
        return lambda batch: {port.name: _fit(batch[column], port) for port, column in pairs}
    extra = member.inference_args(node)
    only = next(port for port in signature.inputs if port.name not in extra)
    return lambda batch: {only.name: _fit(join(batch, columns), only)}


def _fit(values: Values, port: Port) -> Values:
    """Casts values to an input's type and rank; both were found to fit."""
    if port.dims is not None and values.ndim != len(port.dims):
        values = values.reshape(len(values), *[1] * (len(port.dims) - 1))
    dtype = NUMPY_DTYPES.get(port.element or "")
    return values if dtype is None else cast(values, dtype, "wrong_value", port.name)


def _extra_feeds(node: CheckedNode, signature: Signature) -> dict[str, Any]:
    dtypes = {port.name: NUMPY_DTYPES.get(port.element or "") for port in signature.inputs}
    return {name: np.asarray(value, dtypes.get(name)) for name, value in member.inference_args(node).items()}


def _ports(infos: Sequence[Any]) -> tuple[Port, ...]:
    return tuple(Port(info.name, _element(info.type), _dims(info.shape)) for info in infos)


def _element(text: str) -> str | None:
    """Reads onnxruntime's ``tensor(float)``; its names are those of the type language but for ``bool``."""
    name = {"bool": "boolean"}.get(inner := text.removeprefix("tensor(").removesuffix(")"), inner)
    return name if name == "string" or name in NUMPY_DTYPES else None


def _dims(shape: Sequence[Any] | None) -> tuple[int | None, ...] | None:
    return None if shape is None else tuple(dim if isinstance(dim, int) else None for dim in shape)


def _providers(ort: Any) -> list[str]:
    """Gives the providers of Beam's handler that this onnxruntime has: it warns of those that it lacks."""
    available = ort.get_available_providers()
    return [name for name in ("CUDAExecutionProvider", "CPUExecutionProvider") if name in available]


def _check_providers(node: CheckedNode, ort: Any, wanted: Sequence[str]) -> None:
    """Refuses a provider that onnxruntime would leave out with a word on standard output."""
    available = ort.get_available_providers()
    lacking = [name for name in wanted if name not in available]
    if lacking:
        text = f"onnxruntime has no provider '{lacking[0]}' here{nearest(lacking[0], available)}"
        place = node.spec.path("config", "providers")
        raise InvalidEnsemble([Problem(place, "bad_value", f"{text} (providers: {listed(available)})")])


def _session_options(ort: Any, settings: Mapping[str, Any]) -> Any:
    options = ort.SessionOptions()
    for name, value in settings.items():
        try:
            setattr(options, name, value)
        except (TypeError, RuntimeError) as exc:
            raise EnsembleError(
                f"config.session_options.{name}: onnxruntime does not take {value!r}: {exc}"
            ) from exc
    return options
