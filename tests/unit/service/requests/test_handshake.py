"""What a service expands refuses to be unpickled by a worker of other versions."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from apache_beam.coders.coders import deserialize_coder
from apache_beam.internal import pickler
from apache_beam.portability import common_urns, python_urns
from apache_beam.portability.api import beam_expansion_api_pb2, beam_runner_api_pb2
from google.protobuf import wrappers_pb2

import beam_ensembles
from beam_ensembles.errors import EnsembleError
from beam_ensembles.plugins import additions
from beam_ensembles.registry import KindTable
from beam_ensembles.runtime import loading
from beam_ensembles_service.requests.servicer import EnsembleExpansionServicer
from tests.support.expansion_requests import MEAN_OF_TWO, like_go, like_java, schema
from tests.support.plugins import copying, install

BOTH = pytest.mark.parametrize("build", [like_go, like_java])
Build = Callable[..., beam_expansion_api_pb2.ExpansionRequest]
ROWS = schema("rows", a="double", b="double")
PICKLED = wrappers_pb2.BytesValue(value=b"Foreign$cGFja2Vk").SerializeToString()
FUNCTION = beam_runner_api_pb2.ParDoPayload(
    do_fn=beam_runner_api_pb2.FunctionSpec(
        urn=python_urns.PICKLED_DOFN_INFO, payload=base64.b64encode(b"not what bz2 packs")
    )
).SerializeToString()


def _expand(build: Build, servicer: EnsembleExpansionServicer) -> beam_expansion_api_pb2.ExpansionResponse:
    request = build({"spec": MEAN_OF_TWO}, ROWS)
    request.components.coders[f"foreign@{request.namespace}"].spec.urn = python_urns.PICKLED_CODER
    request.components.coders[f"foreign@{request.namespace}"].spec.payload = PICKLED
    request.components.transforms["foreign"].spec.urn = common_urns.primitives.PAR_DO.urn
    request.components.transforms["foreign"].spec.payload = FUNCTION
    answer = servicer.Expand(request)
    assert not answer.error
    return answer


def _functions(answer: beam_expansion_api_pb2.ExpansionResponse) -> list[bytes]:
    return [
        beam_runner_api_pb2.ParDoPayload.FromString(transform.spec.payload).do_fn.payload
        for transform in answer.components.transforms.values()
        if transform.spec.urn == common_urns.primitives.PAR_DO.urn and transform.spec.payload != FUNCTION
    ]


def _coders(answer: beam_expansion_api_pb2.ExpansionResponse) -> list[bytes]:
    payloads = [
        coder.spec.payload
        for coder in answer.components.coders.values()
        if coder.spec.urn == python_urns.PICKLED_CODER and coder.spec.payload != PICKLED
    ]
    return [wrappers_pb2.BytesValue.FromString(payload).value for payload in payloads]


@BOTH
def test_a_worker_of_the_same_versions_gets_what_was_pickled(
    build: Build, servicer: EnsembleExpansionServicer
) -> None:
    answer = _expand(build, servicer)
    names = {type(pickler.loads(function)[0]).__name__ for function in _functions(answer)}
    assert len(names) == 3
    assert all(hasattr(deserialize_coder(coder), "encode") for coder in _coders(answer))


@BOTH
def test_a_worker_of_another_version_unpickles_nothing(
    build: Build, servicer: EnsembleExpansionServicer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = _expand(build, servicer)
    monkeypatch.setattr(beam_ensembles, "__version__", "9.9.9")
    said = r"^ensemble 'pair' was expanded with .* but this worker has beam-ensembles 9\.9\.9: "
    loads: list[tuple[Callable[[bytes], Any], list[bytes]]] = [
        (pickler.loads, _functions(answer)),
        (deserialize_coder, _coders(answer)),
    ]
    for load, pickles in loads:
        assert pickles
        for pickled in pickles:
            with pytest.raises(EnsembleError, match=said):
                load(pickled)


@BOTH
def test_what_a_caller_has_pickled_itself_is_not_unpacked(
    build: Build, servicer: EnsembleExpansionServicer
) -> None:
    answer = _expand(build, servicer)
    assert PICKLED in [coder.spec.payload for coder in answer.components.coders.values()]
    assert answer.components.transforms["foreign"].spec.payload == FUNCTION


@BOTH
def test_a_worker_without_a_plugin_unpickles_nothing(
    build: Build,
    servicer: EnsembleExpansionServicer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(tmp_path, "acme-kinds", {"combine.copy": "acme_kinds:CopyKind"}, code=copying("combine", "copy"))
    spec = MEAN_OF_TWO.replace("mean", "copy").replace("[a, b]", "[a]")
    with monkeypatch.context() as service:
        service.syspath_prepend(str(tmp_path))
        service.setattr(loading, "KINDS", KindTable(additions))
        answer = servicer.Expand(build({"spec": spec}, ROWS))
        assert not answer.error
        assert all(pickler.loads(function) for function in _functions(answer))
    del sys.modules["acme_kinds"]
    for function in _functions(answer):
        with pytest.raises(
            EnsembleError, match=r"plugin acme-kinds 1\.0, but this worker has no plugin acme-kinds: "
        ):
            pickler.loads(function)
