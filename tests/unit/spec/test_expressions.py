"""What the text of an expression says before any column is known."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.limits import LONGEST_EXPRESSION, MOST_OPERATORS
from beam_ensembles.spec.expressions import columns_of
from beam_ensembles.spec.sql_functions import CLOCKS, FUNCTIONS, NOT_ROWWISE
from beam_ensembles.spec.sql_tokens import ExpressionError
from tests.support.expressions import EXPRESSIONS


def problem(text: str) -> tuple[str, str]:
    with pytest.raises(ExpressionError) as caught:
        columns_of(text)
    return caught.value.code, str(caught.value)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("score > 0.5 AND NOT flag OR score < 0.1", ("score", "flag")),
        ('"my-column" = 1', ("my-column",)),
        ("p[2] + p[i]", ("p", "i")),
        ("r.a", ("r",)),
        ("EXTRACT(hour FROM seen) > 5", ("seen",)),
        ("naïve > 1", ("naïve",)),
        ("t = 'x > y' OR t = 'it''s'", ("t",)),
        ("a\n  >\n b", ("a", "b")),
        ("1 + 1", ()),
        ('"count" > first', ("count", "first")),
        ("user = 'a' AND \"order\" = 1 AND limit > offset", ("user", "order", "limit", "offset")),
        ("CAST(a AS DOUBLE) > .5 AND a::INT[] = b::text", ("a", "b")),
    ],
)
def test_the_columns_that_it_reads(text: str, columns: tuple[str, ...]) -> None:
    assert columns_of(text) == columns


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a +", "at its end: expected an expression"),
        ("a + * b", "at character 5"),
        ("a\n  AND (b > 1.5", "at its end: expected )"),
        ("0.5 < a b c", "at character 11"),
        ("a = 'x", "the text that starts at character 5 has no end"),
        ('"a', "the name that starts at character 1 has no end"),
        ("a > 1; DROP", "';' at character 6"),
        ("a -- 1", "starts a comment at character 3"),
        ("uper(a)", "no function 'uper' (character 1); did you mean 'upper'?"),
        ("read_csv('x')", "no function 'read_csv'"),
        ("a = E'x'", "put a space behind 'E' at character 5"),
        ("a > 1e999", "the number at character 5 is too large"),
        ("CAST(a AS FOO)", "nothing is cast to 'FOO' (character 11) (allowed: BOOLEAN, TINYINT,"),
        ("a::JSON", "nothing is cast to 'JSON' (character 4)"),
        ("TRY_CAST(ABS(a) AS DECIMAL(10, 2))", "nothing is cast to 'DECIMAL'"),
        ("CAST(a AS VARCHAR(3))", "leave '(' out behind 'VARCHAR'"),
        ("a::INT(4)", "leave '(' out behind 'INT'"),
        ("a::INT UNSIGNED", "leave 'UNSIGNED' out"),
        (
            "a > TIMESTAMP '2026-01-31 13:45:00+02:00'",
            "'2026-01-31 13:45:00+02:00' at character 15 is not a time in UTC",
        ),
        ("a > TIMESTAMP '2026-01-31T13:45-0230'", "is not a time in UTC"),
        ("a > CAST('2026-01-31 13:45:00.5+02' AS TIMESTAMP)", "is not a time in UTC"),
        ("a > '03/04/2026'::TIMESTAMP", "'03/04/2026' at character 5 is not a time in UTC"),
        ("a > CAST('03/04/2026' AS DATE)", "is not a time in UTC"),
        ("a > DATE '2026-1-31'", "is not a time in UTC"),
        (
            "a LIKE 'x\\_%'",
            "LIKE has no escapes, and '\\_' stands in 'x\\_%' at character 8; to find a '_' itself",
        ),
        ("a NOT ilike '5\\%'", "ILIKE has no escapes, and '\\%' stands in"),
        (
            "end + 1",
            "'end' at character 1 is a word of SQL; a column of that name is written in double quotes",
        ),
        ("from + 1", "'from' at character 1 is a word of SQL"),
        ("", "there is nothing"),
        (" \n", "there is nothing"),
        ("a" + " + a" * 300, "more than 250 operators"),
        ("a + " * LONGEST_EXPRESSION, "make it several columns"),
    ],
)
def test_where_it_does_not_parse(text: str, said: str) -> None:
    code, message = problem(text)
    assert code == "bad_expression"
    assert said in message


@pytest.mark.parametrize("name", sorted(NOT_ROWWISE))
def test_no_function_may_look_at_other_rows(name: str) -> None:
    code, message = problem(f"a > {name.upper()}(a)")
    assert code == "expression_not_rowwise"
    assert f"'{name.upper()}' at character 5" in message


@pytest.mark.parametrize("name", sorted(CLOCKS))
def test_clocks_need_no_call(name: str) -> None:
    assert problem(f"a > {name}")[0] == "expression_not_rowwise"
    assert columns_of(f'a > "{name}"') == ("a", name)


@pytest.mark.parametrize(
    "text",
    ["a > (SELECT 1)", "EXISTS (SELECT 1)", "a IN (SELECT a FROM 'x.csv')", "SUM(a) OVER ()", "a OVER ()"],
)
def test_nothing_is_read_from_anywhere(text: str) -> None:
    assert problem(text)[0] == "expression_not_rowwise"


def test_the_functions_are_those_of_the_docs() -> None:
    text = (pathlib.Path(__file__).parents[3] / "docs" / "reference" / "expressions.md").read_text(
        encoding="utf-8"
    )
    listed = dict(re.findall(r"^\| `([A-Z0-9_]+)` \| (.*) \|$", text, re.MULTILINE))
    assert {name.lower(): gives for name, gives in listed.items()} == FUNCTIONS
    assert f"at most {LONGEST_EXPRESSION} characters and {MOST_OPERATORS} operators" in text


def test_no_function_is_on_both_lists() -> None:
    assert not NOT_ROWWISE & set(FUNCTIONS)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_what_is_allowed_parses(text: str) -> None:
    columns_of(text)


@given(st.text(st.sampled_from("ab1.5'\"()[]+-*/<>=, \n:|&~ANDORNOTselectcount"), max_size=30))
def test_any_text_has_columns_or_a_problem_in_one_line(text: str) -> None:
    try:
        columns_of(text)
    except ExpressionError as error:
        assert str(error).strip() == str(error) != ""  # noqa: PT017
        assert "Ident" not in str(error)  # noqa: PT017


def test_reading_files_without_expressions_imports_no_polars() -> None:
    modules = "beam_ensembles.spec.load, beam_ensembles.graph.expressions.checks"
    code = f"import sys, {modules}; assert 'polars' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
