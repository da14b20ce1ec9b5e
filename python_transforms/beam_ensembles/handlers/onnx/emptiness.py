"""Finds operators that onnxruntime must not be given nothing for: tensors with a dimension of 0.

Kernels of whole numbers leave their answer unwritten where there is nothing to sum up, so that it holds whatever the
worker's memory held before. Kernels of ``GRU`` and ``LSTM`` end the process. onnxruntime also makes the former itself,
of ``DequantizeLinear`` and a product of floats.

A tensor is known to have items if it is a weight with items, or is made of tensors with items by an operator that
never gives nothing for something. The graph's inputs count as such, because :func:`refuse_empty` looks at them before
each run. All else (``Slice``, ``Loop``, what a function is given) is not known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.handlers.onnx.operators import uses

_PRODUCTS: Final[dict[str, tuple[int, int]]] = {
    "ConvInteger": (0, 1), "DynamicQuantizeMatMul": (0, 1), "MatMulInteger": (0, 1), "MatMulInteger16": (0, 1),
    "MatMulIntegerToFloat": (0, 1), "QAttention": (0, 1), "QGemm": (0, 3), "QLinearConv": (0, 3),
    "QLinearMatMul": (0, 3),
}  # fmt: skip
"""Products of whole numbers, and which inputs are multiplied; one with items is enough, as they share a dimension."""
_RECURRENT: Final = frozenset(("DynamicQuantizeLSTM", "GRU", "LSTM"))
_FUSED: Final = frozenset(
    ("Conv", "FusedConv", "FusedGemm", "FusedMatMul", "Gemm", "MatMul", "NhwcFusedConv")
)
"""Products of floats, of inputs 0 and 1, which become products of whole numbers behind ``DequantizeLinear``."""
_DEQUANTIZE: Final = "DequantizeLinear"
_WORDS: Final = (*_PRODUCTS, *_RECURRENT, _DEQUANTIZE)
_DOMAINS: Final = ("", "ai.onnx", "com.microsoft")
_OF_FIRST: Final = frozenset(
    """
    Abs BatchNormalization BiasGelu BiasAdd Cast CastLike Ceil Clip DequantizeLinear Dropout DynamicQuantizeLinear Elu
    Erf Exp FastGelu Flatten Floor Gelu GlobalAveragePool HardSigmoid HardSwish Identity LayerNormalization LeakyRelu
    Log LogSoftmax Mish Neg Not QuantizeLinear QuickGelu Reciprocal ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin
    ReduceProd ReduceSum Relu Reshape Round Selu Sigmoid Sign SimplifiedLayerNormalization Softmax Softplus Softsign
    Sqrt SkipLayerNormalization Squeeze Tanh Transpose Unsqueeze
    """.split()  # noqa: SIM905 - a list of 50 lines
)
"""Operators whose first output has items if their first input has: they map, reorder or sum items."""
_OF_ALL: Final = frozenset(
    """
    Add And Concat Div DynamicQuantizeMatMul Equal FusedMatMul Gather Gemm Greater GreaterOrEqual Less LessOrEqual
    MatMul MatMulInteger MatMulIntegerToFloat Max Mean Min Mod Mul Or PRelu Pow QGemm
    QLinearAdd QLinearConcat QLinearMatMul
    QLinearMul Sub Sum Where Xor
    """.split()  # noqa: SIM905 - a list of 40 lines
)
"""Operators whose first output has items if all of their inputs have."""


@dataclasses.dataclass(frozen=True, slots=True)
class Emptiness:
    """Where a model's tensors may be empty although they must not be.

    Attributes:
        leaking: Operators that would answer with memory that nobody has written; each once.
        ending: Operators that would end the process; each once.
        is_fusible: Whether onnxruntime could make the former itself, of dequantized tensors.
        is_guarded: Whether the model's inputs must have items.
    """

    leaking: tuple[str, ...] = ()
    ending: tuple[str, ...] = ()
    is_fusible: bool = False
    is_guarded: bool = False


def find_emptiness(path: str) -> Emptiness:
    """Looks through the graph, its subgraphs and its functions. Needs the package ``onnx``.

    Raises:
        ModelFormatError: It is not an ONNX model.
        OSError: It cannot be read.
    """
    if not uses(path, _WORDS):
        return Emptiness()
    import onnx

    model = onnx.load(path, load_external_data=False)
    walk = _Walk({(_domain(one), one.name) for one in model.functions})
    walk.graph(model.graph, frozenset(), {one.name for one in model.graph.input})
    for function in model.functions:
        walk.nodes(function.node, set(), _given_twice(function.input, (), function.node))
    fusible = walk.fusible if walk.dequantizes else False
    return Emptiness(
        tuple(dict.fromkeys(walk.leaking)), tuple(dict.fromkeys(walk.ending)), fusible, walk.is_guarded
    )


def refuse_empty(feeds: Mapping[str, Any]) -> None:
    """Checks that all that a graph is fed with has items.

    Raises:
        NodeError: ``wrong_length``: an input has none.
    """
    for name, values in feeds.items():
        if getattr(values, "size", 1) == 0:
            text = (
                f"the model's input '{name}' is empty; this model needs at least one item in every dimension"
            )
            raise NodeError("wrong_length", text)


def describe(place: str, found: Emptiness) -> str:
    """Returns the message for a model whose operators may be given nothing, and what to do."""
    if found.leaking:
        why, more = "would answer with parts of the worker's memory for an empty tensor", ""
    else:
        why, more = "would end the worker for an empty tensor", ", run it in a process ('isolate: process')"
    return (
        f"'{place}' has operators that {why}, and not all of their inputs are known to have items "
        f"({listed(found.leaking or found.ending)}), but it is neither pinned nor trusted; pin it with 'sha256: <its "
        f"digest>' on the node{more}, or trust its folder (start with --trust FOLDER)"
    )


class _Walk:
    """Goes through nodes in their order, and keeps the names of the tensors that have items."""

    def __init__(self, functions: Collection[tuple[str, str]]) -> None:
        self._functions = functions
        self.leaking: list[str] = []
        self.ending: list[str] = []
        self.dequantizes = self.fusible = self.is_guarded = False

    def graph(self, graph: Any, outer: frozenset[str] | set[str], inputs: Collection[str]) -> None:
        """Goes through a graph.

        Args:
            graph: It.
            outer: The tensors with items around it.
            inputs: The inputs that have items.
        """
        names = [one.name for one in graph.input]
        weights = {one.name: True for one in graph.initializer}
        for one in graph.initializer:
            weights[one.name] &= all(dim > 0 for dim in one.dims)
        for one in graph.sparse_initializer:
            weights[one.values.name] = False
        known = set(outer) - {name for node in graph.node for name in node.output}
        known |= set(inputs) | {name for name, has_items in weights.items() if has_items}
        known -= {name for name, has_items in weights.items() if not has_items} | (set(names) - set(inputs))
        self.nodes(
            graph.node, known, _given_twice((), weights, graph.node) | _given_twice(names, (), graph.node)
        )

    def nodes(self, nodes: Iterable[Any], known: set[str], unclear: Collection[str]) -> None:
        """Goes through nodes; ``unclear`` names have two meanings, so nothing is known of them."""
        known.difference_update(unclear)
        for node in nodes:
            self._check(node, known)
            for attribute in node.attribute:
                for graph in (attribute.g, *attribute.graphs):
                    self.graph(graph, known, ())
            known.update(set(self._with_items(node, known)) - set(unclear))

    def _check(self, node: Any, known: frozenset[str] | set[str]) -> None:
        name = node.op_type
        if node.domain not in _DOMAINS:
            return
        if name in _PRODUCTS:
            self.is_guarded = True
            if not _any_known(node, _PRODUCTS[name], known):
                self.leaking.append(name)
        elif name in _RECURRENT:
            self.is_guarded = True
            if not _any_known(node, (0,), known):
                self.ending.append(name)
        elif name in _FUSED and not _any_known(node, (0, 1), known):
            self.fusible = True
        elif name == _DEQUANTIZE:
            self.dequantizes = self.is_guarded = True

    def _with_items(self, node: Any, known: frozenset[str] | set[str]) -> Collection[str]:
        """Returns the outputs of a node that have items."""
        inputs = [name for name in node.input if name]
        if node.domain not in _DOMAINS or (_domain(node), node.op_type) in self._functions:
            return ()
        if node.op_type == "Constant":
            (value, *others) = node.attribute or [None]
            is_tensor = value is not None and not others and value.name == "value" and not value.ref_attr_name
            return node.output if is_tensor and all(dim > 0 for dim in value.t.dims) else ()
        if node.op_type in _OF_FIRST:
            return node.output[:1] if node.input and node.input[0] in known else ()
        if node.op_type in _RECURRENT or node.op_type == "RNN":
            # The other inputs have shapes that follow from these.
            return node.output if known.issuperset(node.input[:3]) else ()
        is_known = node.op_type in _OF_ALL and inputs and known.issuperset(inputs)
        return node.output[:1] if is_known else ()


def _any_known(node: Any, places: Iterable[int], known: frozenset[str] | set[str]) -> bool:
    return any(at < len(node.input) and node.input[at] in known for at in places)


def _given_twice(inputs: Iterable[str], weights: Iterable[str], nodes: Iterable[Any]) -> set[str]:
    """Returns the names that more than one of these give, and '': of an input that is left out."""
    seen: set[str] = set()
    twice = {""}
    for name in (*inputs, *weights, *(name for node in nodes for name in node.output)):
        (twice if name in seen else seen).add(name)
    return twice


def _domain(one: Any) -> str:
    return "" if one.domain == "ai.onnx" else str(one.domain)
