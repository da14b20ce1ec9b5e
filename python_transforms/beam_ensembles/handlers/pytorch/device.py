"""Where a PyTorch model runs: it is loaded on the CPU, moved, and looked for where it should be.

Beam's loader (2.77) takes the CPU after any ``RuntimeError`` of CUDA, which out of memory is one of; so it is not used
here. ``device: gpu`` never ends on the CPU. ``auto`` does, with a warning, where the GPU cannot hold the model.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from beam_ensembles.errors import EnsembleError, InvalidEnsemble, Problem
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.support.beam_config import DeviceOptions
from beam_ensembles.handlers.support.member import no_gpu_for_device
from beam_ensembles.messages.device_errors import is_device_error, is_out_of_memory
from beam_ensembles.messages.foreign_errors import described

_LOGGER: Final = logging.getLogger(__name__)
Load: TypeAlias = Callable[[Any], Any]
"""Loads a model and puts it on the device that it is given, a ``torch.device``."""


def loaded_on_device(node: CheckedNode[DeviceOptions], load: Load) -> tuple[Any, Any]:
    """Loads a node's model where the node says.

    Args:
        node: The node.
        load: Loads it; called once more, for the CPU, where a GPU that ``auto`` takes cannot hold the model.

    Returns:
        The model and the ``torch.device`` that it is on.

    Raises:
        InvalidEnsemble: ``no_gpu``: the node asks for a GPU and this worker has none. ``load_failed``: the GPU cannot
            hold the model, or the model is not on it.
    """
    import torch

    wanted = wanted_device(node)
    if wanted.type != "cpu":
        model, why = _try(load, wanted)
        if not why:
            _LOGGER.info("node '%s' runs on %s", node.spec.name, wanted)
            return model, wanted
        del model
        torch.cuda.empty_cache()  # here, where no traceback holds what was loaded any more
        if node.options.device == "gpu":
            text = f"the model cannot run on the GPU: {why}; free memory there, or set 'device: auto' to do without"
            raise InvalidEnsemble([Problem(node.spec.path("device"), "load_failed", text)])
        _LOGGER.warning(
            "node '%s' runs on the CPU: %s (with 'device: gpu' it would not load)", node.spec.name, why
        )
    here = torch.device("cpu")
    return load(here), here


def _try(load: Load, wanted: Any) -> tuple[Any, str]:
    """Loads a model on a device; returns it, and why that device cannot run it."""
    try:
        model = load(wanted)
    except Exception as error:
        if isinstance(error, EnsembleError) or not is_device_error(error):
            raise
        text = "its memory does not hold the model" if is_out_of_memory(error) else "it fails"
        return None, f"{text} ({described(error)})"
    elsewhere = _elsewhere(model, wanted)
    return model, "" if elsewhere is None else f"the weight '{elsewhere}' stays elsewhere"


def wanted_device(node: CheckedNode[DeviceOptions]) -> Any:
    """Returns the ``torch.device`` that a node asks for; ``auto`` takes a GPU where there is one.

    Raises:
        InvalidEnsemble: ``no_gpu``: the node asks for a GPU and this worker has none.
    """
    import torch

    wanted = node.options.device
    has_gpu = torch.cuda.is_available()
    if wanted == "gpu" and not has_gpu:
        raise no_gpu_for_device(node, "PyTorch finds no CUDA device")
    return gpu() if has_gpu and wanted != "cpu" else torch.device("cpu")


def gpu() -> Any:
    """Returns the GPU of this process: the first one that ``CUDA_VISIBLE_DEVICES`` lets it see."""
    import torch

    return torch.device("cuda")


def _elsewhere(model: Any, wanted: Any) -> str | None:
    """Returns the name of a weight that is not on a device; None where all are."""
    module = module_of(model)
    weights = itertools.chain(module.named_parameters(), module.named_buffers())
    return next((name for name, one in weights if one.device.type != wanted.type), None)


def module_of(model: Any) -> Any:
    """Returns the module of an exported program or of a pipeline."""
    import torch

    if isinstance(model, torch.nn.Module):
        return model
    return getattr(model, "module", None) or model.model
