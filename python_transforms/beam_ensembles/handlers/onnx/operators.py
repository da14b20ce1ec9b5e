"""The operators that an untrusted ONNX graph may hold: they compute, and reach no file, network or foreign code.

Field numbers are those of ``onnx.proto``. Operators stand in graphs, in the graphs within attributes, in functions, and
in the graphs for training.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from beam_ensembles.errors import listed
from beam_ensembles.handlers.onnx.opening import opened
from beam_ensembles.handlers.support.file_bytes import FileBytes
from beam_ensembles.handlers.support.protobuf_wire import WireError, fields

_DEEPEST: Final = 100
_STANDARD: Final = (
    "",
    "ai.onnx",
    "ai.onnx.ml",
    "ai.onnx.preview",
    "ai.onnx.preview.training",
    "ai.onnx.training",
)
"""Domains of the ONNX standard, none of whose operators reaches anything but its inputs."""
_MICROSOFT: Final = "com.microsoft"
_COMPUTING: Final = frozenset(
    """
    Attention BeamSearch BiasAdd BiasDropout BiasGelu BiasSoftmax BiasSplitGelu BifurcationDetector
    BitmaskBiasDropout BitmaskDropout CDist ComplexMul ComplexMulConj ConvTransposeWithDynamicPads CropAndResize
    DecoderAttention DecoderMaskedMultiHeadAttention DecoderMaskedSelfAttention DequantizeBFP DequantizeLinear
    DequantizeWithOrder DynamicQuantizeLSTM DynamicQuantizeMatMul DynamicTimeWarping EmbedLayerNormalization ExpandDims
    FastGelu FusedConv FusedGemm FusedMatMul FusedMatMulActivation GatedRelativePositionBias GatherBlockQuantized
    GatherND Gelu GemmFastGelu GemmFloat8 GemmaRotaryEmbedding GreedySearch GridSample GroupNorm GroupQueryAttention
    Inverse Irfft IsAllFinite LayerNormalization LongformerAttention MatMulBnb4 MatMulFpQ4 MatMulInteger16
    MatMulIntegerToFloat MatMulNBits MaxpoolWithMask MoE MulInteger MultiHeadAttention MurmurHash3 NGramRepeatBlock
    NhwcConv NhwcFusedConv NhwcMaxPool PackedAttention PackedMultiHeadAttention Pad PagedAttention QAttention
    QEmbedLayerNormalization QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearConv QLinearGlobalAveragePool
    QLinearLeakyRelu QLinearMul QLinearReduceMean QLinearSigmoid QLinearSoftmax QLinearWhere QMoE QOrderedAttention
    QOrderedGelu QOrderedLayerNormalization QOrderedLongformerAttention QOrderedMatMul QuantizeBFP QuantizeLinear
    QuantizeWithOrder QuickGelu Range ReduceSumInteger RelativePositionBias RemovePadding RestorePadding Rfft
    RotaryEmbedding Sampling SimplifiedLayerNormalization SkipGroupNorm SkipLayerNormalization
    SkipSimplifiedLayerNormalization SparseAttention SparseToDenseMatMul Tokenizer TorchEmbedding TransposeMatMul Trilu
    UnfoldTensor Unique WhisperBeamSearch
    """.split()  # noqa: SIM905 - a list of 130 lines
)
"""onnxruntime's own operators that only compute. Not among them: ``EPContext`` and ``Snpe``, which hold or name
programs for other processors, ``ATen`` and ``PythonOp``, which call PyTorch and Python, ``AttnLSTM``, which can end the
process, and ``WordConvEmbedding``, which answers for a word without characters with memory that it has not written.
Those that must not be given empty tensors are looked at in ``emptiness``."""
_PARTS: Final[dict[str, dict[int, str]]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {6: "graph", 11: "graph"},
}
"""The fields of each kind of message that lead to nodes."""


def foreign_operators(path: str) -> tuple[str, ...]:
    """Returns the operators of a model, as ``domain.name``, that may do more than compute; each once, in order.

    Raises:
        ModelFormatError: It is not an ONNX model.
        OSError: It cannot be read.
    """
    with opened(path) as data:
        functions = set(_functions(data))
        used = dict.fromkeys(_operators(data, "model", 0, len(data), 0))
    return tuple(".".join(found) for found in used if not _computes(*found, functions))


def uses(path: str, starts: tuple[str, ...]) -> bool:
    """Whether a model has an operator whose name begins with one of some words, in any graph or function.

    Raises:
        ModelFormatError: It is not an ONNX model.
        OSError: It cannot be read.
    """
    with opened(path) as data:
        return any(name.startswith(starts) for _, name in _operators(data, "model", 0, len(data), 0))


def describe(place: str, foreign: tuple[str, ...]) -> str:
    """Returns the message for a model with foreign operators, and what to do."""
    return (
        f"'{place}' has operators that may do more than compute ({listed(foreign)}), but it is neither pinned nor "
        "trusted; pin it with 'sha256: <its digest>' on the node, or trust its folder (start with --trust FOLDER)"
    )


def _computes(domain: str, name: str, functions: set[tuple[str, str]]) -> bool:
    if domain in _STANDARD:
        return True
    if domain == _MICROSOFT:
        return name in _COMPUTING
    return (domain, name) in functions  # of the model itself: its nodes are looked at, too


def _operators(data: FileBytes, kind: str, start: int, end: int, depth: int) -> Iterator[tuple[str, str]]:
    """Walks down to the nodes, and yields the domain and the name of the operator of each."""
    if depth > _DEEPEST:
        raise WireError(f"messages are nested more than {_DEEPEST} deep")
    parts = _PARTS[kind]
    texts = {4: "", 7: ""}
    for number, at, to in fields(data, start, end):
        if to < 0:
            continue
        if number in parts:
            yield from _operators(data, parts[number], at, to, depth + 1)
        elif kind == "node" and number in texts:
            texts[number] = data[at:to].decode()
    if kind == "node":
        yield texts[7], texts[4]


def _functions(data: FileBytes) -> Iterator[tuple[str, str]]:
    """Yields the domain, 10, and the name, 1, of each FunctionProto."""
    for number, start, end in fields(data, 0, len(data)):
        if number == 25 and end >= 0:
            texts = {
                field: data[at:to].decode()
                for field, at, to in fields(data, start, end)
                if to >= 0 and field in (1, 10)
            }
            yield texts.get(10, ""), texts.get(1, "")
