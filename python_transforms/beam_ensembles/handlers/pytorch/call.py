"""Calls a PyTorch model with a whole batch: arrays to tensors of the dtypes that it takes, on its device."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.support.arguments import Values, cast, join
from beam_ensembles.handlers.support.member import inference_args
from beam_ensembles.handlers.support.signatures import Signature
from beam_ensembles.messages.foreign_errors import text_of

_BEFORE_A_CAST: Final = {
    "torch.uint8": np.uint8,
    "torch.int8": np.int8,
    "torch.int16": np.int16,
    "torch.int32": np.int32,
    "torch.float16": np.float16,
    "torch.bfloat16": np.float32,
    "torch.float32": np.float32,
}
"""numpy's dtypes in which a number that is too large for PyTorch's is found; bfloat16 reaches as far as float32."""


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """What a model is called with, as arrays.

    Attributes:
        positional: Arguments by position.
        named: Arguments by name.
    """

    positional: tuple[Values, ...]
    named: Mapping[str, Values]


def given_of(node: CheckedNode, signature: Signature | None, columns: Columns) -> Given:
    """Creates a model's arguments of a node's columns.

    Args:
        node: The node: a list of columns is one argument, a mapping one per port.
        signature: What an exported program takes; None for other models, which take what comes.
        columns: The columns.
    """
    ports = node.spec.inputs.ports if node.spec.inputs is not None else None
    if ports is not None:
        named = {port: columns[column] for port, column in zip(ports, node.spec.columns, strict=True)}
    elif signature is None:
        return Given((join(columns, node.spec.columns),), {})
    else:
        extra = inference_args(node)
        only = next(port.name for port in signature.inputs if port.name not in extra)
        named = {only: join(columns, node.spec.columns)}
    if signature is not None:
        ranks = {port.name: len(port.dims or ()) for port in signature.inputs}
        named = {name: _of_rank(values, ranks[name]) for name, values in named.items()}
    return Given((), named)


def _of_rank(values: Values, rank: int) -> Values:
    """Returns values of one number per row in the wanted rank, ``[N]`` or ``[N, 1]``; all others have it already."""
    return values if values.ndim == rank else values.reshape(len(values), *[1] * (rank - 1))


def infer(
    method: str | None,
    result: Any,
    batch: Sequence[Given],
    model: Any,
    device: Any,
    extra: Mapping[str, Any] | None = None,
    model_id: str | None = None,
) -> list[Any]:
    """Beam's ``inference_fn``: as Beam's own, but the batch is one item already, and so is the answer.

    Args:
        method: The model's method that is called; None calls the model.
        result: Beam's ``PredictionResult``.
        batch: One item.
        model: What the handler loaded.
        device: Where it is.
        extra: The node's ``inference_args``.
        model_id: The model's name, for the result.
    """
    import torch

    dtypes = getattr(model, "dtypes", None)
    fallback = _float_dtype(model) if dtypes is None else None

    def tensor(name: str, values: Values) -> Any:
        wanted = fallback if values.dtype.kind == "f" else None
        return _tensor(name, values, device, wanted if dtypes is None else dtypes[name])

    with torch.no_grad():
        positional = [tensor("inputs", values) for values in batch[0].positional]
        named = {name: tensor(name, values) for name, values in batch[0].named.items()}
        function = model if method is None else getattr(model, method)
        return [result(None, function(*positional, **named, **(extra or {})), model_id)]


def _tensor(name: str, values: Values, device: Any, dtype: Any) -> Any:
    """Creates a tensor of an array: a copy, since a model may change what it is given."""
    import torch

    lossy = _BEFORE_A_CAST.get(str(dtype)) if values.dtype.kind in "fiu" else None
    fitting = values if lossy is None else cast(values, np.dtype(lossy), "wrong_value", name)
    return torch.tensor(fitting).to(device=device, dtype=dtype)


def _float_dtype(model: Any) -> Any:
    """Returns the dtype in which a model counts, that of its first weight; None where it has none."""
    weights = itertools.chain(model.parameters(), model.buffers())
    return next((weight.dtype for weight in weights if weight.is_floating_point()), None)


def check_callable(node: CheckedNode, model: Any, method: str | None) -> None:
    """Ensures that a model has the node's method, and that this takes the node's arguments.

    Raises:
        InvalidEnsemble: It does not (``signature_mismatch``).
    """
    if method is not None and not _predicts(method):
        text = f"'{method}' is a method of every module, or private; name one that the model itself has to predict"
        raise InvalidEnsemble([Problem(node.spec.path("method"), "signature_mismatch", text)])
    function = getattr(model, method or "forward", None)
    if not callable(function):
        text = f"this {type(model).__name__} has no {method or 'forward'}"
        raise InvalidEnsemble([Problem(node.spec.path("method"), "signature_mismatch", text)])
    ports = node.spec.inputs.ports if node.spec.inputs is not None else None
    given = [None] if ports is None else []
    names = [*(ports or ()), *inference_args(node)]
    misfit = _misfit(function, given, names)
    if misfit is not None:
        raise InvalidEnsemble([Problem(node.spec.path("inputs"), "signature_mismatch", misfit)])


def _predicts(method: str) -> bool:
    """Whether a name can be that of a method that predicts; those of PyTorch's own classes save, load and compile."""
    import torch

    own = hasattr(torch.nn.Module, method) or hasattr(torch.jit.ScriptModule, method)
    return method == "forward" or not (method.startswith("_") or own)


def _misfit(function: Any, given: Sequence[Any], names: Sequence[str]) -> str | None:
    """Returns why a function cannot be called so; TorchScript's methods carry a schema instead of a signature."""
    schema = getattr(function, "schema", None)
    if schema is not None:
        signature = inspect.Signature(list(map(_parameter, _own_arguments(function, schema))))
    else:
        signature = inspect.signature(function)
    try:
        signature.bind(*given, **dict.fromkeys(names))
    except TypeError as exc:
        return f"the model's arguments are {signature}: {text_of(exc)}"
    return None


def _own_arguments(function: Any, schema: Any) -> Sequence[Any]:
    """Returns the arguments that a caller gives: a method's first one is its module, whatever it is called."""
    import torch

    arguments: Sequence[Any] = schema.arguments
    return arguments if isinstance(function, torch.jit.ScriptFunction) else arguments[1:]


def _parameter(argument: Any) -> inspect.Parameter:
    """Returns an argument of a TorchScript schema as a parameter of Python's."""
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    return inspect.Parameter(argument.name, kind, default=default)
