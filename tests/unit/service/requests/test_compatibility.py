"""Requests of every SDK in, answers that each SDK survives out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from apache_beam.portability.api import beam_expansion_api_pb2, beam_runner_api_pb2, schema_pb2

from beam_ensembles_service.requests.compatibility import adapt, restore
from beam_ensembles_service.requests.sizes import RequestRefused
from tests.support.expansion_requests import MEAN_OF_TWO, like_go, like_java, schema

CONFIG = {"spec": MEAN_OF_TWO}
ROWS = schema("go-type", a="double", b="double", inner="row<x: double>")
ROWS.fields[2].type.row_type.schema.id = "go-inner"


def _row_schema(components: beam_runner_api_pb2.Components, collection: str) -> schema_pb2.Schema:
    coder_id = components.pcollections[collection].coder_id
    return schema_pb2.Schema.FromString(components.coders[coder_id].spec.payload)


def _echo(request: beam_expansion_api_pb2.ExpansionRequest) -> beam_expansion_api_pb2.ExpansionResponse:
    """Answers with an output like the input, as an expansion that changes nothing would."""
    response = beam_expansion_api_pb2.ExpansionResponse(components=request.components)
    (input_id,) = request.transform.inputs.values()
    response.components.pcollections["made"].CopyFrom(request.components.pcollections[input_id])
    response.transform.outputs["output"] = "made"
    return response


def test_coder_ids_of_go_come_into_the_namespace_and_still_fit_together() -> None:
    components = adapt(like_go(CONFIG, ROWS)).renamed
    assert set(components.coders) == {"c0@QxXkLm", "c1@QxXkLm", "c2@QxXkLm", "c3@QxXkLm"}
    assert list(components.coders["c3@QxXkLm"].component_coder_ids) == ["c2@QxXkLm"]
    assert components.pcollections["n1"].coder_id == "c0@QxXkLm"
    assert components.windowing_strategies["w0@QxXkLm"].window_coder_id == "c1@QxXkLm"


def test_coder_ids_of_java_come_into_the_namespace_and_still_fit_together() -> None:
    components = adapt(like_java(CONFIG, ROWS)).renamed
    collection = components.pcollections["External_3PCollection"]
    windowing = components.windowing_strategies[collection.windowing_strategy_id]
    assert collection.coder_id.endswith("@External_3")
    assert {collection.coder_id, windowing.window_coder_id} == set(components.coders)


def test_only_what_the_input_needs_reaches_beam_and_all_of_it_comes_back() -> None:
    original = like_go(CONFIG, ROWS)
    original.components.environments["odd"].urn = "no:such:urn"
    original.components.coders["cycle"].component_coder_ids.append("cycle")
    adapted = adapt(original)
    needed = adapted.request.components
    found = [set(needed.coders), set(needed.pcollections), set(needed.windowing_strategies)]
    assert found == [{"c0@QxXkLm"}, {"n1"}, {"w0@QxXkLm"}]
    assert not needed.environments
    response = _echo(adapted.request)
    restore(adapted, response, {})
    assert response.components.environments == original.components.environments
    assert set(response.components.coders) == set(adapted.renamed.coders)


def test_a_caller_cannot_replace_what_the_expansion_makes() -> None:
    original = like_go(CONFIG, ROWS)
    original.components.pcollections["made"].coder_id = "c2"
    adapted = adapt(original)
    with pytest.raises(RequestRefused, match="'made'"):
        restore(adapted, _echo(adapted.request), {})


@pytest.mark.parametrize("build", [like_go, like_java])
def test_the_input_has_one_producer_in_between_and_the_callers_own_after(
    build: Callable[..., beam_expansion_api_pb2.ExpansionRequest],
) -> None:
    original = build(CONFIG, ROWS)
    adapted = adapt(original)
    (producer,) = adapted.request.components.transforms.values()
    assert list(producer.outputs.values()) == list(original.transform.inputs.values())
    response = _echo(adapted.request)
    restore(adapted, response, {})
    assert response.components.transforms == original.components.transforms


def test_schemas_of_one_id_and_two_contents_have_two_ids_in_between() -> None:
    one, other = schema("same", x="double"), schema("same", x="string")
    ids = [_row_schema(adapt(like_go(CONFIG, rows)).request.components, "n1").id for rows in (one, other)]
    assert len({"same", *ids}) == 3


def test_the_caller_gets_its_own_schema_ids_back() -> None:
    adapted = adapt(like_go(CONFIG, ROWS))
    between = _row_schema(adapted.request.components, "n1")
    assert between.fields[2].type.row_type.schema.id != "go-inner"
    response = _echo(adapted.request)
    restore(adapted, response, {})
    for collection in ("n1", "made"):
        assert _row_schema(response.components, collection) == ROWS


def test_a_schema_without_id_stays_without() -> None:
    rows = schema("", a="double")
    assert _row_schema(adapt(like_go(CONFIG, rows)).request.components, "n1") == rows


def test_the_callers_schema_is_stamped_on_the_output_and_on_nothing_else() -> None:
    adapted = adapt(like_go(CONFIG, ROWS))
    expected = schema_pb2.Schema()
    expected.CopyFrom(ROWS)
    expected.id = "go-scored"
    expected.fields[2].type.row_type.schema.id = "go-other-inner"
    response = _echo(adapted.request)
    restore(adapted, response, {"output": expected})
    assert _row_schema(response.components, "made") == expected
    assert _row_schema(response.components, "n1") == ROWS


@pytest.mark.parametrize(
    "expected",
    [
        schema("x", b="double", a="double", inner="row<x: double>"),
        schema("x", a="double", b="double", inner="row<y: double>"),
        schema("x", a="double?", b="double", inner="row<x: double>"),
        schema("x", a="double", b="double"),
    ],
    ids=["order", "inner name", "nullable", "fewer"],
)
def test_a_schema_of_other_rows_is_never_stamped(expected: schema_pb2.Schema) -> None:
    adapted = adapt(like_go(CONFIG, ROWS))
    with pytest.raises(ValueError, match="output"):
        restore(adapted, _echo(adapted.request), {"output": expected})


def test_the_original_request_stays_as_it_is() -> None:
    original = like_go(CONFIG, ROWS)
    adapt(original)
    assert original == like_go(CONFIG, ROWS)


def test_the_answer_names_the_transform_that_was_asked_for() -> None:
    adapted = adapt(like_go(CONFIG, ROWS))
    response = _echo(adapted.request)
    restore(adapted, response, {})
    assert response.transform.spec == adapted.original.transform.spec
