"""How a loaded TensorFlow model is called with a batch, and what becomes of its answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.graph.output_ports import port_of
from beam_ensembles.handlers.support.arguments import Values, cast, join
from beam_ensembles.handlers.support.results import to_columns
from beam_ensembles.handlers.support.signatures import TENSORS, Port, Signature
from beam_ensembles.handlers.tensorflow.keras import distinct_names
from beam_ensembles.handlers.tensorflow.options import TensorFlowOptions
from beam_ensembles.handlers.tensorflow.saved_model import ELEMENTS
from beam_ensembles.types import NUMPY_DTYPES, Array, Map, Row, Scalar, Type


@dataclasses.dataclass(frozen=True, slots=True, weakref_slot=True)
class Served:
    """One signature of a SavedModel, called as a Keras model is: with one batch or with a mapping of batches.

    Attributes:
        module: What ``tf.saved_model.load`` gave; the signature's weights live as long as it does.
        function: The signature.
        tf: TensorFlow.
    """

    module: Any
    function: Any
    tf: Any

    @property
    def specs(self) -> Mapping[str, Any]:
        """What it takes: a ``tf.TensorSpec`` or the like for each name."""
        found: Mapping[str, Any] = self.function.structured_input_signature[1]
        return found

    @property
    def signature(self) -> Signature:
        """What it takes and gives, as the checks know it."""
        return Signature(_ports(self.specs), _ports(self.function.structured_outputs))

    def __call__(self, batch: Any, **extra: Any) -> Any:
        """Runs the signature; ``extra`` are more of its inputs, the same for all rows."""
        named = (
            batch if isinstance(batch, Mapping) else {next(n for n in self.specs if n not in extra): batch}
        )
        return self.function(
            **{name: self._tensor(name, value) for name, value in {**named, **extra}.items()}
        )

    def _tensor(self, name: str, value: Any) -> Any:
        wanted = self.specs[name].dtype
        if wanted == self.tf.bfloat16:
            return self.tf.cast(value, wanted)
        return value if self.tf.is_tensor(value) else self.tf.constant(value, wanted)


def _ports(specs: Mapping[str, Any]) -> tuple[Port, ...]:
    return tuple(_port(name, spec) for name, spec in sorted(specs.items()))


def _port(name: str, spec: Any) -> Port:
    if type(spec).__name__ == "RaggedTensorSpec":
        return Port(name, ELEMENTS.get(spec.dtype.as_datatype_enum), None, TENSORS)
    if type(spec).__name__ != "TensorSpec":  # a sparse one
        return Port(name, None, None)
    dims = None if spec.shape.rank is None else tuple(spec.shape.as_list())
    return Port(name, ELEMENTS.get(spec.dtype.as_datatype_enum), dims)


def signature_of(model: Any) -> Signature | None:
    """Returns what a loaded model takes and gives; None where its code alone knows."""
    if isinstance(model, Served):
        return model.signature
    traced = getattr(model.__call__, "concrete_functions", None)
    return _traced_signature(traced[0]) if traced else _keras_signature(model)


def _traced_signature(function: Any) -> Signature | None:
    """Returns what a SavedModel that is itself called takes in its first argument, and gives."""
    given, _ = function.structured_input_signature
    if not given:
        return None
    inputs = given[0] if isinstance(given[0], Mapping) else {"input": given[0]}
    return Signature(_ports(inputs), _ports(_named(function.structured_outputs, ["output"])))


def _keras_signature(model: Any) -> Signature | None:
    """Returns what a Keras model takes and gives; None where its class alone knows."""
    try:
        inputs, outputs = model.input, model.output
    except (AttributeError, ValueError):
        return None
    return Signature(
        _symbols(inputs, [symbol.name for symbol in model.inputs]), _symbols(outputs, model.output_names)
    )


def _symbols(found: Any, names: list[str]) -> tuple[Port, ...]:
    """Returns the ports of one end of a Keras model: a symbol, a list or a mapping of them."""
    if not isinstance(found, Mapping):
        symbols = found if isinstance(found, list | tuple) else [found]
        found = dict(zip(distinct_names(names), symbols, strict=True))
    return tuple(Port(name, _keras_element(symbol), tuple(symbol.shape)) for name, symbol in found.items())


def _keras_element(symbol: Any) -> str | None:
    if symbol.dtype == "string":
        return "string"
    dtype = "float32" if symbol.dtype == "bfloat16" else symbol.dtype
    return next((name for name, known in NUMPY_DTYPES.items() if known == dtype), None)


def reader(node: CheckedNode[TensorFlowOptions], signature: Signature | None) -> Callable[[Columns], Any]:
    """Returns the function that makes a model's argument of the node's columns: an array, or one for each name.

    Args:
        node: The node.
        signature: What the model takes; None where it does not say: then it is given the columns as they are.
    """
    inputs = node.spec.inputs
    ports = {port.name: port for port in signature.inputs} if signature is not None else {}
    if inputs is not None and inputs.ports is not None:
        named = dict(zip(inputs.ports, inputs.columns, strict=True))
        return lambda columns: {
            port: _fit(columns[column], ports.get(port)) for port, column in named.items()
        }
    extra = node.options.inference_args
    only = next((port for port in ports.values() if port.name not in extra), None)
    return lambda columns: _fit(join(columns, node.spec.columns), only)


def _fit(values: Values, port: Port | None) -> Values:
    """Casts values to an input's type and rank, which were found to fit."""
    if port is None:
        return values
    if port.dims is not None and values.ndim != len(port.dims):
        values = values.reshape(len(values), *[1] * (len(port.dims) - 1))
    dtype = NUMPY_DTYPES.get(port.element or "")
    return values if dtype is None else cast(values, dtype, "wrong_value", port.name)


def columns_of(node: CheckedNode[TensorFlowOptions], names: list[str], answer: Any, rows: int) -> Columns:
    """Creates the output columns of a model's answer.

    Args:
        node: The node.
        names: What the model calls the parts of a list or of a single answer.
        answer: A tensor, or a list, a tuple or a mapping of tensors.
        rows: How many rows the model was given.
    """
    parts = _named(answer, names)
    found = {}
    for output in node.spec.outputs:
        port = port_of(output, list(parts))
        if port is None:
            wanted = output.port or output.column
            text = (
                f"the model returned no '{wanted}' for '{output.column}' (it returned: {listed(list(parts))})"
            )
            raise NodeError("bad_output", text)
        found[output.column] = _values(parts[port], node.outputs[output.column])
    return to_columns(node, found, rows)


def _named(answer: Any, names: list[str]) -> Mapping[str, Any]:
    if isinstance(answer, Mapping):
        return answer
    parts = list(answer) if isinstance(answer, list | tuple) else [answer]
    fit = len(names) == len(parts)
    return dict(zip(names if fit else [f"output_{at}" for at in range(len(parts))], parts, strict=True))


def _values(tensor: Any, type_: Type) -> Any:
    """Returns a tensor as numpy has it, a ragged one as lists; bytes as text where that is what is declared."""
    if hasattr(tensor, "to_list"):
        return _texts(tensor.to_list()) if _is_text(type_) else tensor.to_list()
    values = tensor.numpy() if hasattr(tensor, "numpy") else np.asarray(tensor)
    if isinstance(values, bytes):  # a text that was squeezed
        values = np.array(values, dtype=object)
    if values.dtype.name == "bfloat16":
        return values.astype(np.float32)
    return _texts(values) if values.dtype == object and _is_text(type_) else values


def _is_text(type_: Type) -> bool:
    """Returns whether there is text in a type."""
    if isinstance(type_, Array):
        return _is_text(type_.element)
    return isinstance(type_, Map | Row) or (isinstance(type_, Scalar) and type_.name == "string")


def _texts(values: Any) -> Any:
    """Decodes the bytes in an array or in lists."""
    if isinstance(values, list):
        return [_texts(value) for value in values]
    if isinstance(values, np.ndarray):
        return np.frompyfunc(_texts, 1, 1)(values)
    try:
        return values.decode() if isinstance(values, bytes) else values
    except UnicodeDecodeError as exc:
        raise NodeError("bad_output", f"the model gave bytes that are not UTF-8 text: {exc}") from exc
