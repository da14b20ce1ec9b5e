"""A request in, an answer out, without a network."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from apache_beam.portability.api import (
    beam_expansion_api_pb2,
    beam_runner_api_pb2,
    schema_pb2,
    standard_window_fns_pb2,
)

from beam_ensembles_service.requests import servicer as servicer_module
from beam_ensembles_service.requests.servicer import EnsembleExpansionServicer
from tests.support.expansion_requests import MEAN_OF_TWO, like_go, like_java, schema
from tests.unit.service.conftest import WORKER_PORT

Build = Callable[..., beam_expansion_api_pb2.ExpansionRequest]
ROWS = schema("rows", a="double", b="double", name="string")
BOTH = pytest.mark.parametrize("build", [like_go, like_java])


def _output_schema(answer: beam_expansion_api_pb2.ExpansionResponse, tag: str) -> schema_pb2.Schema:
    collection = answer.components.pcollections[answer.transform.outputs[tag]]
    return schema_pb2.Schema.FromString(answer.components.coders[collection.coder_id].spec.payload)


def _annotated(answer: beam_expansion_api_pb2.ExpansionResponse, tag: str) -> schema_pb2.Schema:
    """Returns the schema that a client reads record batches by where it knows no other."""
    return schema_pb2.Schema.FromString(answer.transform.annotations["io.github.beamensembles:schema:" + tag])


@BOTH
def test_one_output_keeps_its_tag_and_its_rows(build: Build, servicer: EnsembleExpansionServicer) -> None:
    answer = servicer.Expand(build({"spec": MEAN_OF_TWO}, ROWS))
    assert not answer.error
    assert list(answer.transform.outputs) == ["output"]
    fields = [field.name for field in _output_schema(answer, "output").fields]
    assert fields == ["a", "b", "name", "m"]


@BOTH
def test_the_error_output_has_the_name_that_was_asked_for(
    build: Build, servicer: EnsembleExpansionServicer
) -> None:
    answer = servicer.Expand(build({"spec": MEAN_OF_TWO, "error_handling": {"output": "errors"}}, ROWS))
    assert not answer.error
    assert set(answer.transform.outputs) == {"output", "errors"}
    fields = [field.name for field in _output_schema(answer, "errors").fields]
    assert fields == ["element", "ensemble", "node", "code", "msg", "stack"]


def test_outputs_come_in_the_callers_order_under_the_callers_ids(
    servicer: EnsembleExpansionServicer,
) -> None:
    output = schema("go-scored", m="double", name="string")
    errors = schema(
        "go-failed",
        element="row<a: double, b: double, name: string>",
        **dict.fromkeys(("ensemble", "node", "code", "msg", "stack"), "string"),
    )
    errors.fields[0].type.row_type.schema.id = "go-rows"
    config = {
        "spec": MEAN_OF_TWO,
        "error_handling": {"output": "errors"},
        "output_schema": output.SerializeToString(),
        "errors_schema": errors.SerializeToString(),
    }
    answer = servicer.Expand(like_go(config, ROWS))
    assert not answer.error
    assert _output_schema(answer, "output") == output
    assert _output_schema(answer, "errors") == errors


def test_two_programs_with_one_type_name_and_other_fields_do_not_meet(
    servicer: EnsembleExpansionServicer,
) -> None:
    first = servicer.Expand(like_go({"spec": MEAN_OF_TWO}, schema("T", a="double", b="double")))
    second = servicer.Expand(like_go({"spec": MEAN_OF_TWO}, schema("T", z="string", b="double", a="double")))
    assert [field.name for field in _output_schema(first, "output").fields] == ["a", "b", "m"]
    assert [field.name for field in _output_schema(second, "output").fields] == ["z", "b", "a", "m"]


@BOTH
def test_the_answer_gives_back_nothing_that_could_hide_the_callers_own(
    build: Build, servicer: EnsembleExpansionServicer
) -> None:
    request = build({"spec": MEAN_OF_TWO}, ROWS)
    answer = servicer.Expand(request)
    assert all(request.namespace in name for name in answer.components.coders)
    new = set(answer.components.transforms) - set(request.components.transforms)
    assert all(name.startswith(request.namespace) for name in new)
    for name, environment in request.components.environments.items():
        assert answer.components.environments[name] == environment


def test_workers_are_external_at_an_address_that_can_be_dialled(
    servicer: EnsembleExpansionServicer,
) -> None:
    answer = servicer.Expand(like_go({"spec": MEAN_OF_TWO}, ROWS))
    used = {t.environment_id for t in answer.components.transforms.values() if t.environment_id}
    (environment,) = (answer.components.environments[name] for name in used)
    assert environment.urn == "beam:env:external:v1"
    payload = beam_runner_api_pb2.ExternalPayload.FromString(environment.payload)
    assert payload.endpoint.url == f"127.0.0.1:{WORKER_PORT}"
    assert not environment.dependencies


def test_a_mistake_in_the_file_is_answered_in_the_words_of_the_file(
    servicer: EnsembleExpansionServicer,
) -> None:
    spec = MEAN_OF_TWO.replace("[a, b]", "[a, bb]")
    answer = servicer.Expand(like_go({"spec": spec}, ROWS))
    assert answer.error.startswith(
        "ensemble 'pair' is not valid: 1 problem\n  [unknown_column] nodes.middle."
    )
    assert "did you mean 'b'" in answer.error
    assert "Traceback" not in answer.error
    assert not answer.HasField("transform")


def test_a_field_that_the_input_lacks_is_a_problem_of_the_input(servicer: EnsembleExpansionServicer) -> None:
    answer = servicer.Expand(like_go({"spec": MEAN_OF_TWO}, schema("rows", a="double")))
    assert "[missing_field] input.b: " in answer.error


def test_an_option_that_this_version_does_not_know_is_named(servicer: EnsembleExpansionServicer) -> None:
    answer = servicer.Expand(like_go({"spec": MEAN_OF_TWO, "prefx": "x"}, ROWS))
    assert "[unknown_option] prefx: " in answer.error
    assert "did you mean 'prefix'" in answer.error


def test_a_defect_of_ours_is_one_sentence_for_the_caller_and_a_traceback_in_the_log(
    servicer: EnsembleExpansionServicer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr(servicer_module, "expand", broken)
    with caplog.at_level(logging.ERROR, servicer_module.__name__):
        answer = servicer.Expand(like_go({"spec": MEAN_OF_TWO}, ROWS))
    assert answer.error.startswith("internal error: ZeroDivisionError: two lines")
    assert "\n" not in answer.error
    assert caplog.records[0].exc_info


def test_no_temporary_folder_is_left_behind(
    servicer: EnsembleExpansionServicer, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert not servicer.Expand(like_go({"spec": MEAN_OF_TWO}, ROWS)).error
    assert list(tmp_path.iterdir()) == []


def test_windows_of_the_input_are_those_of_the_output(servicer: EnsembleExpansionServicer) -> None:
    request = like_go({"spec": MEAN_OF_TWO}, ROWS)
    windows = standard_window_fns_pb2.FixedWindowsPayload()
    windows.size.FromSeconds(10)
    windows.offset.FromSeconds(0)
    windowing = request.components.windowing_strategies["w0@QxXkLm"]
    windowing.window_fn.urn = "beam:window_fn:fixed_windows:v1"
    windowing.window_fn.payload = windows.SerializeToString()
    answer = servicer.Expand(request)
    collection = answer.components.pcollections[answer.transform.outputs["output"]]
    made = answer.components.windowing_strategies[collection.windowing_strategy_id]
    assert made.window_fn == windowing.window_fn


@BOTH
def test_rows_in_arrow_batches_are_bytes_on_both_sides(
    build: Build, servicer: EnsembleExpansionServicer
) -> None:
    config = {
        "spec": MEAN_OF_TWO,
        "error_handling": {"output": "errors"},
        "encoding": "arrow",
        "input_schema": ROWS.SerializeToString(),
        "output_schema": schema("go-scored", m="double", name="string").SerializeToString(),
    }
    request = build(config, ROWS)
    (collection, *_) = request.components.pcollections.values()
    request.components.coders[collection.coder_id].CopyFrom(
        beam_runner_api_pb2.Coder(spec=beam_runner_api_pb2.FunctionSpec(urn="beam:coder:bytes:v1"))
    )
    answer = servicer.Expand(request)
    assert not answer.error
    for tag in ("output", "errors"):
        made = answer.components.pcollections[answer.transform.outputs[tag]]
        assert answer.components.coders[made.coder_id].spec.urn == "beam:coder:bytes:v1"
    fields = {tag: [field.name for field in _annotated(answer, tag).fields] for tag in ("output", "errors")}
    assert fields == {
        "output": ["m", "name"],
        "errors": ["element", "ensemble", "node", "code", "msg", "stack"],
    }
