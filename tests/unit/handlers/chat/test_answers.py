"""Types become JSON Schema; any text is an answer of these types, or an error of its row."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.chat.answer_schema import is_answerable, schema_of
from beam_ensembles.handlers.chat.answers import Answers
from beam_ensembles.types import Type, parse_type

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


_SIZES = {"float16": 16, "float": 32, "double": 64}
_INTEGERS = {
    f"{'u' * unsigned}int{bits}": (unsigned, bits) for unsigned in (0, 1) for bits in (8, 16, 32, 64)
}
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(st.characters(exclude_categories=["Cs"])),
    "boolean": st.booleans(),
    **{
        name: st.floats(width=size, allow_nan=False, allow_infinity=False)  # type: ignore[arg-type]
        for name, size in _SIZES.items()
    },
    **{
        name: st.integers(0, 2**bits - 1)
        if unsigned
        else st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        for name, (unsigned, bits) in _INTEGERS.items()
    },
}
Typed = tuple[str, st.SearchStrategy[Any]]


def nested(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    lists = inner.map(lambda one: (f"array<{one[0]}>", st.lists(one[1], max_size=3)))
    pairs = inner.map(lambda one: (f"array<{one[0]}>[2]", st.lists(one[1], min_size=2, max_size=2)))
    rows = st.lists(inner, min_size=1, max_size=3).map(
        lambda fields: (
            f"row<{', '.join(f'f{at}: {text}' for at, (text, _) in enumerate(fields))}>",
            st.fixed_dictionaries({f"f{at}": values for at, (_, values) in enumerate(fields)}),
        )
    )
    found = lists | pairs | rows
    return found | found.map(lambda one: (f"{one[0]}?", st.none() | one[1]))


SCALARS = st.sampled_from(sorted(LEAVES)).flatmap(
    lambda name: st.sampled_from([(name, LEAVES[name]), (f"{name}?", st.none() | LEAVES[name])])
)


def type_of(text: str) -> Type | None:
    """Returns a type; None where the type language has none of this form, such as lists of lists without lengths."""
    with contextlib.suppress(ValueError):
        return parse_type(text)
    return None


@given(st.data(), st.recursive(SCALARS, nested, max_leaves=4))
def test_any_type_goes_to_a_schema_and_its_values_come_back(data: st.DataObject, typed: Typed) -> None:
    type_ = type_of(typed[0])
    assume(type_ is not None)
    assert type_ is not None
    assert is_answerable(type_)
    schema = schema_of({"it": type_}, {})
    jsonschema.Draft202012Validator.check_schema(schema)
    answer = {"it": data.draw(typed[1])}
    jsonschema.validate(answer, schema)
    assert Answers({"it": type_}, {}).read(json.dumps(answer)) == answer
