"""Loads a node that names one of transformers' model classes: tensors in, what the model returns out."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from beam_ensembles.errors import InvalidEnsemble, NodeError, Problem, listed, nearest
from beam_ensembles.graph.class_meanings import Meaning
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, NodeView
from beam_ensembles.handlers.huggingface import hub
from beam_ensembles.handlers.huggingface.arguments import GENERATION
from beam_ensembles.handlers.huggingface.checks import check_samples
from beam_ensembles.handlers.huggingface.drawing import drawing, parted_seeds, seeds_of
from beam_ensembles.handlers.huggingface.loaded_weights import check_adapter, noted_weights
from beam_ensembles.handlers.huggingface.options import HuggingFaceOptions
from beam_ensembles.handlers.huggingface.padding import MASKS, padded
from beam_ensembles.handlers.huggingface.padding_effect import changes_ids, counts_padding
from beam_ensembles.handlers.pytorch.device import loaded_on_device
from beam_ensembles.handlers.pytorch.embedding_guard import guarded
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.arguments import Values, join, list_argument
from beam_ensembles.handlers.support.importing import check_import, import_name
from beam_ensembles.handlers.support.ragged_lists import by_length
from beam_ensembles.handlers.support.results import to_columns
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.spec.places import below
from beam_ensembles.types import NUMPY_DTYPES, Array, Scalar, Type

"""What may be called on a model; others could write files."""

_PACKAGE: Final = "transformers."
_BEFORE_POOLING: Final = frozenset(("attentions", "hidden_states", "last_hidden_state"))
"""What a model gives that its pooler has no part in."""
_RAW: Final = "logits"
"""How the outputs of transformers' models are called that hold scores (``logits_per_image``)."""
_ONE: Final = "input"
"""The name under which the only argument of a list of columns is passed on."""
_MASKABLE: Final = frozenset((*MASKS, *MASKS.values(), "token_type_ids"))
"""Lists that may be padded: the masks of the ids say what is padding."""


def check_class(node: NodeView[HuggingFaceOptions]) -> Mapping[str, Type | None]:
    """Checks a node with a ``model_class``; the types of its outputs must be declared."""
    name = str(node.options.model_class)
    if name.startswith(_PACKAGE):
        check_import(node, "model_class", name)
    else:
        text = f"'{name}' is not a class of transformers; write it like 'transformers.BlipForConditionalGeneration'"
        node.problem("bad_value", "model_class", text)
    _check_columns(node)
    if node.options.method == "generate":
        _check_generation(node)
        check_samples(node, node.options.samples)
    for output in node.spec.outputs:
        if (output.port or output.column).startswith(_RAW):
            node.tell(output.column, Meaning(refused=f"'{output.port or output.column}' are scores"))
    return {output.column: output.type for output in node.spec.outputs}


def _check_columns(node: NodeView[HuggingFaceOptions]) -> None:
    inputs = node.spec.inputs
    if inputs is None:
        return
    if inputs.ports is None and len(inputs.columns) > 1:
        list_argument(node)
        return
    for index, column in enumerate(inputs.columns):
        type_ = node.inputs.get(column)
        if type_ is not None and not _holds_numbers(type_):
            text = f"'{column}' is {type_}; a model takes numbers: 'apply: processor' makes them of texts and images"
            node.problem("type_mismatch", inputs.path(index), text)


def _holds_numbers(type_: Type) -> bool:
    while isinstance(type_, Array):
        type_ = type_.element
    return isinstance(type_, Scalar) and type_.name in NUMPY_DTYPES and not type_.nullable


def _check_generation(node: NodeView[HuggingFaceOptions]) -> None:
    for name in node.options.inference_args:
        if name not in GENERATION:
            text = (
                f"generate takes no '{name}' here{nearest(name, GENERATION)} (allowed: {listed(GENERATION)})"
            )
            node.problem("unknown_option", below("inference_args", name), text)


def load_class(node: CheckedNode[HuggingFaceOptions], beam: Any, transformers: Any) -> Member:
    """Loads a checked node with a ``model_class``.

    Args:
        node: The node.
        beam: Beam's module of Hugging Face's handlers.
        transformers: The library.

    Raises:
        EnsembleError: The model cannot be loaded.
    """
    call = _Call(node.options.method or "forward", beam.PredictionResult)
    with hub.opened(node) as place:
        handler = _handler(node, beam, _model_class(node, transformers), place, call)
        handler.set_environment_vars()
        read = [output.port or output.column for output in node.spec.outputs]
        check_adapter(place.name)
        with noted_weights(transformers) as weights:
            model, device = loaded_on_device(node, lambda device: handler.load_model().to(device))
        weights.check(pooled=not _BEFORE_POOLING.issuperset(read))
    args = member.inference_args(node)
    if call.method == "generate" and node.options.samples is not None:
        args.setdefault("num_return_sequences", node.options.samples)
    elif call.method != "generate":
        _check_call(node, getattr(type(model), call.method))
    loaded = member.BeamMember(
        handler,
        model,
        args,
        read=_reader(node, model, call.method),
        write=lambda answer, rows: _columns(node, answer, rows),
        per_row=member.is_per_row(node),
    )
    whole = by_length(node, loaded) if _needs_one_length(node, model, call.method, args) else loaded
    return guarded(whole, model, device)


def _needs_one_length(
    node: CheckedNode[HuggingFaceOptions], model: Any, method: str, args: Mapping[str, Any]
) -> bool:
    """Whether lists of different lengths may not go through the model together: padding would change its answers."""
    lists = {
        port
        for port, column in _ports(node, model, method).items()
        if isinstance(type_ := node.inputs[column], Array) and type_.shape is None
    }
    if not lists:
        return False
    if not lists <= _MASKABLE or "input_ids" not in lists:
        return True
    if method == "generate" and model.config.is_encoder_decoder:
        return changes_ids(model, model.get_encoder(), _pad(model))
    if method == "generate":
        # What is written comes back behind the padding: an id that is none would be read as a word.
        has_padding = getattr(model.config.get_text_config(), "pad_token_id", None) is not None
        return not has_padding or counts_padding(model, args) or changes_ids(model, None, _pad(model))
    function = model if method == "forward" else getattr(model, method)
    return changes_ids(model, functools.partial(function, **args), _pad(model))


def _check_call(node: CheckedNode[HuggingFaceOptions], function: Any) -> None:
    """Ensures that what is called names the node's ports, and takes its ``inference_args``.

    Many functions of transformers take any argument, and leave alone what they do not know.
    """
    inputs, known = node.spec.inputs, inspect.signature(function).parameters
    for port in (inputs.ports if inputs is not None else None) or ():
        if port not in known:
            allowed = listed([name for name in known if name not in ("self", "args", "kwargs")])
            text = f"{function.__qualname__} takes no '{port}'{nearest(port, known)} (it takes: {allowed})"
            raise InvalidEnsemble([Problem(node.spec.path("inputs", port), "unknown_port", text)])
    try:
        inspect.signature(function).bind_partial(None, **member.inference_args(node))
    except TypeError as exc:
        text = f"{function.__qualname__} does not take these: {text_of(exc)}"
        raise InvalidEnsemble(
            [Problem(node.spec.path("inference_args"), "signature_mismatch", text)]
        ) from exc


def _model_class(node: CheckedNode[HuggingFaceOptions], transformers: Any) -> Any:
    name = str(node.options.model_class)
    found = import_name(node, "model_class", name)
    is_auto = isinstance(found, type) and found.__name__.startswith("AutoModel")
    if not isinstance(found, type) or not (is_auto or issubclass(found, transformers.PreTrainedModel)):
        text = f"'{name}' is not a model that from_pretrained loads"
        raise InvalidEnsemble([Problem(node.spec.path("model_class"), "bad_value", text)])
    return found


def _handler(
    node: CheckedNode[HuggingFaceOptions], beam: Any, model_class: Any, place: hub.Place, call: _Call
) -> Any:
    settings = member.config(node)
    loading = {
        **place.arguments, "use_safetensors": place.needs_safetensors, **settings.pop("load_model_args", {})
    }  # fmt: skip
    common = {"inference_fn": call, "load_model_args": loading, **settings}
    if node.spec.inputs is not None and node.spec.inputs.ports is None:
        handler = beam.HuggingFaceModelHandlerTensor(place.name, model_class, "CPU", **common)
    else:
        handler = beam.HuggingFaceModelHandlerKeyedTensor(place.name, model_class, "pt", "CPU", **common)
    return handler


@dataclasses.dataclass(frozen=True, slots=True)
class _Call:
    """Beam's ``inference_fn``: the batch is one mapping of arrays, the answer one mapping of arrays.

    Attributes:
        method: The model's method to call.
        result: Beam's class of a prediction.
    """

    method: str
    result: Any

    def __call__(self, batch: list[Any], model: Any, _: Any, args: dict[str, Any], uri: str) -> list[Any]:
        import torch

        inputs, seeds = parted_seeds(batch[0])
        given = {name: _tensor(torch, values, model) for name, values in inputs.items()}
        function = model if self.method == "forward" else getattr(model, self.method)
        with torch.inference_mode(), drawing(seeds):
            first = [given.pop(_ONE)] if _ONE in given else []
            answer = function(*first, **given, **args)
        return [self.result(batch[0], _named(answer, self.method))]


def _tensor(torch: Any, values: Values, model: Any) -> Any:
    """Puts an array where the model is, fractions in the model's own type."""
    found = torch.tensor(values, device=model.device)
    return found.to(model.dtype) if found.is_floating_point() else found


def _named(answer: Any, method: str) -> dict[str, Any]:
    """Returns what a model returned by name: the fields of its output, or ``sequences`` and the like for one tensor."""
    if hasattr(answer, "items"):
        return dict(answer.items())
    return {"sequences" if method == "generate" else "output": answer}


def _ports(node: CheckedNode[HuggingFaceOptions], model: Any, method: str) -> dict[str, str]:
    """Returns the column of each argument; the only column of a list is the model's first argument."""
    inputs, names = node.spec.inputs, node.spec.columns
    if inputs is not None and inputs.ports is not None:
        return dict(zip(inputs.ports, inputs.columns, strict=True))
    if len(names) > 1:
        return {}
    first = list(inspect.signature(type(model).forward).parameters)[1:2]
    is_main = method in ("forward", "generate") and first == [model.main_input_name]
    return {model.main_input_name if is_main else _ONE: names[0]}


def _pad(model: Any) -> int:
    return getattr(model.config.get_text_config(), "pad_token_id", None) or 0


def _reader(
    node: CheckedNode[HuggingFaceOptions], model: Any, method: str
) -> Callable[[Columns], Mapping[str, Any]]:
    ports, pad = _ports(node, model, method), _pad(model)
    writes_on = method == "generate" and not model.config.is_encoder_decoder

    def read(columns: Columns) -> Mapping[str, Any]:
        given = {port: columns[column] for port, column in ports.items()} or {
            _ONE: join(columns, node.spec.columns)
        }
        return {**padded(given, pad, left=writes_on), **seeds_of(node, columns)}

    return read


def _columns(node: CheckedNode[HuggingFaceOptions], answer: Mapping[str, Any], rows: int) -> Columns:
    answers = {}
    for output in node.spec.outputs:
        port = output.port or (output.column if output.column in answer else None)
        if port is None and len(answer) == 1:
            port = next(iter(answer))
        wanted = port or output.column
        if wanted not in answer or not hasattr(answer[wanted], "detach"):
            found = listed([name for name, value in answer.items() if hasattr(value, "detach")])
            raise NodeError(
                "bad_output", f"the model returned no '{wanted}' for '{output.column}' (it returned: {found})"
            )
        answers[output.column] = _array(answer[wanted])
    return to_columns(node, answers, rows)


def _array(tensor: Any) -> Values:
    found = tensor.detach().cpu()
    values: Values = (found.float() if str(found.dtype) == "torch.bfloat16" else found).numpy()
    return values
