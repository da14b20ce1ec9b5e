"""Bundles that fail say why in one line. Written for Beam 2.77 (``sdk_worker``).

Beam answers with tracebacks, and once more when the runner asks how the failed bundle gets on.
"""

from __future__ import annotations

import collections
import logging
from typing import Any, Final

from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.worker import sdk_worker

from beam_ensembles import logs
from beam_ensembles.errors import EnsembleError

_LOGGER: Final = logging.getLogger(__name__)
_PREPARED: Final = "_prepared_by_beam_ensembles"
_FAILED_BUNDLES: Final = 1_000
"""So many of them are remembered."""
_NOT_RECEIVED: Final = "Channel closed prematurely."
"""Beam's words, whatever the reason: it loses the one that its reading thread had."""
_NOT_RECEIVED_MEANS: Final = (
    "the runner's connection to the worker was closed before all rows of a bundle had come; a runner that sends a "
    "bundle as one message, as Prism does, can send at most 2 GB: a source of large rows has to end its bundles before "
    "that"
)


def install() -> None:
    """Report a bundle that fails by an error of this project, or because its rows did not come, in one line."""
    harness: Any = sdk_worker.SdkHarness
    if getattr(harness, _PREPARED, False):
        return
    execute = harness._execute

    def execute_in_one_line(self: Any, task: Any, request: beam_fn_api_pb2.InstructionRequest) -> None:
        execute(self, lambda: _answer(task, request), request)

    harness._execute = execute_in_one_line
    setattr(harness, _PREPARED, True)
    _say_it_once(sdk_worker.BundleProcessorCache)


def _say_it_once(cache: Any) -> None:
    """Tell a runner that asks how a failed bundle gets on that it is not running.

    Beam answers with the failure once more, with tracebacks and maybe before the failure itself.
    """
    discard, lookup = cache.discard, cache.lookup
    failed: collections.deque[str] = collections.deque(maxlen=_FAILED_BUNDLES)

    def discard_and_remember(self: Any, instruction_id: str, exception: Exception) -> None:
        if _to_say(exception) is not None:
            failed.append(instruction_id)
        discard(self, instruction_id, exception)

    def look_up(self: Any, instruction_id: str) -> Any:
        return None if instruction_id in failed else lookup(self, instruction_id)

    cache.discard, cache.lookup = discard_and_remember, look_up


def _answer(task: Any, request: beam_fn_api_pb2.InstructionRequest) -> Any:
    try:
        return task()
    except Exception as error:
        cause = _to_say(error)
        if cause is None:
            raise
        ensemble, node = getattr(cause, "ensemble", None), getattr(cause, "node", None)
        _LOGGER.error("%s", cause, extra=logs.with_fields(ensemble=ensemble, node=node or None))
        return beam_fn_api_pb2.InstructionResponse(instruction_id=request.instruction_id, error=str(cause))


def _to_say(error: BaseException) -> EnsembleError | None:
    """Finds what is said in one line of an error; none where Beam has to say it."""
    if isinstance(error, RuntimeError) and str(error) == _NOT_RECEIVED:
        return EnsembleError(_NOT_RECEIVED_MEANS)
    return ensemble_error_in(error)


def ensemble_error_in(error: BaseException) -> EnsembleError | None:
    """Finds this project's error in a chain of exceptions, the one at its root where there are several."""
    found: EnsembleError | None = None
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        if isinstance(link, EnsembleError):
            found = link
        link = link.__cause__ or link.__context__
    return found
