"""Stands in for Google's client of a Vertex AI endpoint, for what a server cannot be told to do to it.

With Google's own client nodes call ``vertex_ai_server``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from google.cloud import aiplatform

if TYPE_CHECKING:
    import pytest


@dataclasses.dataclass
class Prediction:
    """An answer, as aiplatform's own of that name."""

    predictions: list[Any]
    deployed_model_id: str = "1"


@dataclasses.dataclass
class Response:
    """An answer of a route, as that of requests."""

    content: bytes


@dataclasses.dataclass
class FakeEndpoint:
    """One endpoint with one model.

    Attributes:
        model: All instances and the parameters to all predictions.
        calls: The instances of every call.
        parameters: The parameters of the last call.
        failures: What the next calls raise, one each.
        timeouts: The timeout of every call, None where it had none.
        made: How the endpoint was asked for.
        project: What aiplatform was told at the start.
        deployed: How many models it has.
        routes: The routes that were called.
    """

    model: Callable[[list[Any], Any], list[Any]]
    calls: list[list[Any]] = dataclasses.field(default_factory=list)
    parameters: Any = None
    failures: list[Exception] = dataclasses.field(default_factory=list)
    timeouts: list[float | None] = dataclasses.field(default_factory=list)
    made: dict[str, Any] = dataclasses.field(default_factory=dict)
    project: dict[str, Any] = dataclasses.field(default_factory=dict)
    deployed: int = 1
    routes: list[str] = dataclasses.field(default_factory=list)

    def list_models(self) -> list[str]:
        return ["model"] * self.deployed

    def predict(
        self, instances: list[Any], parameters: Any = None, timeout: float | None = None
    ) -> Prediction:
        return Prediction(self._answer(instances, parameters, timeout))

    def invoke(
        self, request_path: str, body: bytes, headers: dict[str, str], timeout: float | None = None
    ) -> Response:
        self.routes.append(request_path)
        asked = json.loads(body)
        answer = self._answer(asked["instances"], asked.get("parameters"), timeout)
        return Response(json.dumps({"predictions": answer}).encode())

    def _answer(self, instances: list[Any], parameters: Any, timeout: float | None) -> list[Any]:
        json.dumps(instances)
        self.calls.append(instances)
        self.timeouts.append(timeout)
        self.parameters = parameters
        if self.failures:
            raise self.failures.pop(0)
        return self.model(instances, parameters)


def install(monkeypatch: pytest.MonkeyPatch, model: Callable[[list[Any], Any], list[Any]]) -> FakeEndpoint:
    """Puts an endpoint in the place of every one that aiplatform would connect to, for one test."""
    fake = FakeEndpoint(model)

    def make(kind: str) -> Callable[..., FakeEndpoint]:
        def connect(**asked: Any) -> FakeEndpoint:
            fake.made = asked | {"kind": kind}
            return fake

        return connect

    monkeypatch.setattr(aiplatform, "init", fake.project.update)
    monkeypatch.setattr(aiplatform, "Endpoint", make("public"))
    monkeypatch.setattr(aiplatform, "PrivateEndpoint", make("private"))
    return fake


def total(instances: list[Any], _: Any) -> list[Any]:
    """The sum of each instance."""
    return [float(sum(one)) for one in instances]
