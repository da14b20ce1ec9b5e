"""Which requests are served, and which are refused before anything in them is decoded."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from apache_beam.internal import pickler
from apache_beam.portability import python_urns
from apache_beam.portability.api import beam_expansion_api_pb2, beam_runner_api_pb2, external_transforms_pb2

from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.transforms import RUN_ENSEMBLE
from beam_ensembles_service.requests.policy import check_encoding, check_request
from beam_ensembles_service.requests.servicer import EnsembleExpansionServicer
from beam_ensembles_service.requests.sizes import RequestRefused
from tests.support.expansion_requests import MEAN_OF_TWO, like_go, like_java, payload_of, schema

Request = beam_expansion_api_pb2.ExpansionRequest
ROWS = schema("rows", a="double", b="double")
CONFIG = {"spec": MEAN_OF_TWO}


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    return tmp_path / "decoded"


def _as_transform(request: Request, trap: Path) -> None:
    request.transform.spec.urn = python_urns.PICKLED_TRANSFORM
    request.transform.spec.payload = pickler.dumps(Trap(trap))


def _as_fully_qualified_name(request: Request, trap: Path) -> None:
    request.transform.spec.urn = "beam:transforms:python:fully_qualified_named"


def _as_producer(request: Request, trap: Path) -> None:
    (name,) = request.components.transforms
    producer = request.components.transforms[name]
    producer.spec.urn = python_urns.PICKLED_TRANSFORM
    producer.spec.payload = pickler.dumps(Trap(trap))


def _as_coder(request: Request, trap: Path) -> None:
    coder = request.components.coders["extra"]
    coder.spec.urn = python_urns.PICKLED_CODER
    coder.spec.payload = pickler.dumps(Trap(trap))


def _as_input_coder(request: Request, trap: Path) -> None:
    (collection,) = request.components.pcollections.values()
    coder = request.components.coders[collection.coder_id]
    coder.spec.urn = python_urns.PICKLED_CODER
    coder.spec.payload = pickler.dumps(Trap(trap))


def _as_coder_id(request: Request, trap: Path) -> None:
    (collection,) = request.components.pcollections.values()
    collection.coder_id = pickler.dumps(Trap(trap)).decode("ascii")


def _as_component_of_the_input_coder(request: Request, trap: Path) -> None:
    _as_coder(request, trap)
    (collection,) = request.components.pcollections.values()
    request.components.coders[collection.coder_id].component_coder_ids.append("extra")


def _as_output_coder(request: Request, trap: Path) -> None:
    _as_coder(request, trap)
    request.output_coder_requests["output"] = "extra"


def _as_output_coder_id(request: Request, trap: Path) -> None:
    request.output_coder_requests["output"] = pickler.dumps(Trap(trap)).decode("ascii")


def _as_window_fn(request: Request, trap: Path) -> None:
    (windowing,) = request.components.windowing_strategies.values()
    windowing.window_fn.urn = python_urns.PICKLED_WINDOWFN
    windowing.window_fn.payload = pickler.dumps(Trap(trap))


def _as_python_source(request: Request, trap: Path) -> None:
    payload = payload_of(CONFIG)
    payload.configuration_schema.fields[0].type.ClearField("atomic_type")
    payload.configuration_schema.fields[0].type.logical_type.urn = "beam:logical_type:python_callable:v1"
    payload.configuration_schema.fields[0].type.logical_type.representation.atomic_type = 7
    request.transform.spec.payload = payload.SerializeToString()


def _as_other_identifier(request: Request, trap: Path) -> None:
    payload = external_transforms_pb2.SchemaTransformPayload(identifier="beam:schematransform:org:other:v1")
    request.transform.spec.payload = payload.SerializeToString()


REFUSED = [
    _as_transform,
    _as_fully_qualified_name,
    _as_input_coder,
    _as_component_of_the_input_coder,
    _as_coder_id,
    _as_window_fn,
    _as_python_source,
    _as_other_identifier,
]


@pytest.mark.parametrize("request_", [like_go(CONFIG, ROWS), like_java(CONFIG, ROWS)], ids=["go", "java"])
def test_a_request_for_an_ensemble_is_served(request_: Request) -> None:
    assert check_request(request_).identifier == RUN_ENSEMBLE


@pytest.mark.parametrize("spoil", REFUSED)
def test_anything_else_is_refused_in_one_sentence(
    spoil: Callable[[Request, Path], None], trap: Path, servicer: EnsembleExpansionServicer
) -> None:
    request = like_java(CONFIG, ROWS)
    spoil(request, trap)
    with pytest.raises(EnsembleError) as refusal:
        check_request(request)
    answer = servicer.Expand(request)
    assert answer.error == str(refusal.value)
    assert "Traceback" not in answer.error
    assert not trap.exists()


@pytest.mark.parametrize("spoil", [_as_producer, _as_coder, _as_output_coder, _as_output_coder_id])
def test_what_is_not_needed_is_not_decoded(
    spoil: Callable[[Request, Path], None], trap: Path, servicer: EnsembleExpansionServicer
) -> None:
    request = like_java(CONFIG, ROWS)
    spoil(request, trap)
    assert not servicer.Expand(request).error
    assert not trap.exists()


def test_the_trap_works(trap: Path) -> None:
    pickle.loads(pickle.dumps(Trap(trap)))
    assert trap.exists()


def test_a_pipeline_option_that_names_a_runner_is_not_followed(
    trap: Path, monkeypatch: pytest.MonkeyPatch, servicer: EnsembleExpansionServicer
) -> None:
    (trap.parent / "planted.py").write_text(f"open({str(trap)!r}, 'w').close()\nclass Runner: pass\n")
    monkeypatch.syspath_prepend(trap.parent)
    request = like_java(CONFIG, ROWS)
    request.pipeline_options["beam:option:runner:v1"] = "planted.Runner"
    assert not servicer.Expand(request).error
    assert not trap.exists()


def test_an_input_that_is_not_rows_is_a_problem_of_the_input() -> None:
    request = like_go(CONFIG, ROWS)
    request.components.coders["c0@QxXkLm"].spec.urn = "beam:coder:kv:v1"
    with pytest.raises(InvalidEnsemble) as error:
        check_request(request)
    (problem,) = error.value.problems
    assert (problem.code, problem.path) == ("input_not_rows", "input")
    assert "beam:coder:kv:v1" in problem.message


@pytest.mark.parametrize(
    ("coder", "is_arrow", "found"),
    [
        ("row", False, []),
        ("bytes", True, []),
        ("bytes", False, [("input_not_rows", "input")]),
        ("row", True, [("wrong_config", "encoding")]),
    ],
)
def test_elements_must_be_what_the_configuration_says(
    coder: str, is_arrow: bool, found: list[tuple[str, str]]
) -> None:
    request = like_go(CONFIG, ROWS)
    request.components.coders["c0@QxXkLm"].spec.urn = f"beam:coder:{coder}:v1"
    check_request(request)
    problems = []
    try:
        check_encoding(request, is_arrow)
    except InvalidEnsemble as error:
        problems = [(problem.code, problem.path) for problem in error.problems]
    assert problems == found


def _without_input(request: Request) -> None:
    request.transform.inputs.clear()


def _two_inputs(request: Request) -> None:
    request.transform.inputs["other"] = "n2"


def _missing_collection(request: Request) -> None:
    del request.components.pcollections["n1"]


def _missing_windowing(request: Request) -> None:
    request.components.windowing_strategies.clear()


def _no_payload(request: Request) -> None:
    request.transform.spec.payload = b"\xff\xff"


@pytest.mark.parametrize(
    "spoil", [_without_input, _two_inputs, _missing_collection, _missing_windowing, _no_payload]
)
def test_a_request_that_is_not_whole_is_refused(spoil: Callable[[Request], None]) -> None:
    request = like_go(CONFIG, ROWS)
    spoil(request)
    with pytest.raises(RequestRefused):
        check_request(request)


def test_an_identifier_with_a_slip_is_told_the_right_one() -> None:
    request = like_go(CONFIG, ROWS)
    payload = external_transforms_pb2.SchemaTransformPayload(identifier=RUN_ENSEMBLE.replace("run_", "ru_"))
    request.transform.spec.CopyFrom(
        beam_runner_api_pb2.FunctionSpec(urn=request.transform.spec.urn, payload=payload.SerializeToString())
    )
    with pytest.raises(RequestRefused, match=f"did you mean '{RUN_ENSEMBLE}'"):
        check_request(request)
