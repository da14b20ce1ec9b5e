"""Limit the number, size and time of calls before they reach a servicer, and refuse malformed messages.

gRPC itself logs a traceback for bytes that are not a message, parses the messages of waiting calls, and has no deadline
but the client's. So an interceptor counts each call, reads its message within a deadline, and has it wait for a slot.
Only then a thread of its own parses and answers the message. The caller gets an answer at its deadline even if that
thread does not notice and keeps its slot.

Health is apart from all that, so the service answers it however busy it is. Anybody may ask for it, so few of its
messages are read at one time, and calls whose messages never come leave room for others.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import grpc
from apache_beam.portability.api import beam_expansion_api_pb2
from google.protobuf.message import DecodeError
from grpc_health.v1 import health

from beam_ensembles.interruption import Interrupted, while_wanted
from beam_ensembles_service.callers.users import service_of
from beam_ensembles_service.requests.reading import FewReads, Reader
from beam_ensembles_service.requests.slots import MOST_WAITING, Busy, CallerGone, Slots
from beam_ensembles_service.settings import Limits

MOST_CALLS: Final = 256
"""How many calls of a service without slots (artifacts, reflection, the worker pool) are open at one time."""
MOST_BYTES: Final = 1 << 20
"""Bytes of a message to such a service, which holds it for as long as it answers."""

_LOGGER: Final = logging.getLogger(__name__)
_EXPANSION: Final = beam_expansion_api_pb2.DESCRIPTOR.services_by_name["ExpansionService"].full_name
_Code = grpc.StatusCode


class Admission(grpc.ServerInterceptor):
    """An interceptor that admits calls within the limits.

    Args:
        limits: The service's flags.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._slots = Slots(limits)
        self._reader, self._few, self._streams = Reader(), FewReads(), FewReads()
        self._calls: dict[str, int] = {}
        self._lock = threading.Lock()

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """Returns a handler that calls the servicer only for an admitted call."""
        handler = continuation(details)
        service = service_of(details)
        if handler is None or service == health.SERVICE_NAME:
            return handler and _of_few(handler, self._few)
        if handler.response_streaming:
            answer = functools.partial(self._stream, service, handler)
            return grpc.stream_stream_rpc_method_handler(answer, None, handler.response_serializer)
        answer = functools.partial(self._unary, service, handler)
        return grpc.stream_unary_rpc_method_handler(answer, None, handler.response_serializer)

    def _unary(self, service: str, handler: Any, messages: Any, context: grpc.ServicerContext) -> Any:
        with self._counted(service, context):
            data = self._reader.first(messages, context)
            if service != _EXPANSION:
                return handler.unary_unary(_parsed_short(data, handler, context), context)
            self._take_slot(context, len(data))
            return self._in_time(
                lambda: handler.unary_unary(_parsed(data, handler, context), context), context
            )

    def _stream(self, service: str, handler: Any, messages: Any, context: grpc.ServicerContext) -> Any:
        with self._counted(service, context):
            if handler.request_streaming:
                parsed = (
                    _parsed_short(data, handler, context) for data in self._streams.each(messages, context)
                )
                yield from handler.stream_stream(parsed, context)
            else:
                data = self._reader.first(messages, context)
                yield from handler.unary_stream(_parsed_short(data, handler, context), context)

    @contextlib.contextmanager
    def _counted(self, service: str, context: grpc.ServicerContext) -> Iterator[None]:
        most = self._limits.max_requests + MOST_WAITING if service == _EXPANSION else MOST_CALLS
        with self._lock:
            calls = self._calls.get(service, 0)
            self._calls[service] = calls + 1
        try:
            if calls >= most:
                context.abort(
                    _Code.RESOURCE_EXHAUSTED, f"{calls} calls of {service} are open already; try again later"
                )
            yield
        finally:
            with self._lock:
                self._calls[service] -= 1

    def _take_slot(self, context: grpc.ServicerContext, size: int) -> None:
        try:
            self._slots.take(context, size)
        except Busy as error:
            _LOGGER.warning("refused a request of %s: %s", context.peer(), error)
            context.abort(_Code.RESOURCE_EXHAUSTED, str(error))
        except CallerGone:
            _LOGGER.info("dropped a request of %s, which has gone", context.peer())
            context.abort(_Code.CANCELLED, "the caller has gone")

    def _in_time(self, work: Callable[[], Any], context: grpc.ServicerContext) -> Any:
        """Answers in a thread that frees its slot when it ends, maybe long after the caller's deadline."""
        answer: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def run() -> None:
            try:
                with while_wanted(context.is_active):
                    answer.set_result(work())
            except BaseException as error:
                answer.set_exception(error)
            finally:
                self._slots.give_back()

        try:
            threading.Thread(target=run, name="request", daemon=True).start()
        except RuntimeError:  # the system has no further thread
            self._slots.give_back()
            _LOGGER.warning("refused a request of %s: no thread can be started", context.peer())
            context.abort(_Code.RESOURCE_EXHAUSTED, "the service can start no thread; try again later")
        seconds = self._limits.request_seconds
        if concurrent.futures.wait([answer], seconds).not_done:
            text = f"the request took longer than {seconds:g} s, so it was ended (serve --request-seconds)"
            _LOGGER.warning("ended a request of %s: it took longer than %g s", context.peer(), seconds)
            context.abort(_Code.DEADLINE_EXCEEDED, text)
        try:
            return answer.result()
        except Interrupted:
            context.abort(_Code.CANCELLED, "the caller has gone")


def _parsed(data: bytes, handler: Any, context: grpc.ServicerContext) -> Any:
    try:
        return handler.request_deserializer(data)
    except DecodeError:
        _LOGGER.info("refused a message of %s that cannot be read", context.peer())
        context.abort(_Code.INVALID_ARGUMENT, "the message is not the protobuf message of this method")


def _parsed_short(data: bytes, handler: Any, context: grpc.ServicerContext) -> Any:
    if len(data) > MOST_BYTES:
        text = f"the message has {len(data)} bytes; this method takes {MOST_BYTES} at most"
        context.abort(_Code.RESOURCE_EXHAUSTED, text)
    return _parsed(data, handler, context)


def _of_few(handler: Any, few: FewReads) -> Any:
    """Returns a handler of calls that anybody may make, which reads their messages itself."""
    if handler.unary_unary:
        call = handler.unary_unary
        return grpc.stream_unary_rpc_method_handler(
            lambda messages, context: call(_parsed(few.first(messages, context), handler, context), context),
            None,
            handler.response_serializer,
        )

    def answers(messages: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        yield from handler.unary_stream(_parsed(few.first(messages, context), handler, context), context)

    return grpc.stream_stream_rpc_method_handler(answers, None, handler.response_serializer)
