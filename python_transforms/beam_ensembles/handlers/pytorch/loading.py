"""Beam's handler of a PyTorch model, for each way in which one is saved.

Beam's handlers run the models, and load none of them: their loader knows state dicts and TorchScript only, and takes
the CPU without an error where a GPU cannot hold a model.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pickle
import warnings
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
    Problem,
)
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.pytorch.call import infer
from beam_ensembles.handlers.pytorch.device import loaded_on_device
from beam_ensembles.handlers.pytorch.export import Program, read_program
from beam_ensembles.handlers.pytorch.files import (
    EXPORT,
    MODULE,
    SAFETENSORS,
    STATE_DICT,
    TORCHSCRIPT,
    format_of,
    runs_code,
)
from beam_ensembles.handlers.pytorch.options import PytorchOptions
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.bad_model_files import refused
from beam_ensembles.handlers.support.importing import import_name
from beam_ensembles.handlers.support.library_models import arguments as arguments_of
from beam_ensembles.handlers.support.library_models import makes_a_model

_LIBRARIES: Final = ("torch", "transformers")


class ExportedModel:
    """An exported program, called with its tensors by name.

    Args:
        program: What its file says about it.
        exported: The program as PyTorch loaded it.
    """

    def __init__(self, program: Program, exported: Any) -> None:
        self.program = program
        self.module = exported.module()
        positional, named = exported.example_inputs
        examples = dict(zip(program.names, [*positional, *named.values()], strict=True))
        inputs = [port.name for port in program.signature.inputs]
        self.dtypes = {name: examples[name].dtype for name in inputs}
        """The dtype of each input."""
        self._constants = {name: value for name, value in examples.items() if name not in inputs}

    def __call__(self, **tensors: Any) -> Any:
        """Runs the program."""
        given = {**self._constants, **tensors}
        values = [given[name] for name in self.program.names]
        named = dict(zip(self.program.names, values, strict=True))
        at = self.program.positional
        return self.module(*values[:at], **{name: named[name] for name in self.program.names[at:]})

    forward = __call__


def make_handler(node: CheckedNode[PytorchOptions], beam: Any, place: str) -> Any:
    """Creates Beam's handler of a node's model.

    Args:
        node: The node.
        beam: Beam's ``pytorch_inference``.
        place: The model's file on this machine.

    Raises:
        InvalidEnsemble: The file is of another format than the node says, or may not be loaded.
    """
    options = node.options
    format_ = _format(node, place)
    is_keyed = format_ == EXPORT or (node.spec.inputs is not None and node.spec.inputs.ports is not None)
    make = beam.PytorchModelHandlerKeyedTensor if is_keyed else beam.PytorchModelHandlerTensor
    arguments: dict[str, Any] = {"torch_script_model_path": place}
    if format_ in (STATE_DICT, SAFETENSORS):
        made = model_class(node)
        arguments = {
            "state_dict_path": place,
            "model_class": made,
            "model_params": arguments_of(node, options.model_params, made, str(options.model_class)),
        }
    if format_ == SAFETENSORS:
        _need_safetensors(node)
    handler = make(
        **arguments,
        device="CPU",
        inference_fn=functools.partial(infer, options.method, beam.PredictionResult),
        **member.config(node),
    )
    load = functools.partial(_LOADERS[format_], node, place, arguments)

    def load_model() -> Any:
        model, handler._device = loaded_on_device(node, load)
        return model

    handler.load_model = load_model
    return handler


def _need_safetensors(node: CheckedNode[PytorchOptions]) -> None:
    try:
        importlib.import_module("safetensors.torch")
    except ImportError as exc:
        raise member.not_installed(node, "pytorch", exc) from exc


def _format(node: CheckedNode[PytorchOptions], place: str) -> str:
    """Finds how the model was saved, and refuses what may not be loaded: its place may have been far away before."""
    options = node.options
    with refused(node, place):
        format_ = settled_format(options, place)
    is_vouched = options.sha256 is not None or node.is_trusted
    if runs_code(format_, weights_only=options.reads_weights_only) and not is_vouched:
        text = (
            f"loading '{node.uri}' runs the code in it, but it is neither pinned nor trusted; "
            "pin it with 'sha256: <its digest>' on the node, or trust its folder (start with --trust FOLDER)"
        )
        raise InvalidEnsemble([Problem(node.spec.path("uri"), "untrusted_file", text)])
    return format_


def settled_format(options: PytorchOptions, place: str) -> str:
    """Returns how a local model was saved.

    Args:
        options: The node's own keys.
        place: The file.

    Raises:
        ModelFormatError: It is not a model of PyTorch's, or not of the node's ``format``.
        OSError: It cannot be read.
    """
    wanted = options.format
    has_class = options.model_class is not None
    found = format_of(place, has_class=has_class if wanted is None else wanted == STATE_DICT)
    if wanted is not None and wanted != found:
        raise ModelFormatError(f"the node says 'format: {wanted}', but the file is that of a {found}")
    return found


def model_class(node: CheckedNode[PytorchOptions]) -> Any:
    """Imports a node's class, or the function that makes the model.

    Of PyTorch and transformers only classes of modules are taken, of torchvision also the functions that it lists as
    models: other functions of theirs run code of files, or read and fetch files.

    Raises:
        InvalidEnsemble: ``import_failed``: there is none such on this worker, or it makes no model.
    """
    import torch

    name = node.options.model_class
    if name is None:
        text = f"'{node.uri}' holds weights alone: name the class that they belong to"
        raise InvalidEnsemble([Problem(node.spec.path("model_class"), "missing_key", text)])
    found = import_name(node, "model_class", name)
    is_module = inspect.isclass(found) and issubclass(found, torch.nn.Module)
    is_maker = (
        inspect.isfunction(found) and name.partition(".")[0] not in _LIBRARIES and makes_a_model(found, name)
    )
    if not is_module and not is_maker:
        text = f"'{name}' is neither a class of torch.nn.Module nor a function of yours that makes one"
        raise InvalidEnsemble([Problem(node.spec.path("model_class"), "import_failed", text)])
    return found


def _weights(node: CheckedNode[PytorchOptions], place: str, arguments: Mapping[str, Any], device: Any) -> Any:
    """Loads a state dict, and says plainly where it holds more than weights."""
    import torch

    try:
        weights = torch.load(place, map_location="cpu", weights_only=node.options.reads_weights_only)
    except pickle.UnpicklingError as exc:
        raise ValueError(
            "the file holds more than weights; save the state dict alone, or set 'weights_only: false', which runs "
            "the code in the file and needs it pinned by 'sha256' or in a trusted folder"
        ) from exc
    return _filled(node, arguments, weights, device)


def _safetensors(
    node: CheckedNode[PytorchOptions], place: str, arguments: Mapping[str, Any], device: Any
) -> Any:
    import safetensors.torch

    return _filled(node, arguments, safetensors.torch.load_file(place), device)


def _filled(
    node: CheckedNode[PytorchOptions], arguments: Mapping[str, Any], weights: Any, device: Any
) -> Any:
    model = arguments["model_class"](**arguments["model_params"])
    model.load_state_dict(weights)
    return _ready(node, model, device)


def _script(node: CheckedNode[PytorchOptions], place: str, arguments: Mapping[str, Any], device: Any) -> Any:
    """Loads TorchScript, without PyTorch's warning that it will be gone one day."""
    import torch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit.load.*deprecated")
        load: Any = torch.jit.load
        return _ready(node, load(place, map_location="cpu"), device)


def _module(node: CheckedNode[PytorchOptions], place: str, arguments: Mapping[str, Any], device: Any) -> Any:
    import torch

    model = torch.load(place, map_location="cpu", weights_only=False)
    if not isinstance(model, torch.nn.Module):
        raise TypeError(
            f"the file holds a {type(model).__name__}; with 'model_class' weights of one are loaded"
        )
    return _ready(node, model, device)


def _ready(node: CheckedNode[PytorchOptions], model: Any, device: Any) -> Any:
    """Does what Beam does with a model once it has its weights; these are converted before they are moved."""
    import torch

    for weight in model.parameters():  # TorchScript's modules have no requires_grad_
        weight.requires_grad_(False)
    if node.options.dtype is not None:
        model = model.to(getattr(torch, node.options.dtype))
    return model.to(device).eval()


def _exported(
    node: CheckedNode[PytorchOptions], place: str, arguments: Mapping[str, Any], device: Any
) -> Any:
    import torch
    from torch.export.passes import move_to_device_pass

    program = read_program(place)
    exported = torch.export.load(place)
    if device.type != "cpu":
        exported = move_to_device_pass(exported, str(device))
    return ExportedModel(program, exported)


_LOADERS: Final = {
    STATE_DICT: _weights,
    SAFETENSORS: _safetensors,
    TORCHSCRIPT: _script,
    EXPORT: _exported,
    MODULE: _module,
}
