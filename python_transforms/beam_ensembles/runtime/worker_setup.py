"""What a Python worker needs before Beam's harness runs in it. Written for Apache Beam 2.77."""

from __future__ import annotations

import collections
import gc
import logging
import secrets
from typing import Any, Final

from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.worker import bundle_processor, sdk_worker, statesampler
from apache_beam.runners.worker.log_handler import FnApiLogRecordHandler

from beam_ensembles import logs
from beam_ensembles.beam_repairs import inference_imports, row_coder
from beam_ensembles.beam_repairs.bounded_rows import BoundedStream, check
from beam_ensembles.errors import EnsembleError

_LOGGER: Final = logging.getLogger(__name__)
_PREPARED: Final = "_prepared_by_beam_ensembles"
_FAILED_BUNDLES: Final = 1_000
"""So many of them are remembered."""
_YOUNG_OBJECTS: Final = 10_000
"""Objects between two runs of the garbage collector. Rows come and go by the thousand and hold no cycles; Python's
own 700 has the collector walk each batch several times, which costs a tenth of a light ensemble's throughput."""
_SAMPLING_MILLISECONDS: Final = 10
"""How often Beam looks what a bundle is doing, for its metrics of time. At the end of a bundle it waits for the next
look: with its own 200 up to a fifth of what the bundle took, in which Prism, which has all rows, keeps a core busy."""
_NOT_RECEIVED: Final = "Channel closed prematurely."
"""Beam's words, whatever the reason: it loses the one that its reading thread had."""
_NOT_RECEIVED_MEANS: Final = (
    "the runner's connection to the worker was closed before all rows of a bundle had come; a runner that sends a "
    "bundle as one message, as Prism does, can send at most 2 GB: a source of large rows has to end its bundles before "
    "that"
)


def prepare() -> None:
    """Prepares this process for ensembles; to be called once, before the harness is made.

    Rows are decoded by position, whatever their types and names, and no further than their bytes go. Metric ids start
    at a random place. A bundle that fails because of one of this project's errors, or because its rows did not come,
    says so in one line, without a traceback. A bundle that has given all its rows ends. What nodes log names them to
    the runner. Beam's RunInference is imported without torch, before a pickled stage can import it with it.
    """
    gc.set_threshold(_YOUNG_OBJECTS)
    inference_imports.import_base()
    row_coder.install()
    reads: Any = bundle_processor.DataInputOperation
    reads.process_encoded = _process_encoded
    _start_metric_ids_elsewhere()
    _end_bundles_soon()
    _answer_in_one_line()
    _name_nodes_in_logs()


def _process_encoded(self: Any, encoded_windowed_values: bytes) -> None:
    """Decode as Beam does, but never pass on an element that was read beyond the received bytes."""
    rows = getattr(self.windowed_coder, "wrapped_value_coder", None)
    make = rows.stream if isinstance(rows, row_coder.PositionalRowCoder) else BoundedStream
    stream, decode = make(encoded_windowed_values), self.windowed_coder_impl.decode_from_stream
    left = check(stream)
    while left > 0:
        with self.splitting_lock:
            if self.index == self.stop - 1:
                return
            self.index += 1
        try:
            value = decode(stream, True)
        except Exception as error:
            check(stream)
            where = f"coder {self.windowed_coder} in step {self.name_context.step_name}"
            raise ValueError(f"Error decoding input stream with {where}") from error
        left = check(stream)
        self.output(value)


def _start_metric_ids_elsewhere() -> None:
    """Prism keeps one table of metric ids for all workers of a job, and all SDKs count from 1.

    Ids that collide make wrong metrics, and where the types differ Prism panics.
    """
    sdk_worker.SHORT_ID_CACHE._last_short_id = secrets.randbits(40) << 20


def _end_bundles_soon() -> None:
    """Beam's harness makes each sampler with the default period, which nothing else sets."""
    make: Any = statesampler.StateSampler.__init__
    make.__defaults__ = (_SAMPLING_MILLISECONDS,)


def _answer_in_one_line() -> None:
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
    """Has a runner that asks how a failed bundle gets on told that it is not running.

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


def _name_nodes_in_logs() -> None:
    """Beam's handler sends the text of a record and no fields, so ensemble and node stand in front of the text."""
    handler: Any = FnApiLogRecordHandler
    if "format" in vars(handler):
        return

    formatter = logs.MessageFormatter()

    def with_prefix(self: Any, record: logging.LogRecord) -> str:
        return formatter.format(record)

    handler.format = with_prefix


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
