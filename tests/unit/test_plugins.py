"""Kinds that installed distributions add: found, used, refused, and named in each message."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles import registry
from beam_ensembles.cli.main import main
from beam_ensembles.errors import BatchFailed, InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.handlers.support.loading_here import load_here
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.plugins import additions
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.registry import KindTable
from tests.support.plugins import copying, install

NETWORK = Path(__file__).parents[1] / "golden" / "specs_invalid" / "models" / "network.onnx"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of Python's path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("acme"):
            del sys.modules[name]


def check(*nodes: tuple[str, str]) -> EnsembleGraph:
    named = {
        f"n{at}": {key: value, "inputs": ["x"], "outputs": {f"y{at}": None}}
        for at, (key, value) in enumerate(nodes)
    }
    text = json.dumps({"ensemble": "e", "inputs": {"x": "double"}, "nodes": named})
    return check_text(text, KindTable(additions), Files())


def problem(*nodes: tuple[str, str]) -> tuple[str, str, str]:
    with pytest.raises(InvalidEnsemble) as caught:
        check(*nodes)
    (found,) = caught.value.problems
    return found.path, found.code, found.message


@pytest.mark.parametrize("key", ["model", "combine", "route", "apply"])
def test_a_distribution_adds_a_kind(folder: Path, key: str) -> None:
    install(folder, "acme-kinds", {f"{key}.copy": "acme_kinds:CopyKind"}, code=copying(key, "copy"))
    (node,) = check((key, "copy")).nodes
    assert str(node.outputs["y0"]) == "double"
    assert str(node.kind.distribution) == "acme-kinds 1.0"
    assert node.kind.load(node)({"x": np.array([1.0, 2.0])})["y0"].tolist() == [1.0, 2.0]


def test_an_object_is_a_kind_too(folder: Path) -> None:
    code = copying("combine", "copy") + "\nCOPY = CopyKind()\n"
    install(folder, "acme-kinds", {"combine.copy": "acme_kinds:COPY"}, code=code)
    assert check(("combine", "copy")).nodes[0].kind.name == "copy"


def test_names_are_known_without_importing_the_distribution(folder: Path) -> None:
    install(folder, "acme-kinds", {"model.copy": "acme_kinds:CopyKind"}, code="raise SystemExit('imported')")
    assert ("model", "copy") in KindTable(additions)
    assert check(("combine", "mean")).outputs
    assert problem(("model", "cpy"))[2].startswith("there is no model 'cpy'; did you mean 'copy'?")
    assert problem(("combine", "copy"))[2].startswith("there is no combine 'copy'; write 'model: copy'")
    assert "acme_kinds" not in sys.modules


def test_a_name_of_this_project_cannot_be_taken(folder: Path) -> None:
    install(folder, "acme-kinds", {"combine.mean": "acme_kinds:CopyKind"}, code=copying("combine", "mean"))
    path, code, message = problem(("combine", "mean"), ("combine", "max"))
    assert (path, code) == ("nodes.n0.combine", "duplicate_kind")
    assert message == (
        "there are several kinds 'combine: mean', of the installed distributions beam-ensembles 0.1.0, "
        "acme-kinds 1.0; uninstall the one that is not this project's"
    )
    assert check(("combine", "max")).outputs


def test_two_distributions_cannot_add_one_kind(folder: Path) -> None:
    for name in ("acme-kinds", "acme-more"):
        place = f"{name.replace('-', '_')}:CopyKind"
        install(folder, name, {"model.copy": place}, code=copying("model", "copy"))
    _, code, message = problem(("model", "copy"))
    assert code == "duplicate_kind"
    assert "acme-kinds 1.0" in message
    assert "acme-more 1.0; uninstall all of them but one" in message


def test_a_distribution_that_is_found_twice_counts_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds, code = {"model.copy": "acme_kinds:CopyKind"}, copying("model", "copy")
    install(folder, "acme-kinds", kinds, code=code, version="1.0")
    install(folder / "first", "Acme_Kinds", kinds, code=code, version="2.0")
    monkeypatch.syspath_prepend(str(folder / "first"))
    assert str(check(("model", "copy")).nodes[0].kind.distribution) == "Acme_Kinds 2.0"


def with_options(code: str, fields: str) -> str:
    """Returns the code of a kind with options."""
    declared = f"class CopyOptions(Options):\n{fields}\n\n\nclass CopyKind"
    code = code.replace("import Options\n", "import Options, option\n").replace("class CopyKind", declared)
    return code.replace("options = Options", "options = CopyOptions")


GOOD = copying("model", "copy")
BROKEN = {
    "no module": ("acme_other:CopyKind", "", "cannot be imported: ModuleNotFoundError: No module named 'acme_other'"),
    "no class": ("acme_kinds:Copy", GOOD, "cannot be imported: AttributeError: module 'acme_kinds' has no attribute"),
    "no place": ("acme_kinds", GOOD, "cannot be imported: AttributeError"),
    "a module that fails": ("acme_kinds:CopyKind", "1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
    "a module that exits": ("acme_kinds:CopyKind", "raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
    "a KeyError": ("acme_kinds:CopyKind", "{}['x']", "cannot be imported: KeyError: 'x'"),
    "another class": ("acme_kinds:Copy", "class Copy: pass", "is a Copy, not a subclass of beam_ensembles.graph.kinds"),
    "a function": ("acme_kinds:copy", "def copy(): pass", "is a function, not a subclass of"),
    "another name": ("acme_kinds:CopyKind", copying("model", "copies"), "calls itself 'model', 'copies'"),
    "no check": ("acme_kinds:CopyKind", GOOD.replace("def check", "def chek"), "cannot be imported: TypeError"),
    "no text": ("acme_kinds:CopyKind", GOOD.replace("takes, gives", "taken, gives"), "lacks the text of takes"),
    "options": (
        "acme_kinds:CopyKind",
        GOOD.replace("options = Options", "options = ('a',)"),
        "has no subclass of beam_ensembles.graph.options.Options as its 'options'",
    ),
    "an option": (
        "acme_kinds:CopyKind",
        with_options(GOOD, "    a: complex = option(None, 'A.')"),
        "has an option 'a' that accepts 'complex' (allowed: string, ",
    ),
    "an option without a description": (
        "acme_kinds:CopyKind",
        with_options(GOOD, "    a: int = 3"),
        "has an option 'a' that is not declared with 'option(default, description)'",
    ),
    "a type that is not there": (
        "acme_kinds:CopyKind",
        with_options(GOOD, "    a: 'Nothing' = option(None, 'A.')"),
        "cannot be imported: NameError",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_one_is_named_and_hurts_no_other_file(folder: Path, case: str) -> None:
    place, code, text = BROKEN[case]
    install(folder, "acme-kinds", {"model.copy": place}, code=code)
    path, code, message = problem(("model", "copy"), ("combine", "mean"))
    assert (path, code) == ("nodes.n0.model", "broken_plugin")
    assert message.startswith(
        f"the kind 'model.copy' of the installed distribution acme-kinds 1.0 ('{place}') {text}"
    )
    assert message.endswith("; repair, update or uninstall acme-kinds")
    assert check(("combine", "mean")).outputs


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("return {}['nothing']", "its 'check' failed with KeyError: 'nothing'"),
        ("raise SystemExit", "its 'check' failed with SystemExit"),
        ("return ['double']", "its 'check' returned a list, not a Mapping"),
    ],
)
def test_a_mistake_of_its_check_is_a_problem(folder: Path, body: str, text: str) -> None:
    code = copying("model", "copy").replace("return dict", f"{body}\n        return dict", 1)
    install(folder, "acme-kinds", {"model.copy": "acme_kinds:CopyKind"}, code=code)
    path, code, message = problem(("model", "copy"))
    assert (path, code) == ("nodes.n0.model", "broken_plugin")
    assert message.startswith(
        f"the kind 'copy' of the installed distribution acme-kinds 1.0 is broken: {text}"
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("1 / 0", "raises ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "raises SystemExit: 3"),
        ("return 7", "returns a int, which cannot be called with columns"),
    ],
)
def test_a_mistake_of_its_load_is_one_sentence(folder: Path, body: str, text: str) -> None:
    code = copying("model", "copy").replace("return lambda", f"{body}\n        return lambda")
    install(folder, "acme-kinds", {"model.copy": "acme_kinds:CopyKind"}, code=code)
    (node,) = check(("model", "copy")).nodes
    with pytest.raises(InvalidEnsemble) as caught:
        load_member(node, this_machine())
    (found,) = caught.value.problems
    said = f"'load' of the kind 'copy', of the installed distribution acme-kinds 1.0, {text}"
    assert (found.path, found.code, found.message) == ("nodes.n0.model", "load_failed", said)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("[1.0]", "returned a list, not a mapping of columns"),
        ("{'z': columns['x']}", "returned no column 'y0' (it returned: z)"),
        ("{'y0': [1.0, 2.0]}", "returned a list for 'y0', not a numpy array"),
        ("{'y0': columns['x'][:1]}", "returned 1 values for 'y0' for 2 rows"),
        (
            "{'y0': columns['x'].astype(str)}",
            "returned <U32 values for 'y0', which is declared double (float64)",
        ),
    ],
)
def test_an_answer_that_is_not_as_declared_is_no_result(folder: Path, answer: str, text: str) -> None:
    code = copying("model", "copy").replace(
        "return lambda", f"return lambda columns: {answer}\n        return lambda"
    )
    install(folder, "acme-kinds", {"model.copy": "acme_kinds:CopyKind"}, code=code)
    (node,) = check(("model", "copy")).nodes
    with pytest.raises(BatchFailed) as caught:
        load_here(node, this_machine())({"x": np.array([1.0, 2.0])})
    said = f"the kind 'copy' of the installed distribution acme-kinds 1.0 {text}"
    assert (caught.value.code, caught.value.message) == ("model_error", said)


def with_option(key: str, name: str, type_: str) -> str:
    """Returns the code of a kind named ``copy`` with an option, whose outputs are texts."""
    code = with_options(
        copying(key, "copy"), f"    {name}: object = option(None, 'Some.', accepts={type_!r})"
    )
    code = code.replace("*node.inputs.values()", "parse_type('string')")
    return f"{code}\nfrom beam_ensembles.types import parse_type\n"


def graph_of(
    folder: Path, code: str, key: str, node: dict[str, Any], **more: dict[str, Any]
) -> EnsembleGraph:
    install(folder, "acme-kinds", {f"{key}.copy": "acme_kinds:CopyKind"}, code=code)
    nodes = {"n": {key: "copy", **node}, **more}
    text = json.dumps({"ensemble": "e", "inputs": {"x": "double", "z": "double"}, "nodes": nodes})
    parameters = {"least": "1' OR '"} if "${least}" in text else None
    return check_text(text, KindTable(additions), Files(), parameters=parameters)


def test_expressions_of_select_are_read(folder: Path) -> None:
    node = {"select": {"y": "x > 1 OR CAST(x AS STRING) = ${least}"}}
    (spec,) = graph_of(folder, with_option("apply", "select", "mapping"), "apply", node).spec.nodes
    assert (spec.columns, [output.column for output in spec.outputs]) == (("x",), ["y"])
    assert spec.options["select"]["y"].endswith(" = '1'' OR '''")


def test_expressions_of_cases_are_read(folder: Path) -> None:
    node = {"cases": [{"when": "z > 1", "arm": "a"}], "outputs": {"y": None}}
    graph = graph_of(folder, with_option("route", "cases", "list"), "route", node)
    assert graph.spec.nodes[0].columns == ("z",)


def test_columns_of_key_are_read(folder: Path) -> None:
    node = {"key": {"z": "zip"}, "outputs": {"y": None}}
    (spec,) = graph_of(folder, with_option("apply", "key", "columns"), "apply", node).spec.nodes
    assert spec.inputs is not None
    assert (spec.inputs.columns, spec.inputs.ports) == (("z",), ("zip",))


def test_columns_of_passthrough_are_read(folder: Path) -> None:
    node = {"inputs": ["x"], "passthrough": ["z"], "outputs": {"y": None}}
    (spec,) = graph_of(folder, with_option("combine", "passthrough", "list"), "combine", node).spec.nodes
    assert spec.inputs is not None
    assert (spec.inputs.columns, spec.inputs.passed) == (("x", "z"), 1)


def test_an_option_of_such_a_name_and_another_type_is_the_kinds_own(folder: Path) -> None:
    node = {"inputs": ["x"], "key": "not a column", "outputs": {"y": None}}
    (spec,) = graph_of(folder, with_option("model", "key", "string"), "model", node).spec.nodes
    assert spec.columns == ("x",)


ARMS = "\n    def arms(self, node):\n        {}\n\n    def load"
LATER = {"combine": "mean", "inputs": ["x"], "when": "y = 'c'", "outputs": {"m": "double"}}


def with_arms(body: str) -> str:
    return with_option("route", "some", "string").replace("\n    def load", ARMS.format(body))


def test_conditions_on_its_arms_are_checked(folder: Path) -> None:
    node = {"inputs": ["x"], "outputs": {"y": None}}
    (warning,) = graph_of(folder, with_arms("return ['a', 'b']"), "route", node, later=LATER).warnings
    assert (warning.path, warning.code) == ("nodes.later.when", "unknown_arm")
    assert warning.message.endswith("(arms: a, b)")


def test_a_mistake_of_its_arms_is_a_problem(folder: Path) -> None:
    node = {"inputs": ["x"], "outputs": {"y": None}}
    with pytest.raises(InvalidEnsemble, match="its 'arms' returned a int, not a Sequence"):
        graph_of(folder, with_arms("return 7"), "route", node, later=LATER)


@pytest.mark.parametrize("text", ["[beam_ensembles.kinds]\nno value\n", "\udcff beam_ensembles.kinds"])
def test_what_no_installer_writes_adds_nothing(folder: Path, text: str) -> None:
    install(folder, "acme-kinds", {})
    file = folder / "acme_kinds-1.0.dist-info" / "entry_points.txt"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert list(additions()) == []


@pytest.fixture
def table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verbs see three distributions: one that is right, and two that are not."""
    install(folder, "acme-kinds", {"model.copy": "acme_kinds:CopyKind"}, code=copying("model", "copy"))
    install(folder, "acme-broken", {"apply.none": "acme_broken:NoneKind"})
    install(folder, "acme-names", {"copy": "acme_names:CopyKind"})
    table = KindTable(additions)
    for verb in ("list", "schema"):
        __import__(f"beam_ensembles.cli.{verb}")
        monkeypatch.setattr(sys.modules[f"beam_ensembles.cli.{verb}"], "KINDS", table)


@pytest.mark.usefixtures("table")
def test_list_says_where_each_kind_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    out, err = capsys.readouterr()
    assert "\nmodel: copy  (from acme-kinds 1.0)\n  Copies.\n" in out
    assert "\nmodel: onnx\n" in out
    broken, misnamed = err.splitlines()
    assert broken.startswith(
        "beam-ensembles list: the kind 'apply.none' of the installed distribution acme-broken 1.0"
    )
    assert "cannot be used: an entry point is named by one of model, combine, route, apply, a dot" in misnamed


@pytest.mark.usefixtures("table")
def test_list_has_the_distribution_of_each_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    found = {kind["name"]: kind["distribution"] for kind in json.loads(capsys.readouterr().out)}
    assert found["copy"] == {"name": "acme-kinds", "version": "1.0"}
    assert found["onnx"] == {"name": "beam-ensembles", "version": registry.PROJECT.version}


@pytest.mark.usefixtures("table")
def test_the_schema_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    schema: dict[str, Any] = json.loads(capsys.readouterr().out)
    named = [one.get("const") for one in schema["$defs"]["node"]["properties"]["model"]["anyOf"]]
    assert {"copy", "sklearn"} <= set(named)
    assert schema["$defs"]["model_copy"]["description"] == "Copies."


def test_a_combiner_that_says_nothing_of_classes_does_not_mix_them(folder: Path) -> None:
    code = copying("combine", "copy").replace("*node.inputs.values()", "next(iter(node.inputs.values()))")
    install(folder, "acme-kinds", {"combine.copy": "acme_kinds:CopyKind"}, code=code)
    network = {"model": "onnx", "uri": str(NETWORK), "inputs": ["x"]}

    def vote(*orders: list[str]) -> None:
        nodes: dict[str, Any] = {
            f"m{at}": {**network, "labels": labels, "outputs": {f"p{at}": {"from": "probabilities"}}}
            for at, labels in enumerate(orders)
        }
        nodes["vote"] = {"combine": "copy", "inputs": ["p0", "p1"], "outputs": {"y": None}}
        text = json.dumps({"ensemble": "e", "inputs": {"x": "array<float>[4]"}, "nodes": nodes})
        check_text(text, KindTable(additions), Files(trusted=(str(NETWORK.parent),)))

    vote(["a", "b", "c"], ["a", "b", "c"])
    with pytest.raises(InvalidEnsemble, match=r"\[label_mismatch\] nodes.vote.inputs\[1\]"):
        vote(["a", "b", "c"], ["b", "a", "c"])
