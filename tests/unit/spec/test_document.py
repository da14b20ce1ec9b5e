"""Text to plain data: what is read, and what is refused with which words."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.graph.kinds import options_of
from beam_ensembles.registry import KINDS
from beam_ensembles.spec import examine_text, load_text
from beam_ensembles.spec.document import read_document

OPTIONS = options_of(KINDS)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_yaml_and_json_are_one_document() -> None:
    as_yaml = 'a: {b: [1, 2.5, no, "2"]}\nc: null\n'
    as_json = '{"a": {"b": [1, 2.5, "no", "2"]}, "c": null}'
    assert read_document(as_yaml).data == read_document(as_json).data == json.loads(as_json)
    assert read_document(as_yaml).places == read_document(as_json).places


@pytest.mark.parametrize(
    "text",
    [
        '\t{"a":\t"tabs"}',
        '{"slash": "\\/", "pair": "\\ud83d\\ude00"}',
        '{"' + "long" * 500 + '": 1}',
        '\ufeff{"a": 1}',
        '{"number": 1e5, "whole": 10}',
    ],
)
def test_json_that_is_no_yaml_1_1(text: str) -> None:
    document = read_document(text)
    assert not document.problems
    assert document.data == json.loads(text.removeprefix("\ufeff"))


def test_flow_style_is_no_json_and_is_read() -> None:
    assert read_document("{a: 1, b: [x]} # a comment").data == {"a": 1, "b": ["x"]}


def test_keys_are_text_as_written() -> None:
    assert read_document("{1: a, no: b, null: c, <<: d}").data == {
        "1": "a",
        "no": "b",
        "null": "c",
        "<<": "d",
    }


def test_quoted_words_are_text() -> None:
    assert read_document("""{a: "1", b: 'true', c: !!str 3, d: "~"}""").data == {
        "a": "1", "b": "true", "c": "3", "d": "~",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: b: c", "line 1, column 5"),
        ("{a: array<double>[3]}", "must be quoted"),
        ("a: 1\n\tb: 2", "line 2"),
        ("? [a]\n: b", "a key is a word"),
        ("a: !!binary YQ==", "the tag '!!binary'"),
        ("a: !own {b: 1}", "the tag '!own'"),
        ("a: &a 1\nb: *a", "aliases (*a)"),
        ("a: \x07", "control characters"),
        ("a: \ud800", "surrogate"),
        ('{"a": "\\ud800"}', "surrogate"),
        ("[" * 100_000, "nested more than 64 deep"),
        ("- " * 100_000, "nested more than 64 deep"),
        ("{a: " * 100_000, "nested more than 64 deep"),
        ('{"a":' * 100 + "1" + "}" * 100, "nested more than 64 deep"),
        ('{"a":' * 100_000, "nested more than 64 deep"),
    ],
)
def test_syntax(text: str, words: str) -> None:
    (problem,) = read_document(text).problems
    assert problem.code == "syntax"
    assert words in problem.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "(lines 1 and 3)"),
        ("{a: 1, a: 3}", "(line 1)"),
        ('{"a": 1, "a": 3}', "twice in one mapping; keep one"),
    ],
)
def test_a_key_that_stands_twice_keeps_its_first_value(text: str, message: str) -> None:
    document = read_document(text)
    (problem,) = document.problems
    assert (problem.code, problem.path) == ("duplicate_key", "a")
    assert message in problem.message
    assert document.data["a"] == 1


def test_what_stands_below_a_second_key_is_not_reported_again() -> None:
    for text in ("a: {b: 1}\na: {b: 2}", '{"a": {"b": 1}, "a": {"b": 2}}'):
        assert [problem.path for problem in read_document(text).problems] == ["a"]


def test_aliases_cannot_grow_a_file() -> None:
    lines = ["a0: &a0 [lol]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))]
    document = read_document("\n".join(lines))
    assert len(document.problems) == 81
    assert {problem.code for problem in document.problems} == {"syntax"}


def test_several_documents() -> None:
    (problem,) = read_document("a: 1\n---\nb: 2").problems
    assert problem.code == "several_documents"
    assert read_document("---\na: 1\n...\n").data == {"a": 1}


@given(PLAIN)
def test_json_reads_as_json_does(data: Any) -> None:
    document = read_document(json.dumps({"key": data}))
    assert not document.problems
    assert document.data == {"key": data}


@given(PLAIN)
def test_yaml_that_was_written_is_read(data: Any) -> None:
    text = yaml.safe_dump({"key": data}, allow_unicode=True)
    if "&id" not in text and "? " not in text and "!!" not in text and "\\" not in text:
        assert not read_document(text).problems


@given(st.text() | st.text(alphabet="ab:-?[]{}\"'#&*!|>%@` \n\t\\,0123.~"))
def test_no_text_gives_a_traceback(text: str) -> None:
    with pytest.raises(InvalidEnsemble):
        load_text(text, OPTIONS)


@given(
    st.dictionaries(st.sampled_from(["ensemble", "inputs", "nodes", "outputs", "description", "x"]), PLAIN)
)
def test_no_mapping_gives_a_traceback(data: dict[str, Any]) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        load_text(json.dumps(data), OPTIONS)
    assert caught.value.problems


@given(
    st.dictionaries(
        st.sampled_from(["model", "combine", "inputs", "outputs", "when", "select", "uri", "weights"]), PLAIN
    )
)
def test_no_node_gives_a_traceback(node: dict[str, Any]) -> None:
    spec, problems = examine_text(
        json.dumps({"ensemble": "e", "inputs": {"x": "double"}, "nodes": {"n": node}}), OPTIONS
    )
    assert spec is not None
    assert all(problem.path.startswith("nodes.n") for problem in problems)


def test_a_file_of_twenty_nodes_is_read_at_once() -> None:
    node = 'sha256: abc, method: predict_proba, inputs: [x], outputs: {{p{0}: "array<double>[10]"}}'
    nodes = "\n".join(f"  n{n}: {{model: sklearn, uri: a.joblib, {node.format(n)}}}" for n in range(20))
    text = f"ensemble: big\ninputs: {{x: double}}\nnodes:\n{nodes}\n"
    start = time.process_time()
    spec = load_text(text, OPTIONS)
    assert len(spec.nodes) == 20
    assert time.process_time() - start < 0.5  # it takes 1 ms; a quadratic reader would take far more
