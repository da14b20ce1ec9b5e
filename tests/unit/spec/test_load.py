"""Texts to specs: the valid half, and what is left of a file that is not quite right."""

from __future__ import annotations

import dataclasses
import pathlib
import pickle

import pytest

import beam_ensembles.spec as spec_package
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.graph.kinds import options_of
from beam_ensembles.registry import KINDS
from beam_ensembles.spec import Inputs, OutputSpec, examine_text, load_file, load_text
from beam_ensembles.spec.language import is_name
from beam_ensembles.types import parse_type

OPTIONS = options_of(KINDS)

TEXT = """\
ensemble: digits
description: Two vote.
inputs: {pixels: "array<double>[64]", id: string?}
nodes:
  network:
    model: onnx
    uri: network.onnx
    inputs: {X: pixels}
    outputs:
      proba: {from: probabilities, type: "array<float>[10]"}
      label: {}
      other: null
    config: {providers: null, max_batch_size: 3}
    sha256:
  vote: {combine: mean, inputs: [proba, proba], outputs: {vote: double}, weights: [1, 2]}
outputs: [vote, label]
"""


def test_the_public_names() -> None:
    assert sorted(spec_package.__all__) == [
        "EnsembleSpec", "Inputs", "NodeSpec", "OutputSpec", "examine_text", "load_file", "load_text",
    ]  # fmt: skip


def test_everything_that_a_file_says() -> None:
    spec = load_text(TEXT, OPTIONS, base_uri="/models")
    network, vote = spec.nodes
    assert (spec.name, spec.description, spec.base_uri, spec.text) == ("digits", "Two vote.", "/models", TEXT)
    assert spec.inputs == (("pixels", parse_type("array<double>[64]")), ("id", parse_type("string?")))
    assert spec.outputs == ("vote", "label")
    assert (network.kind, network.target, network.inputs) == ("model", "onnx", Inputs(("pixels",), ("X",)))
    assert network.outputs == (
        OutputSpec("proba", "probabilities", parse_type("array<float>[10]")),
        OutputSpec("label"),
        OutputSpec("other"),
    )
    assert network.options == {"uri": "network.onnx", "config": {"providers": None, "max_batch_size": 3}}
    assert vote.inputs == Inputs(("proba", "proba"))
    assert vote.options == {"weights": [1, 2]}


def test_specs_are_values() -> None:
    spec = load_text(TEXT, OPTIONS)
    assert spec == load_text(TEXT, OPTIONS)
    assert pickle.loads(pickle.dumps(spec)) == spec
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.name = "other"  # type: ignore[misc]


def test_outputs_may_be_left_out() -> None:
    assert load_text(TEXT.replace("outputs: [vote, label]\n", ""), OPTIONS).outputs is None


def test_a_file_is_relative_to_its_folder(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "digits.yaml"
    path.write_text("\ufeff" + TEXT, encoding="utf-8")
    assert load_file(path, OPTIONS) == load_text(TEXT, OPTIONS, base_uri=str(tmp_path))


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"ensemble: \xff", "syntax"), (b"\xff\xfee\x00", "syntax"), (None, "missing_file")],
)
def test_a_file_that_cannot_be_read(tmp_path: pathlib.Path, content: bytes | None, code: str) -> None:
    path = tmp_path / "digits.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidEnsemble) as caught:
        load_file(path, OPTIONS)
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [(code, "$")]


def test_a_folder_is_no_file(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InvalidEnsemble, match="unreadable_file"):
        load_file(tmp_path, OPTIONS)


def test_all_problems_come_together_in_the_order_of_the_file() -> None:
    text = (
        TEXT.replace("description", "descripton").replace("[proba, proba]", "proba").replace("float>", "flt>")
    )
    with pytest.raises(InvalidEnsemble) as caught:
        load_text(text, OPTIONS)
    assert caught.value.ensemble == "digits"
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [
        ("unknown_key", "descripton"),
        ("bad_type", "nodes.network.outputs.proba.type"),
        ("wrong_type", "nodes.vote.inputs"),
    ]


def test_what_is_readable_of_a_wrong_file_is_kept() -> None:
    spec, problems = examine_text(
        TEXT.replace("combine: mean", "combin: mean").replace("string?", "strig?"), OPTIONS
    )
    assert [problem.code for problem in problems] == ["bad_type", "no_kind"]
    assert spec is not None
    assert [name for name, _ in spec.inputs] == ["pixels"]
    assert [(node.name, node.kind) for node in spec.nodes] == [("network", "model"), ("vote", "")]
    assert spec.nodes[1].outputs == (OutputSpec("vote", type=parse_type("double")),)


def test_a_missing_parameter_is_not_reported_as_something_else_too() -> None:
    text = (
        TEXT.replace("digits", "${a}").replace("mean", '"${b}"').replace("[proba, proba]", '["${c}", proba]')
    )
    _, problems = examine_text(text.replace('"array<float>[10]"', '"${d}"'), OPTIONS)
    assert [problem.code for problem in problems] == ["missing_parameter"] * 4


@pytest.mark.parametrize("name", ["a", "_x", "my-field", "class", "A1", "größe", "label_2"])
def test_names(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("name", ["", "__opaque", "1a", "-a", "a.b", "a b", "a[0]", "a\n", "ä:"])
def test_no_names(name: str) -> None:
    assert not is_name(name)


@pytest.mark.parametrize(
    ("node", "place"),
    [
        ("{model: *m, outputs: {z: double}}", "nodes.b.model"),
        ("*m", "nodes.b"),
        ("{model: !!binary YQ==, outputs: {z: double}}", "nodes.b.model"),
    ],
)
def test_a_value_that_is_not_read_is_the_only_thing_told_of_its_node(node: str, place: str) -> None:
    other = "{model: &m sklearn, uri: m, inputs: [x], outputs: {y: double}}"
    text = f"ensemble: e\ninputs: {{x: double}}\nnodes:\n  a: {other}\n  b: {node}\n"
    _, problems = examine_text(text, OPTIONS)
    assert [(problem.code, problem.path) for problem in problems] == [("syntax", place)]


HEAD = "ensemble: e\nnodes: {n: {combine: mean, inputs: [x], outputs: {m: double}}}\ninputs: "


def test_an_input_may_say_that_nanoseconds_are_dropped() -> None:
    text = '{x: double, t: {type: "array<timestamp>", nanoseconds: truncate}, u: {type: timestamp}}'
    spec = load_text(HEAD + text, OPTIONS)
    assert [(name, str(type_)) for name, type_ in spec.inputs] == [
        ("x", "double"),
        ("t", "array<timestamp>"),
        ("u", "timestamp"),
    ]
    assert spec.truncated == {"t"}


@pytest.mark.parametrize(
    ("given", "code", "path", "part"),
    [
        ("{nanoseconds: truncate}", "missing_key", "inputs.t", "needs the key 'type'"),
        ("{type: timestamp, nanoseconds: round}", "wrong_type", "inputs.t.nanoseconds", "'truncate'"),
        ("{type: double, nanoseconds: truncate}", "wrong_type", "inputs.t.type", "only points in time"),
        ("{type: timestamp, nanosecond: truncate}", "unknown_key", "inputs.t.nanosecond", "nanoseconds"),
        ("{type: timestmp}", "bad_type", "inputs.t.type", "timestamp"),
    ],
)
def test_what_an_input_may_not_say(given: str, code: str, path: str, part: str) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        load_text(f"{HEAD}{{x: double, t: {given}}}", OPTIONS)
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == (code, path)
    assert part in problem.message


def test_a_call_overrides_the_parameters_of_the_file() -> None:
    text = 'ensemble: a\nparameters: {cut: 0.5, w: "7", on: true}\ninputs: {x: double}\nnodes:\n  y:\n'
    text += '    {apply: sql, select: {y: "x > ${cut} AND ${on}"}, when: "x > ${w}"}\n'
    spec, problems = examine_text(text, lambda _, __: {"select": "mapping"})
    assert not problems
    assert spec is not None
    assert spec.defaults == {"cut": "0.5", "w": "7", "on": "true"}
    assert (spec.nodes[0].options["select"], spec.nodes[0].when) == ({"y": "x > 0.5 AND TRUE"}, "x > 7")
    spec, problems = examine_text(text, lambda _, __: {"select": "mapping"}, parameters={"cut": "0.9"})
    assert not problems
    assert spec is not None
    assert spec.nodes[0].options["select"] == {"y": "x > 0.9 AND TRUE"}
