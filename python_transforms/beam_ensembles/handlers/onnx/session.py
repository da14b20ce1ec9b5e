"""onnxruntime's sessions: their options, what they run on, and what they say of their graph."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import EnsembleError, InvalidEnsemble, Problem, listed, nearest
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.onnx.options import OnnxOptions
from beam_ensembles.handlers.support.member import no_gpu, no_gpu_for_device
from beam_ensembles.handlers.support.signatures import TENSORS, Port, Signature
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.processes.child_process import own_cores
from beam_ensembles.types import NUMPY_DTYPES

_LOGGER: Final = logging.getLogger(__name__)
SESSION_OPTIONS: Final = (
    "enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse", "inter_op_num_threads", "intra_op_num_threads",
    "log_severity_level", "use_deterministic_compute",
)  # fmt: skip
"""What ``session_options`` may set of onnxruntime's SessionOptions by a number or a truth value."""
SPINNING: Final = "allow_spinning"
"""What it may set beside: whether onnxruntime's threads keep their cores busy while they wait for the next call. By
default they do; here other models want the cores meanwhile, and a vote of three frameworks can take half the time
without.
"""
SESSION_CHOICES: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "execution_mode": {
        "parallel": ("ExecutionMode", "ORT_PARALLEL"),
        "sequential": ("ExecutionMode", "ORT_SEQUENTIAL"),
    },
    "graph_optimization_level": {
        "all": ("GraphOptimizationLevel", "ORT_ENABLE_ALL"),
        "basic": ("GraphOptimizationLevel", "ORT_ENABLE_BASIC"),
        "disable": ("GraphOptimizationLevel", "ORT_DISABLE_ALL"),
        "extended": ("GraphOptimizationLevel", "ORT_ENABLE_EXTENDED"),
    },
}
"""What it may set by a word: the word, and onnxruntime's enumeration and value."""

_FORMAT: Final = "session.load_model_format"
"""Without it, onnxruntime may take a file for its own format, which is not checked here."""
_KEEP_DEQUANTIZED: Final = "session.disable_quant_qdq"
PROVIDERS: Final = tuple(
    f"{name}ExecutionProvider"
    for name in (
        "CPU",
        "CUDA",
        "Tensorrt",
        "NvTensorRTRTX",
        "ROCM",
        "MIGraphX",
        "OpenVINO",
        "CoreML",
        "Dml",
        "Dnnl",
        "XNNPACK",
    )
)
"""Execution providers that a file may name: those that run on this machine. Azure's calls servers."""
PROVIDER_OPTIONS: Final = (
    "arena_extend_strategy", "cudnn_conv1d_pad_to_nc1d", "cudnn_conv_algo_search", "cudnn_conv_use_max_workspace",
    "device_id", "device_type", "do_copy_in_default_stream", "enable_cuda_graph", "enable_skip_layer_norm_strict_mode",
    "gpu_mem_limit", "num_of_threads", "num_streams", "precision", "prefer_nhwc", "trt_bf16_enable",
    "trt_builder_optimization_level", "trt_cuda_graph_enable", "trt_fp16_enable", "trt_int8_enable",
    "trt_max_partition_iterations", "trt_max_workspace_size", "trt_min_subgraph_size", "tunable_op_enable", "use_tf32",
)  # fmt: skip
"""What ``provider_options`` may set. Not among them: options that name a file or a library to read, write or run."""
_CPU: Final = "CPUExecutionProvider"
_CUDA: Final = "CUDAExecutionProvider"
_TENSOR: Final = re.compile(r"tensor\((\w+)\)")
_MAPS: Final = re.compile(r"seq\(map\((\w+),tensor\((\w+)\)\)\)")


def is_session_options(value: Any) -> bool:
    """Returns whether a value is a mapping of session options that may be set."""
    return isinstance(value, Mapping) and all(
        setting in SESSION_CHOICES[name]
        if name in SESSION_CHOICES
        else isinstance(setting, bool if name == SPINNING else int) and name in (*SESSION_OPTIONS, SPINNING)
        for name, setting in value.items()
    )


def is_provider_options(value: Any) -> bool:
    """Whether a value is a list of mappings of allowed provider options to numbers and words."""
    return isinstance(value, list) and all(
        isinstance(one, Mapping)
        and all(
            name in PROVIDER_OPTIONS and isinstance(setting, str | int | float)
            for name, setting in one.items()
        )
        for one in value
    )


def session_options(ort: Any, settings: Mapping[str, Any]) -> Any:
    """Creates onnxruntime's options of those of a file; threads do not spin unless it says so.

    Raises:
        EnsembleError: onnxruntime does not take one.
    """
    options = ort.SessionOptions()
    options.add_session_config_entry(_FORMAT, "ONNX")
    options.intra_op_num_threads = own_cores() or 0  # 0: as many as there are cores
    spinning = "1" if settings.get(SPINNING) else "0"
    for threads in ("intra_op", "inter_op"):
        options.add_session_config_entry(f"session.{threads}.{SPINNING}", spinning)
    for name, value in settings.items():
        if name == SPINNING:
            continue
        enumeration, member = SESSION_CHOICES.get(name, {}).get(str(value), ("", ""))
        try:
            setattr(options, name, getattr(getattr(ort, enumeration), member) if member else value)
        except (TypeError, RuntimeError) as exc:
            text = f"config.session_options.{name}: onnxruntime does not take {value!r}: {text_of(exc)}"
            raise EnsembleError(text) from exc
    return options


def keep_dequantized(options: Any) -> None:
    """Make onnxruntime compute with dequantized numbers as the graph says, not with whole numbers instead."""
    options.add_session_config_entry(_KEEP_DEQUANTIZED, "1")


def providers(node: CheckedNode[OnnxOptions], ort: Any) -> list[Any]:
    """Returns the execution providers of a node: those that it names, else those of its device that are here.

    Raises:
        InvalidEnsemble: onnxruntime lacks one: it would leave it out with a word on standard output.
    """
    available = ort.get_available_providers()
    named = node.options.config.get("providers")
    if named is not None:
        _check_named(node, available, named)
        return list(named)
    device = node.options.device
    if device == "gpu" and _CUDA not in available:
        raise no_gpu_for_device(
            node, "onnxruntime was built without CUDA; install onnxruntime-gpu in its place"
        )
    return [_CUDA, _CPU] if device != "cpu" and _CUDA in available else [_CPU]


def _check_named(node: CheckedNode[OnnxOptions], available: Sequence[str], named: Sequence[str]) -> None:
    lacking = [name for name in named if name not in available]
    if lacking:
        text = f"onnxruntime has no provider '{lacking[0]}' here{nearest(lacking[0], available)}"
        place = node.spec.path("config", "providers")
        raise InvalidEnsemble([Problem(place, "bad_value", f"{text} (providers: {listed(available)})")])


def find_libraries(ort: Any, wanted: Sequence[Any]) -> None:
    """Preloads CUDA's libraries of Python packages for onnxruntime, if it is to use them."""
    if _CUDA in wanted and hasattr(ort, "preload_dlls"):
        ort.preload_dlls()


def check_device(node: CheckedNode[OnnxOptions], session: Any, wanted: Sequence[str]) -> None:
    """Ensures that a session runs where its node says: onnxruntime takes the CPU where a provider does not start.

    Args:
        node: The node.
        session: The session.
        wanted: The providers that it was asked for. Where the CPU's is among them, others may do without.

    Raises:
        InvalidEnsemble: ``no_gpu``: it does not.
    """
    running = session.get_providers()
    lacking = [name for name in wanted if name not in running]
    if not lacking:
        return
    text = f"onnxruntime could not start {listed(lacking)}; it logged why"
    if node.options.device == "gpu":
        raise no_gpu_for_device(node, text)
    if _CPU not in wanted:
        raise no_gpu(node, "config.providers", f"{text}; add {_CPU} to do without")
    _LOGGER.warning("node '%s' runs on %s: %s", node.spec.name, listed(running), text)


def signature_of(session: Any) -> Signature:
    """Returns what a loaded graph takes and gives."""
    inputs = [_port(info) for info in session.get_inputs()]
    inputs += [_port(info, is_optional=True) for info in session.get_overridable_initializers()]
    return Signature(tuple(inputs), tuple(_output(info) for info in session.get_outputs()))


def _output(info: Any) -> Port:
    """Reads onnxruntime's type of an output. No dimensions may also mean that their number is not known."""
    port = _port(info)
    return port if port.dims else dataclasses.replace(port, dims=None)


def _port(info: Any, *, is_optional: bool = False) -> Port:
    """Reads onnxruntime's type of an input or output: ``tensor(float)`` or ``seq(map(int64,tensor(float)))``."""
    text, dims = info.type, _dims(info.shape)
    if text.startswith("optional("):
        is_optional, text = True, text.removeprefix("optional(").removesuffix(")")
    maps, tensor = _MAPS.fullmatch(text), _TENSOR.fullmatch(text)
    if maps is not None:
        return Port(info.name, _element(maps.group(2)), None, _element(maps.group(1)), is_optional)
    if tensor is None:
        inner = _TENSOR.fullmatch(text.removeprefix("seq(").removesuffix(")"))
        return Port(
            info.name, None if inner is None else _element(inner.group(1)), None, TENSORS, is_optional
        )
    return Port(info.name, _element(tensor.group(1)), dims, None, is_optional)


def _element(name: str) -> str | None:
    """Returns the type language's name of onnxruntime's; only ``bool`` has another."""
    found = {"bool": "boolean"}.get(name, name)
    return found if found == "string" or found in NUMPY_DTYPES else None


def _dims(shape: Sequence[Any] | None) -> tuple[int | None, ...] | None:
    return None if shape is None else tuple(dim if isinstance(dim, int) else None for dim in shape)
