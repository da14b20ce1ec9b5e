"""PyTorch: weights with the class that they belong to, TorchScript, exported programs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

from beam_ensembles.errors import (
    InvalidEnsemble,
    Problem,
)
from beam_ensembles.files.ensemble_files import Files, local_path
from beam_ensembles.graph.kinds import ROWS_OF_A_CALL, CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.handlers.pytorch.answer_parts import columns_of
from beam_ensembles.handlers.pytorch.call import check_callable, given_of
from beam_ensembles.handlers.pytorch.device import module_of
from beam_ensembles.handlers.pytorch.embedding_guard import guarded
from beam_ensembles.handlers.pytorch.export import read_program
from beam_ensembles.handlers.pytorch.files import EXPORT, SAFETENSORS, STATE_DICT, runs_code
from beam_ensembles.handlers.pytorch.loading import ExportedModel, make_handler, settled_format
from beam_ensembles.handlers.pytorch.options import PytorchOptions
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.bad_model_files import read_or_report
from beam_ensembles.handlers.support.beam_config import (
    HONOURED,
    REFUSED,
    check_config,
)
from beam_ensembles.handlers.support.importing import check_import, check_modules, import_modules
from beam_ensembles.handlers.support.library_models import check_params
from beam_ensembles.handlers.support.model_file import check_file, check_trust
from beam_ensembles.handlers.support.ragged_lists import by_length
from beam_ensembles.handlers.support.signature_checks import check_signature
from beam_ensembles.handlers.support.signatures import (
    Signature,
)
from beam_ensembles.spec.places import below
from beam_ensembles.types import Array, Scalar, Type

_BY_NODE: Final = "'uri' and 'format' of the node say where the model is and how it was saved"
_LIBRARY: Final = ("torch.nn.*", "torchvision.models.*")
CONFIG_REFUSED: Final = {
    **REFUSED,
    "state_dict_path": _BY_NODE,
    "torch_script_model_path": _BY_NODE,
    "model_class": "it stands on the node itself",
    "model_params": "it stands on the node itself",
    "device": "it stands on the node itself",
    "load_model_args": "'weights_only' of the node says how a state dict is read",
}


class PytorchKind(Kind[PytorchOptions]):
    """Runs a PyTorch model through Beam's ``PytorchModelHandlerTensor`` or ``PytorchModelHandlerKeyedTensor``."""

    kind = "model"
    name = "pytorch"
    summary = (
        "Runs a PyTorch model: a state dict with its class, safetensors, TorchScript, an exported program."
    )
    takes = (
        "A list of columns is one tensor, the model's first argument; a mapping, {argument: column}, makes "
        "keyed tensors."
    )
    gives = (
        "A tensor is output, a tuple's items are output_0, output_1, ...; fields of all else go by their "
        "names, boxes or output_1.boxes."
    )
    extra = "pytorch"
    modules = ("torch",)
    work = Work.ALL_CORES
    call_rows = ROWS_OF_A_CALL
    options = PytorchOptions

    def check(self, node: NodeView[PytorchOptions]) -> Mapping[str, Type | None]:
        """Checks all but the model's code: the format of its file, and of a program what it takes and gives."""
        place = check_file(node)
        path = None if place is None else local_path(place)
        format_ = node.options.format if path is None else _format(node, path)
        if place is not None and format_ is not None:
            if runs_code(format_, weights_only=node.options.reads_weights_only):
                check_trust(node, place)
            _check_class(node, format_)
        name = node.options.model_class
        if name is not None:
            check_import(node, "model_class", name, library=_LIBRARY)
            check_params(node, node.options.model_params, name, place)
        check_config(node, HONOURED, CONFIG_REFUSED)
        check_modules(node)
        _check_numbers(node)
        return check_signature(node, _signature(node, path) if format_ == EXPORT and path else None)

    def is_tried(self, node: CheckedNode[PytorchOptions]) -> bool:
        """Whether its model gives no texts."""
        return node.options.method != "generate"

    def load(self, node: CheckedNode[PytorchOptions]) -> Member:
        """Loads the model and compares it with the node."""
        beam = member.handlers_of(node, "pytorch_inference", "pytorch")
        import_modules(node)
        handler, model = member.load(node, functools.partial(make_handler, node, beam))
        signature = None
        if isinstance(model, ExportedModel):
            signature = model.program.signature
            _compare(node, signature)
        else:
            check_callable(node, model, node.options.method)
        run = member.BeamMember(
            handler,
            model,
            member.inference_args(node),
            read=functools.partial(given_of, node, signature),
            write=functools.partial(columns_of, node),
            per_row=member.is_per_row(node),
        )
        return guarded(by_length(node, run, signature), module_of(model), handler._device)


def _format(node: NodeView[PytorchOptions], path: str) -> str | None:
    """Finds how a local model was saved, and reports a file that is none (``bad_model_file``)."""
    return read_or_report(node, path, functools.partial(settled_format, node.options))


def _signature(node: NodeView[PytorchOptions], path: str) -> Signature | None:
    return read_or_report(node, path, lambda local: read_program(local).signature)


def _check_class(node: NodeView[PytorchOptions], format_: str) -> None:
    """Reports weights without a class, and what only weights or only models take."""
    options = node.options
    if format_ in (STATE_DICT, SAFETENSORS):
        if options.model_class is None:
            text = f"a {format_} holds weights alone: name the class, such as torchvision.models.resnet18"
            node.problem("missing_key", "model_class", text)
        return
    of_weights = {
        "model_class": options.model_class,
        "model_params": options.model_params,
        "weights_only": options.weights_only,
    }
    for key, value in of_weights.items():
        if value is not None:
            text = f"the file is that of a {format_}, which holds its code itself; leave '{key}' out"
            node.problem("bad_value", key, text)
    if format_ == EXPORT and options.dtype is not None:
        text = "an exported program computes in the types that it was exported with; leave 'dtype' out"
        node.problem("bad_value", "dtype", text)
    if format_ == EXPORT and options.method is not None:
        node.problem("bad_value", "method", "an exported program has no methods; leave 'method' out")


def _check_numbers(node: NodeView[PytorchOptions]) -> None:
    """Reports columns that hold text or bytes: tensors hold numbers."""
    ports = node.spec.inputs.ports if node.spec.inputs is not None else None
    for index, column in enumerate(node.spec.columns):
        type_ = node.inputs.get(column)
        element = type_
        while isinstance(element, Array):
            element = element.element
        if isinstance(element, Scalar) and element.name in ("string", "bytes"):
            place = f"inputs[{index}]" if ports is None else below("inputs", ports[index])
            node.problem("type_mismatch", place, f"'{column}' is {type_}; a PyTorch model takes numbers")


def _compare(node: CheckedNode[PytorchOptions], signature: Signature) -> None:
    problems: list[Problem] = []
    check_signature(NodeView(node.spec, node.options, node.inputs, Files(), problems.append), signature)
    if problems:
        raise InvalidEnsemble(problems)
