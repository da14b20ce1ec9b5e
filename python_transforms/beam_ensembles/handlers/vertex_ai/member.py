"""An endpoint of Vertex AI as a node. Written for Beam 2.77 (``vertex_ai_inference``).

Beam's handler tries again by itself and throttles. It pairs rows with predictions as far as there are both; so what an
endpoint gives is counted before Beam sees it.
"""

from __future__ import annotations

import json
import os
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from beam_ensembles.errors import BatchFailed, InvalidEnsemble, ModelFormatError, NodeError, Problem
from beam_ensembles.files.bounded_json import read_json
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.remote.breaker import Breaker
from beam_ensembles.handlers.remote.limit_options import quota_of
from beam_ensembles.handlers.remote.quota import Quota
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.call_counts import call_took
from beam_ensembles.handlers.support.handler_per_thread import PerThread
from beam_ensembles.handlers.support.results import to_columns
from beam_ensembles.handlers.vertex_ai.instances import answers_of, instances_of
from beam_ensembles.handlers.vertex_ai.model import VertexAIOptions
from beam_ensembles.messages.foreign_errors import described


def load_endpoint(node: CheckedNode[VertexAIOptions]) -> VertexMember:
    """Creates Beam's handler and connects to the endpoint.

    Raises:
        InvalidEnsemble: aiplatform is not installed here, or the endpoint cannot be used.
    """
    beam = member.handlers_of(node, "vertex_ai_inference", "vertex_ai")
    options, config = node.options, member.config(node)
    os.environ.update(config.pop("env_vars", {}))  # Beam's handler hands them on to a base that takes none
    config.pop("max_batch_size", None)
    if options.retries is not None:
        config["num_retries"] = options.retries
    try:
        handler = beam.VertexAIModelHandlerJSON(
            options.endpoint,
            options.project,
            options.location,
            private=options.private,
            **config,
        )
        endpoint = handler.load_model()
    except Exception as exc:  # Google's libraries fail in many ways
        text = f"the endpoint '{options.endpoint}' cannot be used: {described(exc)}"
        raise InvalidEnsemble([Problem(node.spec.path("endpoint"), "load_failed", text)]) from exc
    quota = quota_of(options, options.project, options.location, options.endpoint)
    return VertexMember(node, handler, Counted(endpoint, options.timeout, quota))


class VertexMember:
    """A connected endpoint.

    Args:
        node: The node.
        handler: Beam's handler of it.
        endpoint: What its ``load_model`` gave.
    """

    def __init__(self, node: CheckedNode[VertexAIOptions], handler: Any, endpoint: Counted) -> None:
        self._node, self._endpoint = node, endpoint
        self._breaker = Breaker()
        self._handlers = PerThread(lambda: _copy(handler, node.namespace))
        self._parameters = member.inference_args(node) or None

    def __call__(self, columns: Columns) -> Columns:
        """Sends all rows as one request, which Beam makes again while the failure may pass."""
        instances = instances_of(self._node, columns)
        with self._breaker.guard():
            try:
                results = list(
                    self._handlers.get().run_inference(instances, self._endpoint, self._parameters)
                )
            except Exception as error:
                raise _failure(error) from error
            refusal = self._endpoint.taken_error()
            if refusal is not None:
                raise _failure(refusal) from refusal
        return to_columns(
            self._node, answers_of(self._node, [one.inference for one in results]), len(instances)
        )


def _copy(handler: Any, namespace: str) -> Any:
    """Returns a handler with a throttle of its own, whose time counts for the node."""
    from apache_beam.io.components.adaptive_throttler import ThrottlingSignaler

    own = pickle.loads(pickle.dumps(handler))  # noqa: S301 - as Beam copies it to its DoFns
    own.throttler.throttling_signaler = ThrottlingSignaler(namespace)
    return own


class Counted:
    """An endpoint that must give as many predictions as it was given instances.

    What it says about a request, such as that a value is wrong, is not a failure of the endpoint: it is kept, for
    ``taken_error``, so that Beam holds back no call for it.

    Args:
        endpoint: aiplatform's endpoint.
        seconds: How long a call may take, or None.
        quota: How often it may be called, or None.
    """

    def __init__(self, endpoint: Any, seconds: float | None, quota: Quota | None = None) -> None:
        self._endpoint, self._quota = endpoint, quota
        self._timeout = {} if seconds is None else {"timeout": seconds}
        self._own = threading.local()

    def predict(self, instances: Sequence[Any], parameters: Any = None) -> Any:
        """Calls the deployed model."""

        def call() -> Any:
            found = self._endpoint.predict(instances=instances, parameters=parameters, **self._timeout)
            _check_count(len(found.predictions), len(instances))
            return found

        return self._kept(call, SimpleNamespace(predictions=[], deployed_model_id=None))

    def invoke(self, request_path: str, body: bytes, headers: Mapping[str, str]) -> Any:
        """Calls a route of the deployed model's own."""

        def call() -> Any:
            found = self._endpoint.invoke(
                request_path=request_path, body=body, headers=headers, **self._timeout
            )
            _check_count(_predictions(found), len(json.loads(body)["instances"]))
            return found

        return self._kept(call, b'{"predictions": []}')

    def taken_error(self) -> Exception | None:
        """Returns what this thread's last call was refused with, once."""
        error: Exception | None = self._own.__dict__.pop("error", None)
        return error

    def _kept(self, call: Callable[[], Any], nothing: Any) -> Any:
        """Creates a call; where it is refused, keeps why and gives ``nothing``."""
        from google.api_core import exceptions as api

        if self._quota is not None:
            self._quota.wait()
        start = time.perf_counter()
        try:
            return call()
        except api.TooManyRequests:
            raise
        except (api.ClientError, NodeError) as error:
            self._own.error = error
            return nothing
        finally:
            call_took(time.perf_counter() - start)


def _predictions(response: Any) -> int:
    """Counts the predictions of an answer of a route; one that is neither a list nor holds one is one."""
    try:
        answer = read_json(response.content if hasattr(response, "content") else bytes(response))
    except ModelFormatError as exc:
        raise NodeError("bad_output", f"the endpoint's answer cannot be read: {exc}") from exc
    if isinstance(answer, Mapping) and isinstance(answer.get("predictions"), list):
        answer = answer["predictions"]
    return len(answer) if isinstance(answer, list) else 1


def _check_count(predictions: int, instances: int) -> None:
    if predictions != instances:
        text = f"the endpoint gave {predictions} predictions for {instances} rows; it must give one per row"
        raise NodeError("misaligned", text)


def _failure(error: Exception) -> NodeError:
    """Translates errors that are not a row's: an endpoint that does not answer, or not to this caller."""
    from google.api_core import exceptions as api
    from google.auth.exceptions import GoogleAuthError
    from urllib3.exceptions import HTTPError

    text = f"Vertex AI: {described(error)}"
    if isinstance(error, api.TooManyRequests | api.ServerError | api.RetryError | HTTPError | OSError):
        return BatchFailed("server_unreachable", text)
    if isinstance(error, api.NotFound | api.Forbidden | api.Unauthorized | GoogleAuthError):
        return BatchFailed("server_refused", text)
    return NodeError.of(error)
