"""Calls a handler of any class the way RunInference does: preprocess, batch, run, postprocess."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from beam_ensembles.errors import BatchFailed, NodeError
from beam_ensembles.handlers.python.batches import batches
from beam_ensembles.messages.foreign_errors import described


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What became of the examples of one call, in the place of Beam's ``PredictionResult``.

    Attributes:
        inference: An inference for each of them, or the exception that stands for it.
    """

    inference: list[Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Calls:
    """A handler behind the seam of ``BeamMember``: one list of examples in, one list of inferences out.

    Attributes:
        handler: The handler.
        result: Beam's class of a prediction.
        samples: How many predictions there are for an example.
        is_servers: Whether an exception of a call is the fault of a server, and so of no row.
        shape: The declared shape of one prediction, where predictions are arrays that become a column as they are.
    """

    handler: Any
    result: Any
    samples: int = 1
    is_servers: Callable[[Exception], bool] = lambda _: False
    shape: tuple[int, ...] | None = None

    def run_inference(
        self, batch: Sequence[list[Any]], model: Any, inference_args: dict[str, Any]
    ) -> list[Answer]:
        """Runs all examples.

        Raises:
            NodeError: ``misaligned``: the handler gave another number of predictions than it must.
        """
        (examples,) = batch
        if self.handler.should_skip_batching():
            whole = _through(self.handler.get_preprocess_fns(), examples)
            if isinstance(whole, Exception):
                raise whole
            return [Answer(self._predicted(whole, model, inference_args))]
        given = [_through(self.handler.get_preprocess_fns(), example) for example in examples]
        inferences: list[Any] = [one for one in given for _ in range(self.samples)]
        good = [at for at, one in enumerate(given) if not isinstance(one, Exception)]
        ready = [given[at] for at in good]
        for positions in batches(ready, self.handler.batch_elements_kwargs()):
            found = self._predicted([ready[at] for at in positions], model, inference_args)
            for turn, at in enumerate(positions):
                of_example = found[turn * self.samples : (turn + 1) * self.samples]
                start = good[at] * self.samples
                inferences[start : start + self.samples] = of_example
        return [Answer(inferences)]

    def _predicted(self, examples: list[Any], model: Any, inference_args: dict[str, Any]) -> list[Any]:
        """Creates one call. Handlers change their arguments at times, so that each call gets its own."""
        try:
            given = self.handler.run_inference(examples, model, copy.deepcopy(inference_args))
            found = [given] if self._is_one(given, len(examples)) else list(given)
        except Exception as error:
            if self.is_servers(error):
                raise BatchFailed("server_unreachable", described(error)) from error
            raise
        if len(found) != len(examples) * self.samples:
            wanted = f"{self.samples} each" if self.samples > 1 else "one each"
            text = f"the handler gave {len(found)} predictions for {len(examples)} examples; it must give {wanted}"
            raise NodeError("misaligned", text)
        done = [_through(self.handler.get_postprocess_fns(), one) for one in found]
        return [one.inference if isinstance(one, self.result) else one for one in done]

    def _is_one(self, given: Any, examples: int) -> bool:
        """Whether the only prediction lacks the first dimension, as where a handler squeezes its tensor."""
        shape = getattr(given, "shape", None)
        return shape is not None and examples * self.samples == 1 and tuple(shape) == self.shape


def blame(base: Any, handler: Any) -> Callable[[Exception], bool]:
    """Returns the function that says whether an exception of a handler's call is the fault of a server.

    That is what Beam's remote handlers try again, and have tried as often as they will; a handler that tries everything
    again says nothing by it.

    Args:
        base: Beam's module of handlers.
        handler: The handler, without functions around it.
    """
    if not isinstance(handler, base.RemoteModelHandler):
        return lambda _: False
    tries_all = inspect.signature(base.RemoteModelHandler.__init__).parameters["retry_filter"].default
    is_passing = handler.retry_filter

    def is_servers(error: Exception) -> bool:
        return isinstance(error, base.RateLimitExceeded) or (
            is_passing is not tries_all and bool(is_passing(error))
        )

    return is_servers


def _through(functions: Any, value: Any) -> Any:
    """Applies functions one after the other; gives the exception of the one that fails, which is that row's alone."""
    function: Callable[[Any], Any]
    try:
        for function in functions:
            value = function(value)
    except Exception as error:
        return error
    return value
