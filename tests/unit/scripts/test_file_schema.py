"""The JSON Schema of ensemble files: up to date, shipped, and at one with the parser."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from beam_ensembles.cli.main import main
from beam_ensembles.errors import Problem
from beam_ensembles.graph.json_schema.document import file_schema
from beam_ensembles.graph.kinds import Kind, options_of
from beam_ensembles.graph.option_checks import check_options
from beam_ensembles.registry import KINDS
from beam_ensembles.spec import examine_text
from beam_ensembles.spec.document import read_document
from beam_ensembles.spec.language import COMMON_KEYS, POLICY_KEYS, TOP_KEYS, is_name
from beam_ensembles.spec.model import KINDS as NODE_KEYS
from beam_ensembles.types import SCALARS
from scripts.file_schema import FILE, written
from scripts.layout import ROOT

OPTIONS = options_of(KINDS)

GOLDEN = ROOT / "tests" / "golden"
SCHEMA = file_schema(list(KINDS.values()))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
ENSEMBLES = [
    file for file in ROOT.glob("examples/*/*.yaml") if file.name != "pipeline.yaml"
]  # that is Beam YAML's
VALID = sorted([*ENSEMBLES, *(GOLDEN / "specs").glob("*.yaml")])
INVALID = sorted((GOLDEN / "specs_invalid").glob("*.yaml"))

SHAPE = frozenset({
    "bad_name", "missing_key", "no_inputs", "no_kind", "no_nodes", "no_outputs", "several_kinds", "unknown_key",
    "unknown_kind", "unknown_option", "wrong_type",
})  # fmt: skip
"""Codes of mistakes that lie in a file's shape."""


def refusals(data: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(data)]


def texts(path: pathlib.Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n---\n")


def test_it_is_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == written(KINDS.values()), "run: make docs"


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    names = json.dumps(SCHEMA)
    used = {part.split('"')[0] for part in names.split("#/$defs/")[1:]}
    assert used <= set(SCHEMA["$defs"])


def test_the_verb_prints_what_is_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA


def test_it_has_every_key_and_every_kind() -> None:
    assert set(SCHEMA["properties"]) == set(TOP_KEYS)
    node = SCHEMA["$defs"]["node"]
    assert set(node["properties"]) == {*NODE_KEYS, *POLICY_KEYS, "inputs", "outputs"}
    for key in NODE_KEYS:
        named = [one["const"] for one in node["properties"][key]["anyOf"] if "const" in one]
        assert named == [kind.name for kind in KINDS.values() if kind.kind == key]


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=f"{kind.kind}-{kind.name}") for kind in KINDS.values()]
)
def test_an_editor_can_explain_every_key(kind: Kind) -> None:
    found = SCHEMA["$defs"][f"{kind.kind}_{kind.name}"]
    assert found["description"].startswith(kind.summary)
    for option in kind.keys:
        assert found["properties"][option.name]["description"].startswith(option.description)
        assert (option.name in found["required"]) == option.required
    for key in POLICY_KEYS:
        assert SCHEMA["$defs"][key]["description"], f"say what '{key}' means in graph/json_schema/document.py"


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_what_is_right_is_accepted(path: pathlib.Path) -> None:
    for text in texts(path):
        spec, problems = examine_text(text, OPTIONS)
        assert spec is not None
        built = all((node.kind, node.target) in KINDS for node in spec.nodes)
        if built and {problem.code for problem in problems} <= {"missing_parameter"}:
            assert refusals(read_document(text).data) == []


def expected(path: pathlib.Path) -> Iterator[tuple[str, str]]:
    found = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    yield from ((problem["code"], problem["path"]) for problem in found["problems"])


def is_of_the_shape(code: str, path: str, data: Any) -> bool:
    """Returns whether a mistake lies in the shape of a file, as far as the language and the table of kinds tell it.

    It does not where only a kind knows: which ports it has (below ``inputs``), what is inside of ``config``, which keys
    are needed by some files only (``format``), which columns its expressions read.
    """
    steps = path.split(".")
    if code not in SHAPE or len(steps) < 3:
        return code in SHAPE
    key, inside = re.split(r"[\[.]", steps[2])[0], len(steps) > 3 or steps[2].endswith('"]')
    if inside:
        return key in ("outputs", "cases", "resources") and code != "no_inputs"
    node = data["nodes"].get(steps[1], {})
    kind = next((KINDS[pair] for pair in node.items() if isinstance(pair[1], str) and pair in KINDS), None)
    if code == "no_inputs" or (code == "missing_key" and key == "inputs"):
        return key == "inputs" and (kind is None or kind.kind in ("model", "combine") or "inputs" in node)
    if code == "missing_key" and kind is not None:
        return key == "outputs" or any(option.name == key and option.required for option in kind.keys)
    return True


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_mistakes_of_shape_are_refused(path: pathlib.Path) -> None:
    document = read_document(path.read_text(encoding="utf-8"))
    if document.problems:
        pytest.skip("no editor reads it as YAML, or not as this YAML")
    if any(is_of_the_shape(code, place, document.data) for code, place in expected(path)):
        assert refusals(document.data), path.read_text(encoding="utf-8")


def test_most_mistakes_of_shape_are_seen() -> None:
    refused = [path for path in INVALID if refusals(read_document(path.read_text(encoding="utf-8")).data)]
    codes = {code for path in refused for code, _ in expected(path)}
    assert codes >= SHAPE | {"bad_type", "bad_value", "timeout_needs_process"}


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_mistakes_of_meaning_are_left_to_validate(path: pathlib.Path) -> None:
    codes = {code for code, _ in expected(path)}
    meaning = {"cycle", "field_type", "hides_input", "label_mismatch", "missing_field", "missing_file",
               "signature_mismatch", "type_mismatch", "unknown_column", "unknown_output", "unknown_port", "unused_node",
               "bad_weights", "bad_labels", "bad_expression", "expression_type", "not_boolean"}  # fmt: skip
    if codes <= meaning - {"bad_weights", "bad_labels"}:
        assert refusals(read_document(path.read_text(encoding="utf-8")).data) == []


NAMES = st.from_regex(r"[^\W\d_][\w-]{0,6}", fullmatch=True) | st.sampled_from(["_x", "größe", "a-b", "数"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=4),
    "string or secret": st.text(max_size=4) | st.just({"secret": "env:A"}),
    "columns": NAMES
    | st.lists(NAMES, max_size=2)
    | st.dictionaries(NAMES, st.text(max_size=4) | st.just("a b"), max_size=2),
    "integer": st.integers(-5, 5),
    "number": st.integers(-5, 5) | st.floats(-1, 1),
    "boolean": st.booleans(),
    "list": st.lists(st.integers(0, 3), max_size=2),
    "mapping": st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 3), min_size=1, max_size=2),
}
WRONG = st.sampled_from(["text", 3, 2.5, True, ["a"], {"a": 1}])
INSIDE = frozenset({"select", "cases", "passthrough", "weights", "labels", "arms", "batch"})
"""Options in which the schema looks further than at the kind of value."""


@st.composite
def nodes(draw: st.DrawFn) -> dict[str, Any]:
    """A node of any kind: mostly right, sometimes with a key too few, too many, or a value of another sort."""
    kind = draw(st.sampled_from(list(KINDS.values())))
    node: dict[str, Any] = {
        kind.kind: kind.name,
        "inputs": ["x"],
        "outputs": {draw(NAMES): draw(st.sampled_from(SCALARS))},
    }
    for option in kind.keys:
        if option.name not in INSIDE and (option.required or draw(st.integers(0, 3)) == 0):
            value = draw(st.sampled_from(option.choices)) if option.choices else draw(VALUES[option.accepts])
            node[option.name] = draw(st.just(value) | WRONG) if draw(st.integers(0, 5)) == 0 else value
    if draw(st.integers(0, 3)) == 0:
        node |= {"on_error": draw(st.sampled_from(["nullify", "fail", {"default": {"a": 1}}, "ignore", 3]))}
    if draw(st.integers(0, 3)) == 0:
        node |= {"when": "x > 1", "enabled": draw(st.sampled_from([True, "no"]))}
    if draw(st.integers(0, 5)) == 0:
        node.pop(draw(st.sampled_from(sorted(node))))
    if draw(st.integers(0, 5)) == 0:
        node[draw(st.sampled_from([*COMMON_KEYS, "methods", "weight", *NODE_KEYS]))] = draw(WRONG)
    return node


def problems_of(data: dict[str, Any]) -> list[Problem]:
    """Returns what the parser and the check of options find."""
    spec, problems = examine_text(json.dumps(data), OPTIONS)
    found = list(problems)
    for node in spec.nodes if spec is not None else ():
        kind = KINDS.get((node.kind, node.target))
        if kind is not None:
            found += check_options(node, kind)
        elif node.kind:
            found.append(Problem(node.path(), "unknown_kind", ""))
    return found


@settings(deadline=None, max_examples=150)
@given(node=nodes(), name=NAMES)
def test_it_says_what_the_parser_says(node: dict[str, Any], name: str) -> None:
    """Of keys and values on a node, both refuse the same: neither is stricter than the other."""
    assume(not INSIDE.intersection(node) and is_name(name))
    kinds = [(key, node[key]) for key in NODE_KEYS if key in node]
    assume(all(isinstance(target, str) and (key, target) in KINDS for key, target in kinds))
    needed = {
        option.name for kind in kinds if kind in KINDS for option in KINDS[kind].keys if option.required
    }
    assume(not INSIDE.intersection(needed))
    data = {"ensemble": name, "inputs": {"x": "double"}, "nodes": {name: node}}
    wrong = [problem for problem in problems_of(data) if problem.code not in ("bad_expression", "bad_shadow")]
    assert bool(wrong) == bool(refusals(data)), (wrong, refusals(data))


@given(text=st.text(max_size=6) | NAMES)
def test_every_name_is_a_name(text: str) -> None:
    """It knows ASCII exactly; of other alphabets it lets anything pass."""
    accepted = not list(VALIDATOR.evolve(schema={**SCHEMA["$defs"]["key"]}).iter_errors(text))
    assert accepted >= is_name(text)
    if text.isascii() and not text.endswith("\n"):
        assert accepted == is_name(text)
