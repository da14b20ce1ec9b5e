"""Expressions against the types of the columns that they read."""

from __future__ import annotations

import json
import threading

import pytest

from beam_ensembles.graph.expressions.checks import check_condition, check_expression, compile_expression
from beam_ensembles.graph.expressions.trees import check_rowwise
from beam_ensembles.spec.sql_functions import FUNCTIONS
from beam_ensembles.spec.sql_tokens import ExpressionError
from beam_ensembles.types import Type
from tests.support.expressions import EXPRESSIONS, SAMPLES, TYPES


def type_of(text: str) -> str:
    return str(compile_expression(text, TYPES).type)


def problems(text: str, *, condition: bool = False) -> list[str]:
    found: list[str] = []

    def report(code: str, message: str) -> None:
        assert "\n" not in message
        assert not message.endswith(".")
        found.append(code)

    if condition:
        assert check_condition(text, TYPES, report) == (not found)
    else:
        assert (check_expression(text, TYPES, report) is None) == bool(found)
    return found


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("x * 2", "double"),
        ("f * 1.5", "float"),
        ("i * 2", "int64"),
        ("i / 2", "double"),
        ("i + 0.5", "double"),
        ("u", "uint8"),
        ("u + 1", "int32"),
        ("LENGTH(t)", "int64"),
        ("EXTRACT(hour FROM s)", "int32"),
        ("x + y", "double?"),
        ("COALESCE(y, 0)", "double"),
        ("COALESCE(y, j)", "double?"),
        ("y IS NULL", "boolean"),
        ("i > 1", "boolean"),
        ("x > 1", "boolean?"),  # it may be NaN
        ("COALESCE(x > 1, FALSE)", "boolean"),
        ("x <=> y", "boolean"),
        ("t || v", "string?"),
        ("CONCAT(t, v)", "string"),
        ("CASE WHEN b THEN 1 ELSE 2 END", "int32"),
        ("CASE WHEN b THEN 1 END", "int32?"),
        ("IF(c, 'a', 'b')", "string"),
        ("NULLIF(i, 0)", "int64?"),
        ("i // 2", "int64"),
        ("i // 0", "int64?"),
        ("i % u", "int64?"),
        ("CAST(t AS INT)", "int32"),
        ("TRY_CAST(t AS INT)", "int32?"),
        ("p[2]", "double"),
        ("p[3]", "double?"),
        ("q[1]", "double?"),
        ("ARRAY_MEAN(p)", "double"),
        ("ARRAY_MEAN(q)", "double?"),
        ("ARRAY_REVERSE(p)", "array<double>"),
        ("p", "array<double>[2]"),
        ("ARRAY_REVERSE(w)", "array<string?>?"),
        ("CAST(q AS INT[])", "array<int32>"),
        ("TRY_CAST(q AS INT[])", "array<int32?>?"),
        ("r.a", "int32"),
        ("r.b", "string?"),
        ("r", "row<a: int32, b: string?>"),
        ("s + INTERVAL '1 day'", "timestamp"),
        ("STRING_TO_ARRAY(t, ',')", "array<string>"),
        ("1.5", "double"),
    ],
)
def test_what_it_gives(text: str, type_: str) -> None:
    assert type_of(text) == type_


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x +", "bad_expression"),
        ("x * 2 AS y", "bad_expression"),
        ("x y", "bad_expression"),
        ("i <> ANY([1, 2])", "bad_expression"),
        ("i != ANY(q)", "bad_expression"),
        ("x < ANY(q)", "bad_expression"),
        ("TIMESTAMP(d)", "bad_expression"),
        ("s > CAST(UPPER('2026-01-31') AS TIMESTAMP)", "bad_expression"),
        ("x >= ANY(q)", "bad_expression"),
        ("+".join(["x"] * 100) + " > 1", "bad_expression"),
        ("COUNT(x)", "expression_not_rowwise"),
        ("xx + 1", "unknown_column"),
        ("t + 1", "expression_type"),
        ("t > 1", "expression_type"),
        ("UPPER(x)", "expression_type"),
        ("x AND b", "expression_type"),
        ("i OR t", "expression_type"),
        ("SQRT(t)", "expression_type"),
        ("r.z", "expression_type"),
        ("s > t", "expression_type"),
        ("s > 1", "expression_type"),
        ("s BETWEEN i AND j", "expression_type"),
        ("COALESCE(y, t)", "expression_type"),
        ("IFNULL(v, 1)", "expression_type"),
        ("COALESCE(s, i)", "expression_type"),
        ("CASE WHEN b THEN 'a' WHEN c THEN 'b' ELSE 1 END", "expression_type"),
        ("IF(b, TRUE, 'a')", "expression_type"),
        ("m IS NULL", "expression_type"),
        ("t ~ '('", "expression_type"),
        ("CAST('x' AS INT)", "expression_type"),
        ("CAST(s AS DATE)", "expression_type"),
        ("s - s", "expression_type"),
        ("NULL", "expression_type"),
        ("IF(b, r, NULL)", "expression_type"),
    ],
)
def test_what_is_wrong(text: str, code: str) -> None:
    assert problems(text) == [code]
    assert problems(text, condition=True) == [code]


def test_the_nearest_column_is_named() -> None:
    types: dict[str, Type | None] = {"score": TYPES["x"]}
    found: list[str] = []
    check_condition("scor > 1", types, lambda code, message: found.append(f"{code}: {message}"))
    assert found == ["unknown_column: there is no column 'scor'; did you mean 'score'? (columns: score)"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x + t", "arithmetic on double and string is not allowed"),
        ("x + s", "not allowed on double and timestamp"),
        ("UPPER(x)", "found double where string is needed"),
        ("x AND b", "found double and boolean"),
        ("x > p", "'>' cannot compare double and array<double>"),
        ("x IN ('a')", "found double where the values of array<string> are looked through"),
        ("s IN (1, 2)", "found timestamp where the values of array<int64> are looked through"),
        ("ARRAY_CONTAINS(q, 'a')", "found string where the values of array<double> are looked through"),
        ("GREATEST(x, t)", "GREATEST and LEAST give one of double and string, which do not go together"),
        ("LEAST(s, i)", "GREATEST and LEAST give one of timestamp and int64, which do not go together"),
        ("SQRT(t)", "takes numbers, not string"),
        ("COALESCE(x, t)", "COALESCE gives one of double and string, which do not go together"),
        ("CAST(t AS TIMESTAMP)", "a string is not cast to a timestamp; write STRPTIME"),
        (
            "STRPTIME(t, '%Y-%m-%dT%H:%M:%S.%f')",
            "STRPTIME cannot read '%f': it would take the digits for nanoseconds",
        ),
        ("STRPTIME(t, '%F %T.%9f')", "STRPTIME cannot read '%9f': it would cut off the nanoseconds"),
        (
            "STRPTIME(t, '%Y-%m-%d %H:%M:%S %Z')",
            "STRPTIME cannot read '%Z': it would pass over the name of the time zone",
        ),
        ("TRY_CAST(t AS DATE) = DATE '2026-01-01'", "a string is not cast to a date"),
        ("t::BOOLEAN", "a string is not cast to a boolean; compare it"),
        ("s > 1", "it compares timestamp and int32, which do not go together"),
        ("CAST('x' AS INT)", "the string 'x' cannot be made a value of type int32"),
    ],
)
def test_types_are_said_by_the_language_s_own_names(text: str, said: str) -> None:
    found: list[str] = []
    check_expression(text, TYPES, lambda code, message: found.append(message))
    assert said in found[0]
    assert len(found) == 1


@pytest.mark.parametrize("text", ["x > 1", "c", "b AND t = 'a'", "t IN ('a', 'b')"])
def test_conditions(text: str) -> None:
    assert problems(text, condition=True) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [("x", "not_boolean"), ("t", "not_boolean"), ("i & 1", "not_boolean"), ("TRUE", "no_inputs")],
)
def test_what_is_no_condition(text: str, code: str) -> None:
    assert problems(text, condition=True) == [code]
    assert problems(text) == []


def test_a_column_of_unknown_type_is_somebody_else_s_problem() -> None:
    found: list[str] = []
    assert (
        check_expression("z + x", {"z": None, "x": TYPES["x"]}, lambda *said: found.append(said[0])) is None
    )
    assert found == []


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_what_is_allowed_has_a_type(text: str) -> None:
    compile_expression(text, TYPES)


def test_every_function_that_is_allowed_is_shown() -> None:
    assert set(SAMPLES) == set(FUNCTIONS)
    for name, texts in SAMPLES.items():
        shown = [f"{name.upper()}(" in text for text in texts]
        assert any(shown), name


def trees() -> list[tuple[str, object]]:
    import polars as pl

    x = pl.col("x")
    refused = {
        "sum": x.sum(), "first": x.first(), "mean": x > x.mean(), "over": x.max().over("g"), "shift": x.shift(1),
        "cum_sum": x.cum_sum(), "reverse": x.reverse(), "unique": x.unique(), "sort": x.sort(), "len": pl.len(),
        "explode": x.explode(), "sample": x.sample(1), "rank": x.rank(), "range": pl.int_range(pl.len()),
        "filter": x.filter(x > 1), "all": pl.all(), "forward_fill": x.forward_fill(), "diff": x.diff(),
        "gather": x.gather([0]), "literals": x + pl.lit(pl.Series([1.0, 2.0])), "hash": x.hash(),
        "map": x.is_first_distinct(), "interpolate": x.interpolate(), "inside": pl.when(x > 1).then(x.sum()),
        "cast": x.sum().cast(pl.Int64), "list": pl.concat_list(x.sum(), x), "slice": x.slice(0, 1),
    }  # fmt: skip
    return [(name, json.loads(one.meta.serialize(format="json"))) for name, one in refused.items()]


@pytest.mark.parametrize(("name", "tree"), trees(), ids=lambda item: item if isinstance(item, str) else "")
def test_whatever_polars_makes_of_a_text_looks_at_one_row(name: str, tree: object) -> None:
    with pytest.raises(ExpressionError) as caught:
        check_rowwise(tree)
    assert caught.value.code == "expression_not_rowwise"


def test_long_chains_neither_crash_nor_hang() -> None:
    """In a thread, whose stack is small."""
    found: list[object] = []

    def compile_all() -> None:
        for text in ("+".join(["x"] * 4000), " AND ".join(["b"] * 1500), "(" * 4000 + "x" + ")" * 4000):
            found.append(problems(text))
        for text in ("+".join(["x"] * 250), " AND ".join(["b"] * 250), f"i IN ({','.join(['1'] * 2000)})"):
            found.append(problems(text))

    threading.stack_size(1024 * 1024)
    try:
        thread = threading.Thread(target=compile_all)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(0)
    assert found == [["bad_expression"]] * 3 + [[]] * 3
