"""Requests to the service that are malformed, too large or lie: each is refused in one sentence."""

from __future__ import annotations

import logging
import time
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from apache_beam.coders import typecoders
from apache_beam.coders.coders import Coder
from apache_beam.portability import python_urns
from apache_beam.portability.api import beam_expansion_api_pb2, schema_pb2, standard_window_fns_pb2
from apache_beam.typehints.schema_registry import SCHEMA_REGISTRY

from beam_ensembles.beam_repairs import row_coder
from beam_ensembles_service.requests.environment import workers_of
from beam_ensembles_service.requests.servicer import EnsembleExpansionServicer
from beam_ensembles_service.settings import Settings
from tests.support.expansion_requests import MEAN_OF_TWO, like_go, payload_of, schema

Request = beam_expansion_api_pb2.ExpansionRequest
Spoil = Callable[[Request], None]
ROWS = schema("rows", a="double", b="double")
CODER, WINDOWING = "c0@QxXkLm", "w0@QxXkLm"


@pytest.fixture
def servicer(monkeypatch: pytest.MonkeyPatch) -> EnsembleExpansionServicer:
    monkeypatch.setattr(Coder, "_known_urns", dict(Coder._known_urns))
    row_coder.install()
    return EnsembleExpansionServicer(workers_of(Settings(serve_loopback_worker=True), 50123))


def _request() -> Request:
    return like_go({"spec": MEAN_OF_TWO}, ROWS)


def _coder(payload: bytes) -> Spoil:
    def spoil(request: Request) -> None:
        request.components.coders[CODER].spec.payload = payload

    return spoil


def _field(change: Callable[[schema_pb2.Schema], object]) -> Spoil:
    """Changes the schema of the input."""

    def spoil(request: Request) -> None:
        rows = schema_pb2.Schema()
        rows.CopyFrom(ROWS)
        change(rows)
        request.components.coders[CODER].spec.payload = rows.SerializeToString()

    return spoil


def _nested(rows: schema_pb2.Schema) -> None:
    type_ = rows.fields.add(name="x").type
    for _ in range(45):
        type_ = type_.array_type.element_type
    type_.atomic_type = schema_pb2.INT64


def _misplaced(rows: schema_pb2.Schema) -> None:
    rows.encoding_positions_set = True
    rows.fields[0].encoding_position = 1 << 30


def _many_fields(rows: schema_pb2.Schema) -> None:
    for index in range(10_001):
        rows.fields.add(name=f"f{index}").type.atomic_type = schema_pb2.INT64


def _windows(urn: str, payload: bytes = b"") -> Spoil:
    def spoil(request: Request) -> None:
        window_fn = request.components.windowing_strategies[WINDOWING].window_fn
        window_fn.urn, window_fn.payload = urn, payload

    return spoil


def _no_trigger(request: Request) -> None:
    request.components.windowing_strategies[WINDOWING].ClearField("trigger")


def _trigger_without_delay(request: Request) -> None:
    request.components.windowing_strategies[WINDOWING].trigger.after_processing_time.SetInParent()


def _trigger_of_nothing(request: Request) -> None:
    request.components.windowing_strategies[WINDOWING].trigger.repeat.SetInParent()


def _long_name(request: Request) -> None:
    request.transform.unique_name = "x" * 1_000_000


def _long_namespace(request: Request) -> None:
    request.namespace = "x" * 100_000


def _long_id(request: Request) -> None:
    request.components.coders["c" * 100_000].spec.urn = "beam:coder:bytes:v1"


def _many_coders(request: Request) -> None:
    for index in range(10_001):
        request.components.coders[f"c{index}"].spec.urn = "beam:coder:bytes:v1"


def _many_parts(request: Request) -> None:
    request.components.coders["c3"].component_coder_ids.extend(["c2"] * 20_000)


def _own_ids(request: Request) -> None:
    """Takes every id that an expansion gives."""
    for kind in ("coders", "pcollections", "windowing_strategies", "environments", "transforms"):
        for name in _OWN_IDS[kind]:
            getattr(request.components, kind)[name].SetInParent()


_OWN_IDS: dict[str, list[str]] = {}
_SESSION = standard_window_fns_pb2.SessionWindowsPayload()
_SESSION.gap_size.seconds = -5

MALFORMED: dict[str, Spoil] = {
    "schema that is none": _coder(b"\xff\xff"),
    "field without a type": _field(lambda rows: rows.fields.add(name="x")),
    "type that is not specified": _field(lambda rows: rows.fields.add(name="x").type.SetInParent()),
    "unknown type": _field(lambda rows: setattr(rows.fields.add(name="x").type, "atomic_type", 77)),
    "logical type of nothing": _field(
        lambda rows: setattr(rows.fields.add(name="x").type.logical_type, "urn", "beam:u")
    ),
    "two fields of one name": _field(lambda rows: rows.fields.append(rows.fields[0])),
    "misplaced field": _field(_misplaced),
    "deep nesting": _field(_nested),
    "many fields": _field(_many_fields),
    "window payload that is none": _windows("beam:window_fn:fixed_windows:v1", b"\xff"),
    "windows of no size": _windows("beam:window_fn:fixed_windows:v1"),
    "sliding windows of no size": _windows("beam:window_fn:sliding_windows:v1"),
    "negative sessions": _windows("beam:window_fn:session_windows:v1", _SESSION.SerializeToString()),
    "pickled windows": _windows(python_urns.PICKLED_WINDOWFN, b"gASVCgAAAAAAAACMBnBvc2l4lC4="),
    "no trigger": _no_trigger,
    "trigger without its delay": _trigger_without_delay,
    "trigger of nothing": _trigger_of_nothing,
    "long name": _long_name,
    "long namespace": _long_namespace,
    "long id": _long_id,
    "many coders": _many_coders,
    "many parts of a coder": _many_parts,
    "empty request": lambda request: request.Clear(),
    "ids of the expansion": _own_ids,
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_request_is_refused_in_one_short_sentence(
    kind: str, servicer: EnsembleExpansionServicer, caplog: pytest.LogCaptureFixture
) -> None:
    plain = servicer.Expand(_request())
    for components in ("coders", "pcollections", "windowing_strategies", "environments", "transforms"):
        own = getattr(plain.components, components)
        _OWN_IDS[components] = sorted(set(own) - set(getattr(_request().components, components)) - _RENAMED)
    request = _request()
    MALFORMED[kind](request)
    caplog.clear()
    with caplog.at_level(logging.INFO):
        answer = servicer.Expand(request)
    assert answer.error
    assert "internal error" not in answer.error
    assert "\n" not in answer.error
    assert len(answer.error) < 1_000
    (line,) = [record for record in caplog.records if record.name.startswith("beam_ensembles_service")]
    assert line.getMessage().startswith("refused ")
    assert line.exc_info is None


_RENAMED = {"c2@QxXkLm", "c3@QxXkLm"}


def _unread_row(request: Request) -> None:
    request.components.coders["odd"].spec.urn = "beam:coder:row:v1"
    request.components.coders["odd"].spec.payload = b"\xff\xff"


def _unread_cycle(request: Request) -> None:
    request.components.coders["c3"].component_coder_ids.append("c3")


def _unread_gone(request: Request) -> None:
    request.components.coders["c3"].component_coder_ids.append("gone")


def _unread_environment(request: Request) -> None:
    environment = request.components.environments["odd"]
    environment.urn, environment.payload = "beam:env:process:v1", b"\xff\xff"
    environment.capabilities.extend(["x" * 1000] * 1000)


def _unread_collection(request: Request) -> None:
    request.components.pcollections["odd"].coder_id = "gone"
    request.output_coder_requests["output"] = "gone"


@pytest.mark.parametrize(
    "spoil", [_unread_row, _unread_cycle, _unread_gone, _unread_environment, _unread_collection]
)
def test_what_the_input_does_not_need_is_carried_along_unread(
    spoil: Spoil, servicer: EnsembleExpansionServicer
) -> None:
    request = _request()
    spoil(request)
    answer = servicer.Expand(request)
    assert not answer.error
    assert answer.components.environments["go"] == request.components.environments["go"]


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("field", ["array<row<x: string>>", "string"])
def test_a_large_configuration_costs_no_more_than_its_bytes(
    field: str, servicer: EnsembleExpansionServicer, traced: None
) -> None:
    payload = payload_of({"spec": "x"})
    payload.configuration_schema.fields[0].CopyFrom(schema("s", parameters=field).fields[0])
    # one field, no nulls, then four million rows of no fields and no nulls
    payload.configuration_row = b"\x01\x00" + (4_000_000).to_bytes(4, "big") + bytes(8_000_000)
    request = _request()
    request.transform.spec.payload = payload.SerializeToString()
    began = time.process_time()
    tracemalloc.reset_peak()
    answer = servicer.Expand(request)
    assert "[wrong_type] parameters" in answer.error
    assert time.process_time() - began < 2
    assert tracemalloc.get_traced_memory()[1] < 40 << 20


@pytest.mark.parametrize("more", [{}, {"error_handling": {"output": "errors"}, "provenance": True}])
def test_rows_of_many_fields_take_time_in_proportion(
    more: dict[str, object], servicer: EnsembleExpansionServicer
) -> None:
    def seconds(count: int) -> float:
        rows = schema("t", a="double", b="double", **{f"f{index}": "double" for index in range(count)})
        wanted = schema("w", **{f"f{index}": "double" for index in reversed(range(count))})
        config = {"spec": MEAN_OF_TWO, "output_schema": wanted.SerializeToString(), **more}
        request = like_go(config, rows)
        began = time.process_time()
        assert not servicer.Expand(request).error
        return time.process_time() - began

    seconds(10)
    most = 15 * min(seconds(900) for _ in range(3)) + 0.5
    assert any(seconds(9_000) < most for _ in range(3))


def test_a_configuration_over_its_limit_is_refused(servicer: EnsembleExpansionServicer) -> None:
    request = like_go({"spec": "x" * (17 << 20)}, ROWS)
    assert "at most 16777216 are allowed" in servicer.Expand(request).error


def test_schemas_of_many_requests_are_not_kept(servicer: EnsembleExpansionServicer) -> None:
    def held() -> tuple[int, int]:
        return len(SCHEMA_REGISTRY.by_id), len(typecoders.registry._coders)

    def expand(first: int) -> None:
        for index in range(first, first + 5):
            rows = schema("t", a="double", b="double", **{f"f{index}": "row<x: double>"})
            assert not servicer.Expand(like_go({"spec": MEAN_OF_TWO}, rows)).error

    expand(0)
    before = held()
    expand(5)
    assert held() == before
