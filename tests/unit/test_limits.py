"""Each limit of ``limits``: what reaches it is accepted, one more is refused with the code that the limit names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from beam_ensembles import limits
from beam_ensembles.cli.main import main
from beam_ensembles.errors import InvalidEnsemble, ModelFormatError, Problem, few_suggestions, nearest_of
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text, plan
from beam_ensembles.graph.expressions import growth
from beam_ensembles.graph.profile import read_profile
from beam_ensembles.messages import wording
from beam_ensembles.registry import KINDS
from beam_ensembles.spec import document
from beam_ensembles.spec.document import read_document
from beam_ensembles.spec.parameters import fill
from beam_ensembles.tables import json_lines
from beam_ensembles.tables.file_problems import refuse_long_names

Found = set[tuple[str, str]]
"""Code and place of each problem."""

TOP_K: Final = {"apply": "top_k", "inputs": ["a"], "outputs": {"y": {"from": "scores"}}}
MODEL: Final = {"model": "onnx", "uri": "none.onnx", "inputs": ["x"], "outputs": {"y": "double"}}


def sql(**select: str) -> dict[str, Any]:
    return {"apply": "sql", "select": select}


def of_document(text: str) -> Found:
    return {(one.code, one.path) for one in read_document(text).problems}


def of_file(*nodes: Mapping[str, Any], parameters: Mapping[str, str] | None = None, **more: Any) -> Found:
    """Checks and plans an ensemble of the nodes ``n0``, ``n1`` and so on."""
    data = {
        "ensemble": "e",
        "inputs": {"x": "double", "t": "string", "a": "array<double>"},
        "nodes": {f"n{at}": node for at, node in enumerate(nodes)},
        **more,
    }
    try:
        plan(check_text(json.dumps(data), KINDS, Files(), parameters=parameters))
    except InvalidEnsemble as error:
        return {(one.code, one.path) for one in error.problems}
    return set()


def of_input(type_: str) -> Found:
    return of_file(sql(y="z"), inputs={"z": type_})


def of_filled(count: int) -> Found:
    names = [f"p{at}" for at in range(10)]
    texts = [f"${{{name}}}" for name in names]
    rest = count - 9 * limits.LONGEST_PARAMETER - len("".join(texts))
    values = dict.fromkeys(names, "a" * limits.LONGEST_PARAMETER) | {"p9": "a" * rest}
    return {(one.code, one.path) for one in fill({"k": texts}, values)[1]}


def of_expressions(count: int) -> Found:
    whole, rest = divmod(count, limits.LONGEST_EXPRESSION)
    sizes = [limits.LONGEST_EXPRESSION] * whole + [rest]
    return of_file(sql(**{f"y{at}": "x".ljust(size) for at, size in enumerate(sizes)}))


def of_profile(size: int = 0, categories: int = 0) -> Found:
    counts = {str(at): 1 for at in range(categories)}
    column = {"type": "string", "rows": categories, "nulls": 0, "categories": counts}
    data = {"beam_ensembles_profile": 1, "ensemble": "e", "rows": categories, "columns": {"t": column}}
    try:
        read_profile(json.dumps(data).ljust(size).encode())
    except ModelFormatError:
        return {("bad_profile", "profile.uri")}
    return set()


LIMITS: Final[list[tuple[str, Callable[[int], Found], tuple[str, str]]]] = [
    ("LONGEST_FILE", lambda n: of_document("a: 1 #".ljust(n, "x")), ("too_large", "$")),
    ("DEEPEST_FILE", lambda n: of_document("[" * n + "]" * n), ("syntax", "$")),
    ("DEEPEST_FILE", lambda n: of_document('{"a":' * n + "1" + "}" * n), ("syntax", "$")),
    ("LONGEST_KEY", lambda n: of_document('{"' + "k" * n + '": 1}'), ("too_large", "$")),
    ("MOST_NODES", lambda n: of_file(*[{}] * n), ("too_large", "nodes")),
    (
        "MOST_STAGES",
        lambda n: of_file(*({**sql(**{f"y{at}": "x"}), "stage": "own"} for at in range(n))),
        ("too_large", "nodes"),
    ),
    ("LONGEST_NAME", lambda n: of_file(sql(y="x"), ensemble="e" * n), ("bad_name", "ensemble")),
    ("MOST_PARAMETERS", lambda n: of_file(parameters={f"p{at}": "" for at in range(n)}), ("too_large", "$")),
    ("LONGEST_PARAMETER", lambda n: of_file(parameters={"p": "a" * n}), ("too_large", "$")),
    ("LONGEST_PARAMETER", lambda n: of_file(parameters={"p" * n: "a"}), ("too_large", "$")),
    ("LONGEST_FILLED", of_filled, ("too_large", "k[9]")),
    (
        "LONGEST_EXPRESSION",
        lambda n: of_file(sql(y="x".ljust(n))),
        ("bad_expression", "nodes.n0.select.y"),
    ),
    ("MOST_OPERATORS", lambda n: of_file(sql(y="x" + "+1" * n)), ("bad_expression", "nodes.n0.select.y")),
    ("MOST_IN_EXPRESSIONS", of_expressions, ("too_large", "nodes.n0.select.y24")),
    ("LONGEST_TYPE", lambda n: of_input("double".ljust(n)), ("bad_type", "inputs.z")),
    (
        "DEEPEST_TYPE",
        lambda n: of_input("array<" * (n - 1) + "double" + ">" * (n - 1)),
        ("bad_type", "inputs.z"),
    ),
    (
        "MOST_DIMENSIONS",
        lambda n: of_input(f"array<double>[{','.join(['1'] * n)}]"),
        ("bad_type", "inputs.z"),
    ),
    ("LARGEST_TENSOR", lambda n: of_input(f"array<double>[{n}]"), ("bad_type", "inputs.z")),
    ("LARGEST_COUNT", lambda n: of_file({**TOP_K, "k": n}), ("bad_value", "nodes.n0.k")),
    ("LARGEST_COUNT", lambda n: of_file({**MODEL, "samples": n}), ("bad_value", "nodes.n0.samples")),
    ("LARGEST_COUNT", lambda n: of_file({**MODEL, "batch": {"min": n}}), ("bad_value", "nodes.n0.batch.min")),
    (
        "MOST_COPIES",
        lambda n: of_file({**MODEL, "config": {"model_copies": n}}),
        ("bad_value", "nodes.n0.config.model_copies"),
    ),
    (
        "MOST_RETRIES",
        lambda n: of_file({**sql(y="x"), "isolate": "process", "retries": n}),
        ("bad_value", "nodes.n0.retries"),
    ),
    ("MOST_RETRIES", lambda n: of_file({**MODEL, "retries": n}), ("bad_value", "nodes.n0.retries")),
    (
        "LONGEST_WAIT",
        lambda n: of_file({**sql(y="x"), "isolate": "process", "timeout": n}),
        ("bad_value", "nodes.n0.timeout"),
    ),
    (
        "LONGEST_WAIT",
        lambda n: of_file({**MODEL, "batch": {"max_wait": n}}),
        ("bad_value", "nodes.n0.batch.max_wait"),
    ),
    ("LARGEST_PROFILE", of_profile, ("bad_profile", "profile.uri")),
    ("MOST_CATEGORIES", lambda n: of_profile(categories=n), ("bad_profile", "profile.uri")),
]


@pytest.mark.parametrize(("name", "of", "problem"), LIMITS, ids=[name for name, *_ in LIMITS])
def test_what_reaches_a_limit_is_accepted_and_one_more_is_refused(
    name: str, of: Callable[[int], Found], problem: tuple[str, str]
) -> None:
    limit = getattr(limits, name)
    assert problem not in of(limit)
    assert problem in of(limit + 1)


@pytest.mark.parametrize("place", ["node", "column", "port"])
def test_a_name_may_be_as_long_as_the_limit(place: str) -> None:
    def of(count: int) -> set[str]:
        name = "n" * count
        node = (
            {**MODEL, "outputs": {"y": {"from": name, "type": "double"}}} if place == "port" else sql(y="x")
        )
        inputs = {"x": "double", "t": "string", **({name: "double"} if place == "column" else {})}
        nodes = {name if place == "node" else "n0": node}
        return {code for code, _ in of_file(nodes=nodes, inputs=inputs)}

    assert "bad_name" not in of(limits.LONGEST_NAME)
    assert "bad_name" in of(limits.LONGEST_NAME + 1)


def test_characters_of_places_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"key": [1, 2]}'
    count = sum(len(place) for place in read_document(text).places)
    monkeypatch.setattr(document, "MOST_IN_PLACES", count)
    assert not of_document(text)
    monkeypatch.setattr(document, "MOST_IN_PLACES", count - 1)
    assert of_document(text) == {("too_large", "$")}


def test_characters_that_an_expression_makes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "LONGEST_MADE", 100)
    assert not of_file(sql(y="LPAD(t, 100, 'a')"))
    assert of_file(sql(y="LPAD(t, 101, 'a')")) == {("bad_expression", "nodes.n0.select.y")}


def test_messages_and_places_are_cut() -> None:
    longest = Problem("p" * limits.LONGEST_PLACE, "code", "m" * limits.LONGEST_MESSAGE)
    assert (len(longest.path), len(longest.message)) == (limits.LONGEST_PLACE, limits.LONGEST_MESSAGE)
    assert "..." not in str(longest)
    longer = Problem("p" * (limits.LONGEST_PLACE + 1), "code", "m" * (limits.LONGEST_MESSAGE + 1))
    assert (len(longer.path), len(longer.message)) == (limits.LONGEST_PLACE, limits.LONGEST_MESSAGE)
    assert longer.path.endswith("p...")
    assert longer.message.endswith("m...")


def test_problems_are_kept_and_shown_up_to_their_limits() -> None:
    def of(count: int) -> InvalidEnsemble:
        return InvalidEnsemble(Problem(f"nodes.n{at}", "code", "wrong") for at in range(count))

    assert len(of(limits.MOST_PROBLEMS + 1).problems) == limits.MOST_PROBLEMS
    assert of(limits.MOST_PROBLEMS + 1).count == limits.MOST_PROBLEMS + 1
    assert "more" not in str(of(limits.MOST_SHOWN))
    assert str(of(limits.MOST_SHOWN + 1)).endswith("\n  and 1 more")


def test_suggestions_end_when_enough_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wording, "MOST_COMPARED", 2 * (3 * 4 + 1))
    with few_suggestions():
        assert [nearest_of("colr", ["col"]) for _ in range(3)] == ["col", "col", None]
    assert nearest_of("colr", ["col"]) == "col"


@pytest.mark.parametrize(("what", "expression", "beside"), [("figures", "1", 2), ("lines", "x", 0)])
def test_a_picture_as_svg_has_a_limit(
    what: str, expression: str, beside: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rows that come in and go out are figures, too; only nodes that read a column or are put out have lines."""
    path = tmp_path / "e.yaml"

    def draw(count: int, *more: str) -> int:
        nodes = {f"n{at}": sql(**{f"y{at}": expression}) for at in range(count)}
        outputs = ["y0"] if what == "figures" else [f"y{at}" for at in range(count)]
        data = {"ensemble": "e", "inputs": {"x": "double"}, "nodes": nodes, "outputs": outputs}
        path.write_text(json.dumps(data))
        return main(["graph", str(path), *more])

    most = limits.MOST_DRAWN - beside if what == "figures" else limits.MOST_DRAWN // 2
    assert draw(most, "--format", "svg") == 0
    assert capsys.readouterr().out.count("</svg>") == 1
    assert draw(most + 1, "--format", "svg") == 1
    said = capsys.readouterr()
    assert f"{limits.MOST_DRAWN:,} of each at most" in said.err
    assert said.out == ""
    assert draw(most + 1, "--format", "mermaid") == 0


def test_fields_of_row_files_may_have_names_of_so_many_characters() -> None:
    refuse_long_names(["n" * limits.LONGEST_FIELD_NAME])
    with pytest.raises(InvalidEnsemble, match=r"1,001 characters .*1,000 are allowed"):
        refuse_long_names(["n" * (limits.LONGEST_FIELD_NAME + 1)])


@pytest.mark.parametrize(
    ("size", "most"),
    [
        (1, limits.MOST_SPARSE_CELLS),
        (limits.MOST_SPARSE_CELLS, limits.CELLS_PER_BYTE * limits.MOST_SPARSE_CELLS),
    ],
)
def test_sparse_rows_may_become_so_many_cells(size: int, most: int) -> None:
    json_lines._refuse_sparse(most, 1, size)
    with pytest.raises(InvalidEnsemble, match=r"write \.jsonl"):
        json_lines._refuse_sparse(most + 1, 1, size)


def test_no_limit_is_without_a_test() -> None:
    """Of the names in ``limits``; these modules use them."""
    modules = (
        "unit/test_limits",
        "unit/messages/test_foreign_errors",
        "security/test_quantities",
        "security/test_file_bombs",
        "security/test_hostile_servers",
        "security/test_hostile_tables",
    )
    tests = "".join((Path(__file__).parents[1] / f"{name}.py").read_text() for name in modules)
    names = [name for name in vars(limits) if name.isupper()]
    assert [name for name in names if name not in tests] == []
