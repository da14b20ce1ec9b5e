"""A handler of Beam's for libraries that Beam has none of its own for: a batch is one item, its answer another."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import InvalidEnsemble, NodeError, Problem
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.support.member import config, not_installed


def library_of(node: CheckedNode, name: str, extra: str = "") -> Any:
    """Imports a library.

    Args:
        node: The node that needs it.
        name: Its module.
        extra: The extra of this distribution that installs it; empty for its own name.

    Raises:
        InvalidEnsemble: ``not_installed``: it is not there. ``load_failed``: importing it fails otherwise.
    """
    try:
        with inference_imports.patient_openmp():
            return importlib.import_module(name)
    except ImportError as exc:
        raise not_installed(node, extra or name, exc) from exc
    except Exception as exc:
        text = f"importing {name} raises {NodeError.of(exc).message}"
        raise InvalidEnsemble([Problem(node.spec.path(node.spec.kind), "load_failed", text)]) from exc


def handler_of(
    node: CheckedNode, load: Callable[[], Any], call: Callable[[Any, Any, Mapping[str, Any]], Any]
) -> Any:
    """Returns a handler that loads a model and calls it with batches.

    Args:
        node: The node.
        load: Returns the model.
        call: Takes a batch, the model and the node's ``inference_args``; returns its answer.
    """
    base = inference_imports.import_base()

    class LibraryModelHandler(base.ModelHandler):  # type: ignore[misc, name-defined]
        """Beam's handler of a library's model."""

        def load_model(self) -> Any:
            return load()

        def run_inference(
            self, batch: Sequence[Any], model: Any, inference_args: Mapping[str, Any] | None = None
        ) -> list[Any]:
            return [base.PredictionResult(one, call(one, model, inference_args or {})) for one in batch]

        def validate_inference_args(self, inference_args: Mapping[str, Any] | None) -> None:
            """Takes any; the node's check knows them."""

    return LibraryModelHandler(**config(node))
