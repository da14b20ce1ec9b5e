"""A model behind Beam's own handler, called with a whole batch at once.

Beam's handlers take a list of examples and pair each with its prediction, which costs more than many models.
Their ``inference_fn`` is the seam: here the list holds one example, the batch, and the function calls the
model on it. Loading, environment variables and the check of ``inference_args`` are Beam's.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import EnsembleError, InvalidEnsemble, NodeError, Problem
from beam_ensembles.graph import shared_options
from beam_ensembles.graph.class_meanings import Meaning
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.support.beam_config import arguments_of, config_of
from beam_ensembles.handlers.support.library_versions import Versions
from beam_ensembles.handlers.support.load_failures import reason
from beam_ensembles.handlers.support.model_file import PinOptions, verified
from beam_ensembles.handlers.support.model_formats import other_kind
from beam_ensembles.handlers.support.unknown_categories import UnknownCategories
from beam_ensembles.messages.foreign_errors import text_of


@dataclasses.dataclass(frozen=True, slots=True)
class BeamMember:
    """A loaded model node.

    Attributes:
        handler: Beam's handler, made with an ``inference_fn`` that takes a list of one batch.
        model: What its ``load_model`` gave.
        inference_args: The node's arguments of each call.
        read: Makes the model's argument of the columns.
        write: Makes the output columns of the model's answer and the number of rows (``results.to_columns``).
        per_row: Whether the model is called once per row, with the row's lists as its batch.
        meanings: What the model knows of its columns.
    """

    handler: Any
    model: Any
    inference_args: dict[str, Any]
    read: Callable[[Columns], Any]
    write: Callable[[Any, int], Columns]
    per_row: bool = False
    meanings: Mapping[str, Meaning] = dataclasses.field(default_factory=dict)

    def __call__(self, columns: Columns) -> Columns:
        """Runs the model once on all rows, or once on each."""
        rows = len(next(iter(columns.values())))
        if not self.per_row:
            return self._run(columns, rows)
        parts = [self._run_row(columns, at) for at in range(rows)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _run_row(self, columns: Columns, at: int) -> Columns:
        try:
            return self._run(_batch_of_row(columns, at), 1)
        except UnknownCategories as error:  # its positions are those within the row
            raise UnknownCategories.of_rows({at: error.faults[min(error.faults)]}) from error

    def _run(self, columns: Columns, rows: int) -> Columns:
        (result,) = self.handler.run_inference([self.read(columns)], self.model, self.inference_args)
        return self.write(result.inference, rows)


def _batch_of_row(columns: Columns, at: int) -> Columns:
    """Returns one row's columns as a batch: the items of its lists; a tensor, a number or a text is a batch of one."""
    return {
        name: _items(values[at])
        if values.dtype == object and isinstance(values[at], list)
        else values[at : at + 1]
        for name, values in columns.items()
    }


def _items(value: list[Any]) -> Any:
    if value and isinstance(value[0], str | bytes | dict):
        return np.fromiter(value, dtype=object, count=len(value))
    try:
        return np.asarray(value)
    except ValueError:
        return np.fromiter(value, dtype=object, count=len(value))


def handlers_of(node: CheckedNode, module: str, extra: str) -> Any:
    """Imports the module of Beam that holds a framework's handlers.

    Args:
        node: The node that needs it.
        module: The module's name within ``apache_beam.ml.inference``.
        extra: The extra of this distribution that installs the framework.

    Raises:
        InvalidEnsemble: ``not_installed``: the framework is not there; the message says how to install it.
            ``load_failed``: importing it fails otherwise, for want of a library or by what the environment says.
    """
    try:
        return inference_imports.import_handlers(module)
    except ImportError as exc:
        raise not_installed(node, extra, exc) from exc
    except Exception as exc:
        text = f"importing {extra} raises {NodeError.of(exc).message}"
        raise InvalidEnsemble([Problem(node.spec.path(node.spec.kind), "load_failed", text)]) from exc


def not_installed(node: CheckedNode, extra: str, error: ImportError) -> EnsembleError:
    """Returns the error that a worker lacks what a node needs, and how it is installed."""
    text = f"this worker lacks {extra} ({text_of(error)}); install it with: pip install 'beam-ensembles[{extra}]'"
    return InvalidEnsemble([Problem(node.spec.path(node.spec.kind), "not_installed", text)])


def no_gpu(node: CheckedNode, key: str, reason: str) -> InvalidEnsemble:
    """Returns the error that a worker has no GPU that a node could use; ``key`` is the node's key that asks for one."""
    text = f"this worker has no usable GPU: {reason}"
    return InvalidEnsemble([Problem(node.spec.path(key), "no_gpu", text)])


def no_gpu_for_device(node: CheckedNode, reason: str) -> InvalidEnsemble:
    """Returns the same of a node with ``device: gpu``, which may do without."""
    return no_gpu(node, "device", f"{reason}; set 'device: auto' to do without")


def load(
    node: CheckedNode[PinOptions],
    make: Callable[[str], Any],
    *,
    folders: bool = False,
    versions: Versions | None = None,
) -> tuple[Any, Any]:
    """Loads a node's model through Beam's handler.

    Args:
        node: The node.
        make: Makes the handler for the place of the model's file on this machine.
        folders: Whether a model of this kind may be a folder.
        versions: Takes what is found out about the versions that the model was saved with.

    Returns:
        The handler and the model.

    Raises:
        InvalidEnsemble: The file is not the pinned one, or it cannot be loaded (``load_failed``), or the handler
            refuses the node's ``inference_args``.
    """
    versions, hint = versions or Versions(), ""
    try:
        with verified(node, folders=folders) as place:
            try:
                handler = make(place)
                handler.validate_inference_args(inference_args(node))
                handler.set_environment_vars()
                with versions.noted(f"'{node.uri}'"):
                    return handler, handler.load_model()
            except EnsembleError:
                raise
            except Exception as exc:
                versions.find(place, exc)
                hint = other_kind(node.spec.target, place)
                raise
    except EnsembleError:
        raise
    except Exception as exc:  # a model's file can fail to load in any way
        text = versions.behind(f"cannot load '{node.uri}' as {node.spec.target}: {reason(exc)}{hint}")
        raise InvalidEnsemble([Problem(node.spec.path("uri"), "load_failed", text)]) from exc


def check_call(node: CheckedNode, function: Any) -> None:
    """Ensures that what is called on a model takes the node's ``inference_args``.

    Raises:
        InvalidEnsemble: It does not.
    """
    try:
        inspect.signature(function).bind(None, **inference_args(node))
    except TypeError as exc:
        text = f"{getattr(function, '__qualname__', 'the model')} does not take these: {text_of(exc)}"
        problem = Problem(node.spec.path("inference_args"), "signature_mismatch", text)
        raise InvalidEnsemble([problem]) from exc


def inference_args(node: CheckedNode) -> dict[str, Any]:
    """Returns the arguments of each call of a node's model."""
    return dict(arguments_of(node.options))


def config(node: CheckedNode) -> dict[str, Any]:
    """Returns the keyword arguments for Beam's handler of a node, without those that its loading honours by itself."""
    return {
        name: value
        for name, value in config_of(node.options).items()
        if name not in ("large_model", "model_copies")
    }


def is_per_row(node: CheckedNode) -> bool:
    """Returns whether a node's model is called once per row."""
    return shared_options.is_per_row(node.options)
