"""An ensemble as a plain ``ModelHandler``, for Beam's own RunInference and ``KeyedModelHandler``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.columns.rows import ObjectRows
from beam_ensembles.errors import InvalidEnsemble, NodeError, Problem, listed
from beam_ensembles.execution.growing_stage import Stage, load_stage
from beam_ensembles.execution.loaded_stage import StageCode
from beam_ensembles.graph.planning import needs_stages
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.batching import DEFAULT_BATCH_SIZE
from beam_ensembles.runtime.loading import graph_of_file
from beam_ensembles.runtime.row_source import ScoredColumns, score

base = inference_imports.import_base()


class InferenceError(NodeError):
    """Stands for the inference of a row that could not be scored.

    Args:
        node: The node that failed; empty where the row itself was not as declared.
        code: The failure's code.
        message: The failure's message.
        stack: The traceback of the model's own code, or empty.
    """

    def __init__(self, node: str, code: str, message: str, stack: str = "") -> None:
        super().__init__(code, message, stack=stack)
        self.node = node

    def __reduce__(self) -> tuple[Any, ...]:
        return InferenceError, (self.node, self.code, self.message, self.stack)


class EnsembleModelHandler(base.ModelHandler):  # type: ignore[misc, name-defined]
    """Runs an ensemble under Beam's own RunInference: rows or mappings in, a ``PredictionResult`` a row out, in order.

    The inference is a ``beam.Row`` of the ensemble's outputs, or an ``InferenceError`` for a row that could not be
    scored. Beam's own batching loses the event time of rows; ``RunEnsemble`` keeps it:

        rows | RunInference(EnsembleModelHandler("digits.yaml"))
        pairs | RunInference(KeyedModelHandler(EnsembleModelHandler("digits.yaml")))

    Args:
        file: The ensemble file, YAML or JSON.
        parameters: Values of ``${name}`` in the file.
        trust: Folders whose pickles may be loaded without a ``sha256``; the file's own folder where not given.
        min_batch_size: Rows a batch, at least, as far as there are any.
        max_batch_size: Rows a batch, at most.

    Raises:
        InvalidEnsemble: The file is wrong; everything that is wrong is reported at once.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        parameters: Mapping[str, str] | None = None,
        trust: Sequence[str] | None = None,
        min_batch_size: int = 64,
        max_batch_size: int = DEFAULT_BATCH_SIZE,
    ) -> None:
        super().__init__(min_batch_size=min(min_batch_size, max_batch_size), max_batch_size=max_batch_size)
        graph = graph_of_file(file, parameters=parameters, trust=trust)
        apart = needs_stages(graph)
        if apart:
            text = (
                f"{listed(apart)} asks for a stage of its own, and RunInference is one stage; use RunEnsemble"
            )
            raise InvalidEnsemble(
                [Problem(f"nodes.{apart[0]}", "several_stages", text)], ensemble=graph.spec.name
            )
        added = tuple(name for name, _ in graph.outputs)
        inputs = tuple((name, name, type_) for name, type_ in graph.columns_read)
        self._code = StageCode(
            graph.spec.name,
            graph.nodes,
            inputs,
            graph.outputs,
            ObjectRows((), added),
            truncated=graph.spec.truncated,
            profile=graph.profile,
        )

    def load_model(self) -> Stage:
        """Loads every member of the ensemble."""
        return load_stage(self._code, this_machine())

    def run_inference(
        self, batch: Sequence[Any], model: Stage, inference_args: Mapping[str, Any] | None = None
    ) -> Iterable[Any]:
        """Scores a batch of rows; gives one result a row, in order."""
        return _results(self._code, batch, score(self._code, model, list(map(_row, batch))))

    def get_num_bytes(self, batch: Sequence[Any]) -> int:
        """The nodes count the bytes of their columns; Beam would pickle the batch to count it."""
        return 0

    def get_metrics_namespace(self) -> str:
        """The ensemble's name; nodes write theirs below it."""
        return self._code.ensemble


def _row(element: Any) -> Any:
    """Returns an element as a row: pipelines that feed RunInference often hold mappings."""
    return beam.Row(**element) if isinstance(element, Mapping) else element


def _results(code: StageCode, batch: Sequence[Any], scored: ScoredColumns) -> Iterator[Any]:
    inferences: list[Any] = [None] * len(batch)
    answers = code.form.extend([beam.Row()] * len(scored.rows), scored.added)
    for at, answer in zip(scored.rows.tolist(), answers, strict=True):
        inferences[at] = answer
    for failure in scored.failures:
        error = failure.error
        inferences[failure.index] = InferenceError(failure.node, error.code, error.message, error.stack)
    results = zip(batch, inferences, strict=True)
    return (base.PredictionResult(example, inference, code.ensemble) for example, inference in results)
