"""Types become JSON Schema; any text is an answer of these types, or an error of its row."""

from __future__ import annotations

import contextlib
import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.chat.answer_schema import is_answerable, schema_of
from beam_ensembles.handlers.chat.answers import Answers
from beam_ensembles.types import parse_type

TYPES = {
    "string": ("text", 1),
    "boolean": (True, "true"),
    "int32": (7, 7.5),
    "int64": (2**60, 2**70),
    "float": (0.5, "0.5"),
    "double": (1e300, [1.0]),
    "string?": (None, 3),
    "array<string>": (["a", "b"], ["a", 1]),
    "array<double>[2]": ([1, 2.5], [1, 2, 3]),
    "row<a: string, b: int64?>": ({"a": "x", "b": None}, {"a": 1, "b": 2}),
    "array<row<a: boolean>>": ([{"a": True}], [{"a": 0}]),
}


@pytest.mark.parametrize("text", TYPES)
def test_a_schema_takes_what_is_read_and_nothing_else(text: str) -> None:
    type_ = parse_type(text)
    right, wrong = TYPES[text]
    answers = Answers({"it": type_}, {})
    schema = schema_of({"it": type_}, {})
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"it": right}, schema)
    assert answers.read(json.dumps({"it": right})) == {"it": right}
    with pytest.raises(NodeError) as caught:
        answers.read(json.dumps({"it": wrong}))
    assert caught.value.code == "bad_output"
    if text != "int64":  # a schema says no range
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"it": wrong}, schema)


@pytest.mark.parametrize(
    "text", ["bytes", "timestamp", "map<string,double>", "array<bytes>", "row<a: timestamp>"]
)
def test_types_that_no_answer_has(text: str) -> None:
    assert not is_answerable(parse_type(text))


def test_choices() -> None:
    answers = Answers({"mood": parse_type("string")}, {"mood": ["good", "bad"]})
    assert answers.read('```json\n{"mood": "bad"}\n```') == {"mood": "bad"}
    with pytest.raises(NodeError, match="allowed: \"'good', 'bad'\""):
        answers.read('{"mood": "fine"}')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("Sure! {}", "not JSON"),
        ('{"it": NaN}', "NaN is not a number of JSON"),
        ("[1]", "an object with it is wanted"),
        ('{"other": 1}', "has no 'it'"),
        ('{"it": "\\ud800"}', "of the answer"),
        ("[" * 100_000, "nested too deep"),
        ('{"it": ' + "9" * 5_000 + "}", "not JSON"),
    ],
)
def test_answers_that_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(NodeError, match=message) as caught:
        Answers({"it": parse_type("string")}, {}).read(text)
    assert caught.value.code == "bad_output"


@given(
    st.text() | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps)
)
def test_any_text_is_values_or_an_error(text: str) -> None:
    answers = Answers({name: parse_type(name) for name in TYPES}, {})
    for given_text in (text, json.dumps(dict.fromkeys(TYPES, text))):
        with contextlib.suppress(NodeError):
            assert answers.read(given_text).keys() == TYPES.keys()
