"""The server behind Beam's ``RemoteModelHandler``: one channel a worker, throttled and counted by Beam.

Beam's handler can try again by itself, after five seconds and more; here each attempt goes through it, so that its
throttling sees them all, and the waiting between them is shorter. A request that the server refused is not a failure of
the server: it is given back as a value, and raised after Beam has counted the call. Written for Beam 2.77.
"""

from __future__ import annotations

import dataclasses
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.open_inference.address import CHANNEL_OPTIONS, Address, credentials, headers
from beam_ensembles.handlers.open_inference.failures import CallError, failure
from beam_ensembles.handlers.open_inference.tensors import Given, values_of
from beam_ensembles.handlers.support.call_counts import call_took
from beam_ensembles.handlers.support.remote_config import THROTTLING

base = inference_imports.import_base()

_THROTTLE_SECONDS: Final = 1
"""How long Beam holds a call back while many fail, where ``config`` does not say."""


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """One call.

    Attributes:
        tensors: What the model is given.
        outputs: The names of what it is asked for; none asks for what the server gives by itself.
    """

    tensors: Sequence[Given]
    outputs: Sequence[str]


class OpenInferenceModelHandler(base.RemoteModelHandler):  # type: ignore[misc, name-defined]
    """Beam's handler of a model on a server of the Open Inference Protocol.

    Args:
        address: The model.
        config: The node's ``config``.
        seconds: How long one call may take.
        namespace: Where Beam counts how long calls were held back.
    """

    def __init__(self, address: Address, config: Mapping[str, Any], seconds: float, namespace: str) -> None:
        own = {name: config[name] for name in THROTTLING if name in config}
        super().__init__(namespace, num_retries=0, **{"throttle_delay_secs": _THROTTLE_SECONDS, **own})
        self._address, self._config, self._seconds = address, config, seconds
        self._env_vars = dict(config.get("env_vars") or {})

    def create_client(self) -> Any:
        """Opens the channel; it connects with the first call and is closed with the client."""
        import tritonclient.grpc

        secret = credentials(self._address, self._config)
        client = tritonclient.grpc.InferenceServerClient(
            self._address.target, creds=secret, channel_args=list(CHANNEL_OPTIONS)
        )
        # Its own way to close the channel when it is deleted fails, loudly, when that is at the end of the process.
        client.close = weakref.finalize(client, client._channel.close)
        return client

    def validate_inference_args(self, inference_args: dict[str, Any] | None) -> None:
        """They are the parameters of the protocol's requests, and were checked."""

    def request(
        self, batch: Sequence[Request], model: Any, inference_args: dict[str, Any] | None = None
    ) -> Iterable[Any]:
        """Creates one call for each request; the inference is a mapping of outputs to arrays, or a ``NodeError``."""
        return [base.PredictionResult(one, self._call(one, model, inference_args or {})) for one in batch]

    def _call(self, request: Request, client: Any, parameters: Mapping[str, Any]) -> Any:
        import tritonclient.grpc as triton

        inputs = []
        for tensor in request.tensors:
            given = triton.InferInput(tensor.name, tensor.values.shape, tensor.datatype)
            inputs.append(given.set_data_from_numpy(tensor.values))
        start = time.perf_counter()
        try:
            result = client.infer(
                self._address.model,
                inputs,
                self._address.version,
                [triton.InferRequestedOutput(name) for name in request.outputs] or None,
                client_timeout=self._seconds,
                headers=headers(self._config),
                compression_algorithm=self._config.get("compression"),
                parameters=dict(parameters),
            )
            return values_of(result.get_response())
        except triton.InferenceServerException as exc:
            error = CallError(str(exc.status() or "").rpartition(".")[2], str(exc.message()))
            if error.may_pass:
                raise error from exc
            return failure(self._address, error)
        except NodeError as error:
            return error
        finally:
            call_took(time.perf_counter() - start)
