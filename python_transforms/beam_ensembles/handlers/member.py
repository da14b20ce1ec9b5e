"""A model behind Beam's own handler, called with a whole batch at once.

Beam's handlers take a list of examples and pair each with its prediction, which costs more than many models.
Their ``inference_fn`` is the seam: here the list holds one example, the batch, and the function calls the
model on it. Loading, environment variables and the check of ``inference_args`` are Beam's.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from beam_ensembles.errors import EnsembleError, InvalidEnsemble, Problem
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers import beam_compat
from beam_ensembles.handlers.model_file import verified


@dataclasses.dataclass(frozen=True, slots=True)
class BeamMember:
    """A loaded model node.

    Attributes:
        handler: Beam's handler, made with an ``inference_fn`` that takes a list of one batch.
        model: What its ``load_model`` gave.
        inference_args: The node's arguments of each call.
        read: Makes the model's argument of the columns.
        write: Makes the output columns of the model's answer and the number of rows.
    """

    handler: Any
    model: Any
    inference_args: dict[str, Any]
    read: Callable[[Columns], Any]
    write: Callable[[Any, int], Columns]

    def __call__(self, columns: Columns) -> Columns:
        """Runs the model once on all rows."""
        rows = len(next(iter(columns.values())))
        (result,) = self.handler.run_inference([self.read(columns)], self.model, self.inference_args)
        return self.write(result.inference, rows)


def handlers_of(node: CheckedNode, module: str, extra: str) -> Any:
    """Imports the module of Beam that holds a framework's handlers.

    Args:
        node: The node that needs it.
        module: The module's name within ``apache_beam.ml.inference``.
        extra: The extra of this distribution that installs the framework.

    Raises:
        EnsembleError: The framework is not installed here; the message says how to install it.
    """
    try:
        return beam_compat.import_handlers(module)
    except ImportError as exc:
        raise EnsembleError(
            f"{node.spec.path()} needs {extra}, which this worker does not have ({exc}): "
            f"pip install 'beam-ensembles[{extra}]'"
        ) from exc


def load(node: CheckedNode, make: Callable[[str], Any]) -> tuple[Any, Any]:
    """Loads a node's model through Beam's handler.

    Args:
        node: The node.
        make: Makes the handler for the place of the model's file.

    Returns:
        The handler and the model.

    Raises:
        InvalidEnsemble: The file is not the pinned one.
        EnsembleError: The file cannot be loaded, or the handler refuses the node's ``inference_args``.
    """
    try:
        with verified(node) as place:
            handler = make(place)
            handler.validate_inference_args(inference_args(node))
            handler.set_environment_vars()
            return handler, handler.load_model()
    except EnsembleError:
        raise
    except Exception as exc:  # a model's file can fail to load in any way
        what = f"cannot load '{node.uri}' as {node.spec.target}"
        raise EnsembleError(f"{node.spec.path('uri')}: {what}: {type(exc).__name__}: {exc}") from exc


def check_call(node: CheckedNode, function: Any) -> None:
    """Makes sure that what is called on a model takes the node's ``inference_args``.

    Raises:
        InvalidEnsemble: It does not.
    """
    try:
        inspect.signature(function).bind(None, **inference_args(node))
    except TypeError as exc:
        text = f"{getattr(function, '__qualname__', 'the model')} does not take these: {exc}"
        problem = Problem(node.spec.path("inference_args"), "signature_mismatch", text)
        raise InvalidEnsemble([problem]) from exc


def inference_args(node: CheckedNode) -> dict[str, Any]:
    """Gives the arguments of each call of a node's model."""
    return dict(node.spec.options.get("inference_args") or {})


def config(node: CheckedNode) -> dict[str, Any]:
    """Gives the keyword arguments for Beam's handler of a node."""
    return dict(node.spec.options.get("config") or {})
