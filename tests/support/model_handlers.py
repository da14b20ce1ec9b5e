"""Model handlers of somebody's own, for the tests of ``model: python``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from apache_beam.ml.inference.base import ModelHandler, PredictionResult, RemoteModelHandler

CALLS: list[list[Any]] = []
"""The examples of each call, in this process."""


class Echo(ModelHandler[Any, PredictionResult, Any]):
    """Returns each example as text; notes its calls.

    Args:
        prefix: Stands before each text.
        failing: Examples that it gives an exception for.
        function: Applied to each text.
        shared: Whether it wants to be shared.
    """

    def __init__(
        self,
        prefix: str = "",
        failing: Sequence[Any] = (),
        function: Any = None,
        shared: bool = False,
        **batching: Any,
    ) -> None:
        super().__init__(**batching)
        self._prefix, self._failing, self._function = prefix, failing, function
        self._shared, self._path = shared, ""

    def load_model(self) -> str:
        return f"{self._path}|{os.environ.get('ECHO', '')}"

    def run_inference(
        self, batch: Sequence[Any], model: str, inference_args: dict[str, Any] | None = None
    ) -> Iterable[PredictionResult]:
        CALLS.append(list(batch))
        args = inference_args or {}
        times = args.pop("times", 1)  # as some handlers do: the next call must not miss it
        for example in batch:
            for _ in range(times):
                yield self._one(example, model)

    def _one(self, example: Any, model: str) -> PredictionResult:
        if example in self._failing:
            return PredictionResult(example, ValueError(f"no {example}"))
        text = f"{self._prefix}{example}"
        text = self._function(text) if self._function else text
        return PredictionResult(example, {"text": text, "model": model, "pid": os.getpid()})

    def update_model_path(self, model_path: str | None = None) -> None:
        self._path = os.path.basename(model_path or "")

    def share_model_across_processes(self) -> bool:
        return self._shared

    def validate_inference_args(self, inference_args: dict[str, Any] | None) -> None:
        if set(inference_args or {}) - {"times"}:
            raise ValueError("it takes 'times' only")


class Described(Echo):
    """Describes its input: its class, its dtype and its shape or keys."""

    def _one(self, example: Any, model: str) -> PredictionResult:
        what = type(example).__name__
        if isinstance(example, np.ndarray):
            what = f"{example.dtype}{list(example.shape)}"
        elif isinstance(example, Mapping):
            what = ",".join(f"{key}:{type(value).__name__}" for key, value in example.items())
        return PredictionResult(example, what)


class Nested(Echo):
    """Answers as clients of remote models do: objects in lists in objects."""

    def _one(self, example: Any, model: str) -> PredictionResult:
        choice = SimpleNamespace(text=f"it is {example}", logprobs={"token": -0.5})
        return PredictionResult(example, SimpleNamespace(choices=[choice], usage=SimpleNamespace(tokens=3)))


class Short(Echo):
    """Returns one prediction too few."""

    def run_inference(self, batch: Sequence[Any], model: str, inference_args: Any = None) -> Any:
        return list(super().run_inference(batch, model, inference_args))[1:]


class Prebatched(Echo):
    """Wants its batches as they are."""

    def should_skip_batching(self) -> bool:
        return True


class Hungry(Echo):
    """Asks for a GPU."""

    def get_resource_hints(self) -> dict[str, Any]:
        return {"accelerator": "type:nvidia-tesla-t4;count:1"}


class Remote(RemoteModelHandler[str, PredictionResult, Any]):
    """Calls a server that is not there, but for texts that it refuses at once.

    Args:
        knows: Whether it knows what is worth another try.
    """

    def __init__(self, knows: bool = True) -> None:
        told: dict[str, Any] = (
            {"retry_filter": lambda error: isinstance(error, ConnectionError)} if knows else {}
        )
        super().__init__("remote", num_retries=0, throttle_delay_secs=0, **told)

    def create_client(self) -> str:
        return "client"

    def request(self, batch: Sequence[str], model: Any, inference_args: Any = None) -> Any:
        CALLS.append(list(batch))
        if "bad" in batch:
            raise ValueError("bad request")
        if "down" in batch:
            raise ConnectionError("nobody answers")
        return [PredictionResult(example, example) for example in batch]


class Deadly(Echo):
    """Ends its process on one example."""

    def _one(self, example: Any, model: str) -> PredictionResult:
        if example == "deadly":
            os._exit(9)
        return super()._one(example, model)


class NoHandler:
    """Is none."""


def make_echo(prefix: str) -> Any:
    """Creates a handler with a function of its own around it."""
    return Echo(prefix).with_preprocess_fn(shout)


def shout(text: str) -> str:
    """Creates capital letters, of anything but a hush."""
    if text == "hush":
        raise ValueError("not that one")
    return text.upper()


def twice(text: str) -> str:
    """Returns it twice."""
    return text + text


def unwrapped(result: PredictionResult) -> str:
    """Takes the text out of a prediction, of anything but a secret."""
    inference: Any = result.inference
    found = str(inference["text"])
    if "secret" in found:
        raise KeyError("secret")
    return found


def length(example: str) -> int:
    """Returns how long a text is."""
    return len(example)


class Sorted(ModelHandler[Any, Any, Any]):
    """Sorts each row's list in place, puts a number behind it, and fails where the least one is negative."""

    def load_model(self) -> None:
        """There is none."""

    def run_inference(self, batch: Any, model: Any, inference_args: Any = None) -> list[float]:
        """Returns the sum of each row."""
        return [sum_of_sorted(one) for one in batch]


def sum_of_sorted(values: Any) -> float:
    """Changes what it is given, and returns the sum of it and 100."""
    values.sort()
    least = float(values[0])
    if isinstance(values, list):
        values.append(100.0)
    else:
        values *= 1.0
    if least < 0:
        raise ValueError("a number is negative")
    return float(sum(values))


def sums_of_sorted(rows: Any) -> list[float]:
    """Returns ``sum_of_sorted`` of each row."""
    return [sum_of_sorted(one) for one in rows]
