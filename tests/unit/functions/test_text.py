"""``apply: text``: templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.graph.kinds import validity
from beam_ensembles.spec.templates import TemplateError, parse_template
from tests.support.media import objects
from tests.support.nodes import load_node, problems_of, types_of

FOLDER = Path("/")


def text_of(template: str, types: dict[str, str], columns: dict[str, Any], **more: Any) -> list[str]:
    node = {"apply": "text", "template": template, "inputs": list(types), "outputs": {"text": None}, **more}
    assert types_of(FOLDER, types, node) == {"text": "string"}
    return list(load_node(FOLDER, types, node)(columns)["text"].tolist())


def test_columns_fill_a_template() -> None:
    types = {"title": "string", "n": "int32", "ok": "boolean"}
    columns = {"title": objects("a", "{n}"), "n": np.array([-1, 7], np.int32), "ok": np.array([True, False])}
    found = text_of("{title}: {n} {{x}} {ok}{ok}", types, columns)
    assert found == ["a: -1 {x} truetrue", "{n}: 7 {x} falsefalse"]


@pytest.mark.parametrize(
    ("type_", "values", "wanted"),
    [
        ("double", np.array([0.1, 1e300, 3.0, 1 / 3]), ["0.1", "1e+300", "3.0", repr(1 / 3)]),
        ("float", np.array([0.1, 1 / 3], np.float32), ["0.1", "0.33333334"]),
        ("int64", np.array([2**62]), [str(2**62)]),
        ("array<string>", objects(["a", "b"], []), ["a, b", ""]),
        ("array<float>", objects([0.1, 2.0]), ["0.1, 2.0"]),
        ("array<int64>[2]", np.array([[1, 2]]), ["1, 2"]),
        ("array<boolean>", objects([True, False]), ["true, false"]),
    ],
)
def test_how_values_are_written(type_: str, values: Any, wanted: list[str]) -> None:
    assert text_of("{x}", {"x": type_}, {"x": values}) == wanted


def test_a_mapping_names_columns_for_the_template() -> None:
    found = text_of("Q: {question}", {"q": "string"}, {"q": objects("why?")}, inputs={"question": "q"})
    assert found == ["Q: why?"]


def test_nulls_are_nothing_or_what_is_said() -> None:
    types = {"a": "string?", "n": "double?", "l": "array<string?>?"}
    columns = {
        "a": objects("x", None), validity("a"): np.array([True, False]),
        "n": np.array([0.0, 2.5]), validity("n"): np.array([False, True]),
        "l": objects(["p", None], None), validity("l"): np.array([True, False]),
    }  # fmt: skip
    assert text_of("{a}|{n}|{l}", types, columns) == ["x||p, ", "|2.5|"]
    found = text_of("{a}|{n}|{l}", types, columns, null_text="none", separator=" ")
    assert found == ["x|none|p none", "none|2.5|none"]


@given(st.lists(st.one_of(st.sampled_from(["{a}", "{b-c}", "{{", "}}"]), st.text("xy: \n'", max_size=4))))
def test_a_template_means_what_pythons_own_format_makes_of_it(pieces: list[str]) -> None:
    template = "".join(pieces)
    parsed = parse_template(template)
    values = {"a": "{A}", "b-c": "}B{"}
    found = parsed.texts[0] + "".join(
        values[name] + text for name, text in zip(parsed.names, parsed.texts[1:], strict=True)
    )
    assert found == template.format(**values)


@given(st.text("{}a.[]!:0 "))
def test_a_template_is_read_or_refused(template: str) -> None:
    try:
        parsed = parse_template(template)
    except TemplateError:
        return
    assert set(parsed.names) <= {"a", "aa", "aaa"} | {name for name in parsed.names if set(name) <= set("a0")}


@pytest.mark.parametrize(
    "template",
    ["{", "}", "{a", "{a}}", "{{a}", "{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>9}", "{ a }", "{a{a}}"],
)
def test_nothing_but_names_stands_in_braces(template: str) -> None:
    node = {"apply": "text", "template": template, "inputs": ["a"], "outputs": {"text": None}}
    assert problems_of(FOLDER, {"a": "string"}, node) == [("bad_template", "template")]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"template": "{a} {c}"}, [("bad_template", "template")]),
        ({"inputs": ["a", "b"]}, [("bad_template", "inputs[1]")]),
        ({"inputs": {"a": "d"}}, [("type_mismatch", "inputs.a")]),
        ({"inputs": {"a": "e"}}, [("type_mismatch", "inputs.a")]),
        ({"inputs": None}, [("missing_key", "inputs")]),
        ({"template": None}, [("missing_key", "template")]),
        ({"outputs": {"t": "int64"}}, [("type_mismatch", "outputs.t")]),
    ],
)
def test_what_is_wrong(change: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    node = {"apply": "text", "template": "{a}", "inputs": ["a"], "outputs": {"t": None}, **change}
    types = {"a": "string", "b": "string", "d": "bytes", "e": "array<double>[2,2]"}
    assert problems_of(FOLDER, types, node) == wanted
