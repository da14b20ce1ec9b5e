"""A served model as a node: asks the server what the model is like, calls it, and tries again what may pass."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import BatchFailed, InvalidEnsemble, NodeError, Problem
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, NodeView
from beam_ensembles.handlers.open_inference.address import Address
from beam_ensembles.handlers.open_inference.calls import OpenInferenceModelHandler, Request
from beam_ensembles.handlers.open_inference.failures import CallError, unusable
from beam_ensembles.handlers.open_inference.metadata import Metadata, ask
from beam_ensembles.handlers.open_inference.settings import (
    OpenInferenceOptions,
    revealed_config,
    seconds_of,
)
from beam_ensembles.handlers.open_inference.signature import check_metadata
from beam_ensembles.handlers.open_inference.tensors import answers_of, names_wanted, tensors_of
from beam_ensembles.handlers.remote.breaker import Breaker
from beam_ensembles.handlers.remote.limit_options import quota_of
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.handler_per_thread import PerThread
from beam_ensembles.handlers.support.ragged_lists import by_length
from beam_ensembles.handlers.support.results import to_columns
from beam_ensembles.handlers.support.retrying import tried_again
from beam_ensembles.messages.foreign_errors import text_of

_LOGGER: Final = logging.getLogger(__name__)


def load_served(node: CheckedNode[OpenInferenceOptions], address: Address) -> Member:
    """Opens the channel to a served model, and compares the node with it where the server answers at once.

    Raises:
        InvalidEnsemble: The model is not as the node says, tritonclient is not installed here, or a certificate or a
            secret cannot be read.
    """
    config = revealed_config(node)
    callers = _Callers(node, address, config)
    client = callers.connect()
    served = _Served(node, address, config)
    loaded = member.BeamMember(
        callers,
        client,
        member.inference_args(node),
        read=served.request,
        write=served.columns,
        per_row=member.is_per_row(node),
    )
    return by_length(node, loaded)


class _Callers:
    """Beam's handlers, all with one channel; calls are made again while the failure may pass."""

    def __init__(
        self, node: CheckedNode[OpenInferenceOptions], address: Address, config: Mapping[str, Any]
    ) -> None:
        self._node, self._address = node, address
        self._breaker = Breaker()
        self._quota = quota_of(node.options, address.target, address.model)
        seconds = seconds_of(node.options)
        self._handlers = PerThread(
            lambda: OpenInferenceModelHandler(address, config, seconds, node.namespace)
        )

    def connect(self) -> Any:
        """Creates the client that all threads share."""
        handler = self._handlers.get()
        handler.set_environment_vars()
        try:
            return handler.load_model()
        except ImportError as exc:
            raise member.not_installed(self._node, "open_inference", exc) from exc
        except OSError as exc:
            text = f"a certificate cannot be read on this worker: {text_of(exc)}"
            raise InvalidEnsemble([Problem(self._node.spec.path("config"), "load_failed", text)]) from exc

    def run_inference(self, batch: Sequence[Request], model: Any, inference_args: Mapping[str, Any]) -> Any:
        """Calls the server, each attempt through Beam's handler; a call that failed for good fails the batch."""
        call = self._call
        with self._breaker.guard() as is_trial:
            try:
                return (call if is_trial else _again(self._node, call))(batch, model, inference_args)
            except CallError as error:
                raise unusable(self._address, error) from error

    def _call(self, batch: Sequence[Request], model: Any, inference_args: Mapping[str, Any]) -> Any:
        if self._quota is not None:
            self._quota.wait()
        return self._handlers.get().run_inference(batch, model, inference_args)


class _Served:
    """The model's metadata; asked for again when needed, so that a server may start after its callers."""

    def __init__(
        self, node: CheckedNode[OpenInferenceOptions], address: Address, config: Mapping[str, Any]
    ) -> None:
        self._node, self._address, self._config = node, address, config
        self._metadata: Metadata | None = None
        try:
            self._metadata = self._ask()
        except CallError as error:
            _LOGGER.warning("%s does not answer yet: %s", address, error)
        else:
            self._compare(self._metadata)

    def request(self, columns: Columns) -> Request:
        """Creates the request for some rows."""
        found = self._known()
        return Request(tensors_of(self._node, columns, found.inputs), names_wanted(self._node, found.outputs))

    def columns(self, answer: Any, rows: int) -> Columns:
        """Creates the output columns of the server's answer."""
        if isinstance(answer, NodeError):
            raise answer
        return to_columns(self._node, answers_of(self._node, answer), rows)

    def _known(self) -> Metadata:
        """Returns the metadata; threads may ask side by side, so that none waits for what another one waits for."""
        found = self._metadata
        if found is None:
            found = self._metadata = self._ask_again()
        return found

    def _ask_again(self) -> Metadata:
        try:
            found: Metadata = _again(self._node, self._ask)()
            self._compare(found)
        except CallError as error:
            raise unusable(self._address, error) from error
        except InvalidEnsemble as error:
            raise BatchFailed(error.problems[0].code, error.problems[0].message) from error
        return found

    def _ask(self) -> Metadata:
        return ask(self._address, self._config, seconds_of(self._node.options))

    def _compare(self, found: Metadata) -> None:
        problems: list[Problem] = []
        check_metadata(
            NodeView(self._node.spec, self._node.options, self._node.inputs, Files(), problems.append), found
        )
        if problems:
            raise InvalidEnsemble(problems)


def _again(node: CheckedNode[OpenInferenceOptions], call: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that is called again while its failure may pass, as often as the node says."""
    return tried_again(
        call, node.options.retries, lambda error: isinstance(error, CallError) and error.may_pass
    )
