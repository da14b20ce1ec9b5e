"""Expressions over batches of columns."""

from __future__ import annotations

import datetime
import itertools
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
from apache_beam.utils.timestamp import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from beam_ensembles.columns.expressions import Condition, Conditions, Expressions
from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import Columns, validity
from beam_ensembles.spec.sql_tokens import ExpressionError
from beam_ensembles.types import DOUBLE, STRING, Scalar, Type, dtype_of, parse_type, row_shape
from tests.support.expressions import EXPRESSIONS, TYPES

TEXTS = st.sampled_from(["", "a", "b", "A1", " a a ", "aab,c", "17", "-3", "2.5", "äöü", "a_bcc", "nan"])
NUMBERS = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 2.0, 2.5, math.nan, math.inf]), st.floats(-100, 100, width=32)
)
DAYS = st.dates(datetime.date(1950, 1, 1), datetime.date(2100, 1, 1)).map(str)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "double": NUMBERS, "float": NUMBERS, "int64": st.integers(-5, 5), "int32": st.integers(-5, 5),
    "uint8": st.integers(0, 5), "boolean": st.booleans(), "string": TEXTS, "bytes": TEXTS.map(str.encode),
    "timestamp": st.integers(-(10**15), 2 * 10**15).map(lambda micros: Timestamp(micros=micros)),
    "array<double>[2]": st.lists(NUMBERS, min_size=2, max_size=2), "array<double>": st.lists(NUMBERS, max_size=4),
    "array<string?>": st.lists(st.none() | TEXTS, max_size=3),
    "row<a: int32, b: string?>": st.fixed_dictionaries({"a": st.integers(-5, 5), "b": st.none() | TEXTS}),
}  # fmt: skip


def column(values: list[Any], type_: Type) -> np.ndarray:
    """Creates a column as the executor does: zeros or None where there is no value."""
    dtype = dtype_of(type_)
    if dtype is None:
        found = np.empty(len(values), dtype=object)
        found[:] = values
        return found
    blank = np.zeros(row_shape(type_), dtype=dtype)
    found = np.array([blank if value is None else value for value in values], dtype=dtype)
    return found.reshape(len(values), *row_shape(type_))


def columns_of(rows: dict[str, list[Any]], types: dict[str, Type]) -> dict[str, np.ndarray]:
    found = {}
    for name, values in rows.items():
        found[name] = column(values, types[name])
        if types[name].nullable:
            found[validity(name)] = np.array([value is not None for value in values])
    return found


def outcome(expressions: Expressions, columns: Columns) -> Any:
    """Returns each row's value, None where there is none; or the error."""
    try:
        found = expressions(columns)
    except NodeError as error:
        if "gives null" in error.message:
            raise  # the announced type was wrong
        return error
    values, valid = found["out"], found.get("out?")
    return [None if valid is not None and not valid[at] else values[at] for at in range(len(values))]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray | float | np.floating):
        return bool(np.array_equal(one, other, equal_nan=True))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


ROW = {
    name: DAYS
    if name == "d"
    else (st.none() if type_.nullable else st.nothing()) | VALUES[str(type_.required())]
    for name, type_ in TYPES.items()
    if name != "m"
}
COMPILED = {text: Expressions({"out": text}, TYPES) for text in EXPRESSIONS}


@settings(max_examples=10, deadline=None)
@given(rows=st.lists(st.fixed_dictionaries(ROW), min_size=1, max_size=4))
def test_a_batch_gives_what_its_rows_give_one_at_a_time(rows: list[dict[str, Any]]) -> None:
    columns = columns_of({name: [row[name] for row in rows] for name in ROW}, dict(TYPES))
    singles = [{name: values[at : at + 1] for name, values in columns.items()} for at in range(len(rows))]
    for text, expressions in COMPILED.items():
        alone = [outcome(expressions, single) for single in singles]
        together = outcome(expressions, columns)
        if any(isinstance(row, NodeError) for row in alone):
            assert isinstance(together, NodeError), text
        else:
            assert same(together, [row[0] for row in alone]), text


def evaluated(text: str, types: dict[str, str], **columns: Any) -> tuple[Any, Any]:
    """Returns the values of one expression and its companion."""
    expressions = Expressions({"out": text}, {name: parse_type(type_) for name, type_ in types.items()})
    found = expressions(columns)
    return found["out"], found.get("out?")


def test_numbers_are_computed_as_numpy_does() -> None:
    x, f = np.array([1.5, -2.0, 0.0]), np.array([1, 2, 3], dtype=np.float32)
    found, valid = evaluated("x * 2 + f / 3", {"x": "double", "f": "float"}, x=x, f=f)
    assert valid is None
    np.testing.assert_allclose(found, x * 2 + f / 3, rtol=1e-7)
    found, _ = evaluated("LN(ABS(x) + 1)", {"x": "double"}, x=x)
    np.testing.assert_allclose(found, np.log1p(np.abs(x)), rtol=1e-15)


def test_nulls_are_those_of_the_companions_and_what_stands_there_means_nothing() -> None:
    y, valid = np.array([1.0, 99.0]), np.array([True, False])
    found, present = evaluated("y + 1", {"y": "double?"}, **{"y": y, "y?": valid})
    assert (found.tolist(), present.tolist()) == ([2.0, 0.0], [True, False])
    found, present = evaluated("COALESCE(y, -1)", {"y": "double?"}, **{"y": y, "y?": valid})
    assert (found.tolist(), present) == ([1.0, -1.0], None)
    v = np.array(["a", None], dtype=object)
    found, present = evaluated("UPPER(v)", {"v": "string?"}, **{"v": v, "v?": valid})
    assert (found.tolist(), present.tolist()) == (["A", None], [True, False])


def test_a_nullable_column_without_a_companion_has_all_its_values() -> None:
    found, present = evaluated("y + 1", {"y": "double?"}, y=np.array([1.0, 2.0]))
    assert (found.tolist(), present) == ([2.0, 3.0], None)


def test_nan_compares_as_null_and_computes_as_itself() -> None:
    x = np.array([math.nan, 2.0])
    types = {"x": "double"}
    for text in ("x > 1", "x <= 1", "x = x", "x <> 1", "x IN (1, 2)", "x NOT IN (1, 3)", "x BETWEEN 0 AND 9"):
        assert evaluated(text, types, x=x)[1].tolist() == [False, True], text
    assert evaluated("LN(0 - x) > 0", types, x=x)[1].tolist() == [False, False]
    assert evaluated("x IS NOT DISTINCT FROM NULL", types, x=x)[0].tolist() == [True, False]
    assert evaluated("NULLIF(x, 2)", types, x=x)[1].tolist() == [True, False]
    np.testing.assert_array_equal(evaluated("x + 1", types, x=x)[0], [math.nan, 3.0])
    assert Condition("NOT (x > 1)", {"x": DOUBLE})({"x": x}).tolist() == [False, False]


def test_truth_has_three_values() -> None:
    c, d = np.array([True, False, False] * 3), np.repeat([True, False, False], 3)
    valid, other = np.array([True, True, False] * 3), np.repeat([True, True, False], 3)
    columns = {"c": c, "c?": valid, "d": d, "d?": other}
    types = {"c": "boolean?", "d": "boolean?"}
    found, present = evaluated("c AND d", types, **columns)
    assert present.tolist() == [True, True, False, True, True, True, False, True, False]
    assert found[present].tolist() == [True, False, False, False, False, False]
    found, present = evaluated("c OR d", types, **columns)
    assert present.tolist() == [True, True, True, True, True, False, True, False, False]


TRUTHS = [None, True, False]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a IS TRUE", lambda a, b, c: a is True),
        ("a IS NOT TRUE", lambda a, b, c: a is not True),
        ("a is false", lambda a, b, c: a is False),
        ("NOT a IS NOT FALSE", lambda a, b, c: a is False),
        ("(n > 0) IS NOT TRUE AND b IS TRUE", lambda a, b, c: a is not True and b is True),
        ("n > 0 IS TRUE", lambda a, b, c: a is True),
        ("CASE WHEN a IS NOT TRUE THEN b IS TRUE ELSE c IS FALSE END",
         lambda a, b, c: b is True if a is not True else c is False),
        ("CAST(a IS NOT TRUE AS INT) = 1", lambda a, b, c: a is not True),
        ("COALESCE(a IS TRUE, b) AND a IS NOT TRUE IS TRUE", lambda a, b, c: False),
        ("a IS DISTINCT FROM b AND c IS TRUE", lambda a, b, c: a is not b and c is True),
        ("a IS NOT DISTINCT FROM b OR c IS TRUE", lambda a, b, c: a is b or c is True),
        ("NOT a IS DISTINCT FROM b OR c IS TRUE", lambda a, b, c: a is b or c is True),
        ("c IS TRUE AND a IS DISTINCT FROM b", lambda a, b, c: a is not b and c is True),
        ("a IS DISTINCT FROM b IS NOT DISTINCT FROM c", lambda a, b, c: (a is not b) is c),
        ("a IS NULL IS DISTINCT FROM b", lambda a, b, c: (a is None) is not b),
        ("n IS DISTINCT FROM m AND c IS TRUE", lambda a, b, c: a is not b and c is True),
        ("n IS DISTINCT FROM m + 0 OR n BETWEEN 1 AND 5 IS TRUE", lambda a, b, c: a is not b or a is True),
        ("n BETWEEN 1 AND 5 IS DISTINCT FROM m BETWEEN 1 AND 5 AND c IS TRUE",
         lambda a, b, c: a is not b and c is True),
        ("COALESCE(a, FALSE) XOR COALESCE(b, FALSE) AND c IS TRUE",
         lambda a, b, c: (a is True) != (b is True and c is True)),
        ("COALESCE(n, 0) > 0 XOR COALESCE(m, 0) > 0", lambda a, b, c: (a is True) != (b is True)),
        ("a IS TRUE OR b IS TRUE XOR c IS TRUE", lambda a, b, c: a is True or (b is True) != (c is True)),
        ("NOT a IS TRUE XOR (b IS TRUE XOR c IS TRUE)",
         lambda a, b, c: (a is not True) != ((b is True) != (c is True))),
    ],
)  # fmt: skip
def test_operators_bind_and_answer_nulls_as_in_sql(text: str, wanted: Any) -> None:
    """Where polars' own parser does not."""
    rows = list(itertools.product(TRUTHS, repeat=3))
    types = {name: parse_type("boolean?" if name in "abc" else "int32?") for name in "abcnm"}
    values = {name: [row[at] for row in rows] for at, name in enumerate("abc")}
    values |= {
        of: [None if one is None else int(one) for one in values[name]]
        for of, name in zip("nm", "ab", strict=True)
    }
    found, valid = evaluated(
        text, {name: str(type_) for name, type_ in types.items()}, **columns_of(values, types)
    )
    assert valid is None
    assert found.tolist() == [wanted(*row) for row in rows]


@pytest.mark.parametrize(
    "text",
    [
        "f = {}", "f IN ({})", "f IN ({}, 7)", "NOT f NOT IN ({}, 7)", "f = ANY([{}])", "{} = ANY(l)",
        "ARRAY_CONTAINS(l, {})", "f BETWEEN {} AND {}", "CASE f WHEN {} THEN TRUE ELSE FALSE END",
    ],
)  # fmt: skip
@pytest.mark.parametrize(("constant", "wanted"), [("0.1", [True, False]), ("16777217", [False, True])])
def test_a_float_is_compared_with_constants_as_a_float(text: str, constant: str, wanted: list[bool]) -> None:
    f = np.array([0.1, 16_777_216], dtype=np.float32)
    columns = {"f": f, "l": f.reshape(2, 1)}
    assert (
        Condition(
            text.replace("{}", constant), {"f": parse_type("float"), "l": parse_type("array<float>[1]")}
        )(columns).tolist()
        == wanted
    )


def test_what_is_not_in_a_list_with_a_null_is_unknown() -> None:
    types = {"k": "int64?", "l": "array<int64?>?"}
    columns = {
        "k": np.array([5, 5, 5, 5, 0, 5]),
        "k?": np.array([True, True, True, True, False, True]),
        "l": column([[5, None], [4, None], [4], [], [4], []], parse_type("array<int64?>?")),
        "l?": np.array([True, True, True, True, True, False]),
    }
    found, present = evaluated("k = ANY(l)", types, **columns)
    assert present.tolist() == [True, False, True, True, False, False]
    assert found[present].tolist() == [True, False, False]
    present = evaluated("NOT k = ANY([4, NULL])", types, **columns)[1]
    assert not present.any()
    typed = {name: parse_type(text) for name, text in types.items()}
    assert Condition("NOT k = ANY(l)", typed)(columns).tolist() == [False, False, True, True, False, False]


def test_a_list_contains_what_equals_any_of_its_items() -> None:
    types = {"k": "int64?", "l": "array<int64?>?", "d": "array<double>"}
    columns = {
        "k": np.array([5, 5, 5, 5, 0, 5]),
        "k?": np.array([True, True, True, True, False, True]),
        "l": column([[5, None], [4, None], [4], [], [4, None], []], parse_type("array<int64?>?")),
        "l?": np.array([True, True, True, True, True, False]),
        "d": column([[1.0], [], [math.nan], [2.0], [1.0], [1.0]], parse_type("array<double>")),
    }
    found, present = evaluated("ARRAY_CONTAINS(l, k)", types, **columns)
    assert present.tolist() == [True, False, True, True, False, False]
    assert found[present].tolist() == [True, False, False]
    for text in ("ARRAY_CONTAINS(l, NULL)", "ARRAY_CONTAINS(d, NULL)"):
        assert not evaluated(text, types, **columns)[1].any(), text
    found, present = evaluated("ARRAY_CONTAINS(d, 1.0)", types, **columns)
    assert (found.tolist(), present) == ([True, False, False, False, True, True], None)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2026-01-01 12:00:00.123456789", "%Y-%m-%d %H:%M:%S%.f"),
        ("2026-01-01 12:00:00.0000001", "%Y-%m-%d %H:%M:%S%.f"),
        ("2026-01-01 12:00:00.123456789", "%F %T%.9f"),
        ("2026-01-01T12:00:00.123456700+02:00", "%+"),
        ("1767268800.123456789", "%s%.f"),
    ],
)
@pytest.mark.parametrize("function", ["STRPTIME", "TIMESTAMP"])
def test_nanoseconds_are_not_cut_off(function: str, text: str, form: str) -> None:
    expression = f"{function}(t, '{form}')"
    with pytest.raises(NodeError) as caught:
        evaluated(expression, {"t": "string"}, t=np.array([text], dtype=object))
    assert f"the string '{text}' (column 't') cannot be made a value" in str(caught.value)
    assert "a timestamp holds microseconds, and it names a part of one" in str(caught.value)
    coarse = np.array([re.sub(r"\.\d+", ".123456000", text)], dtype=object)
    found, _ = evaluated(expression, {"t": "string"}, t=coarse)
    assert found[0].micros % 1_000_000 == 123456


HUGE = 2**63 - 1
LATE = Timestamp.from_utc_datetime(datetime.datetime(2026, 12, 31, 23, 59, 58, tzinfo=datetime.UTC))
WHOLE_NUMBERS = {
    "t": ("string", np.array(["abc"], dtype=object)),
    "d": ("timestamp", np.array([LATE], dtype=object)),
    "u": ("uint8", np.array([200], dtype=np.uint8)),
    "k": ("int8", np.array([-128], dtype=np.int8)),
    "i": ("int32", np.array([2**31 - 1], dtype=np.int32)),
    "b": ("int64", np.array([HUGE])),
    "f": ("float", np.array([0.5], dtype=np.float32)),
    "l": ("array<int64>", column([[HUGE, 1, -2]], parse_type("array<int64>"))),
}


def of_whole_numbers(text: str) -> Any:
    types = {name: type_ for name, (type_, _) in WHOLE_NUMBERS.items()}
    found, present = evaluated(text, types, **{name: values for name, (_, values) in WHOLE_NUMBERS.items()})
    assert present is None
    return found


@pytest.mark.parametrize(
    ("text", "wanted", "dtype"),
    [
        ("HOUR(d) * 60 + MINUTE(d)", 23 * 60 + 59, np.int32),
        ("EXTRACT(hour FROM d) * 3600", 23 * 3600, np.int32),
        ("MONTH(d) * 100 + DAY(d)", 1231, np.int32),
        ("DAYOFYEAR(d) * 100", 36500, np.int32),
        ("LENGTH(t) - 10", -7, np.int64),
        ("OCTET_LENGTH(t) * -1", -3, np.int64),
        ("ARRAY_LENGTH(l) - 5", -2, np.int64),
        ("BIT_COUNT(u) - 40", -37, np.int64),
        ("u + 100", 300, np.int32),
        ("5 - u", -195, np.int32),
        ("-u", -200, np.int32),
        ("(u > 1) * 300 - 301", -1, np.int32),
        ("(u > 1) + (u > 2) - 3", -1, np.int64),
        ("u * u * u", 8_000_000, np.int32),
        ("(u - 201) * (u + 1)", -201, np.int32),
        ("CASE WHEN u > 1 THEN u * 2 ELSE u END", 400, np.int32),
        ("ABS(k)", 128, np.int32),
        ("-k", 128, np.int32),
        ("SIGN(k) * 1000", -1000, np.int32),
        ("i - (u - i) + 200 - i", 2**31 - 1, np.int32),
        ("CAST(i AS BIGINT) * 4", 4 * (2**31 - 1), np.int64),
        ("b - 1 + 1", HUGE, np.int64),
        ("ARRAY_SUM(l)", HUGE - 1, np.int64),
        ("POW(u, 2)", 40_000.0, np.float64),
        ("POWER(i, 2)", float((2**31 - 1) ** 2), np.float64),
        ("POW(f, 2)", 0.25, np.float32),
        (" + ".join(["u"] * 249), 249 * 200, np.int32),
        (" - ".join(["i"] * 3), -(2**31 - 1), np.int32),
    ],
)
def test_whole_numbers_are_computed_exactly(text: str, wanted: float, dtype: Any) -> None:
    found = of_whole_numbers(text)
    assert (found.tolist(), found.dtype) == ([wanted], dtype)


@pytest.mark.parametrize(
    "text", ["i + 1", "i * 2", "-i - 2", "b + 1", "b * b", "ABS(-b - 1)", "ARRAY_SUM(l) + 2", "b + i > 0"]
)
def test_a_whole_number_that_does_not_fit_fails_its_row(text: str) -> None:
    with pytest.raises(NodeError, match=r"cannot be made a value of type int(32|64)") as caught:
        of_whole_numbers(text)
    assert caught.value.code == "expression_failed"


@given(st.lists(st.integers(0, 255), min_size=2, max_size=12), st.data())
@settings(max_examples=20)
def test_sums_of_whole_numbers_are_those_of_python(numbers: list[int], data: st.DataObject) -> None:
    text = str(numbers[0])
    columns, types = {}, {}
    for at, number in enumerate(numbers):
        types[f"x{at}"], columns[f"x{at}"] = "uint8", np.array([number], dtype=np.uint8)
        operator = data.draw(st.sampled_from(["+", "-", "*"])) if at else ""
        text = (
            f"({text} {operator} x{at})"
            if at and data.draw(st.booleans())
            else f"{text} {operator or '+'} x{at}"
        )
    wanted = eval(re.sub(r"x(\d+)", lambda found: str(numbers[int(found[1])]), text))
    found = outcome(
        Expressions({"out": text}, {name: parse_type(type_) for name, type_ in types.items()}), columns
    )
    if isinstance(found, NodeError):  # it, or a part of it, is too large
        assert "type int32" in str(found)
    else:
        assert found == [wanted]


@pytest.mark.parametrize(
    ("text", "type_", "large"),
    [
        ("x", "float", 1e300), ("x + x", "float", -1e39), ("x", "float16", 65520.0), ("f", "float16", 1e5),
        ("n * 1000", "float16", 66), ("p", "array<float>[2]", 1e300), ("w", "array<float>", 1e300),
    ],
)  # fmt: skip
def test_a_fraction_too_large_for_what_is_declared_fails_its_row(text: str, type_: str, large: float) -> None:
    types = {"x": "double", "f": "float", "n": "int32", "p": "array<double>[2]", "w": "array<double>"}
    typed = {name: parse_type(of) for name, of in types.items()}

    def given_by(value: float) -> Any:
        columns: dict[str, Any] = {
            "x": np.array([value]), "f": np.array([np.clip(value, -1e30, 1e30)], dtype=np.float32),
            "n": np.array([int(np.clip(value, -1e6, 1e6))], dtype=np.int32), "p": np.array([[1.0, value]]),
            "w": column([[value, 2.0]], typed["w"]),
        }  # fmt: skip
        return Expressions({"y": text}, typed, {"y": parse_type(type_)})(columns)["y"]

    with pytest.raises(NodeError, match="which is too large for a float"):
        given_by(large)
    assert given_by(0.5) is not None


@pytest.mark.parametrize(
    ("text", "large", "name"),
    [
        ("CAST(x AS REAL)", "1e300", "float"), ("x::REAL * 0.5 + 1", "-1e39", "float"),
        ("CAST(CAST(x AS REAL) AS DOUBLE)", "3.4028236e38", "float"), ("CAST(t AS REAL)", "1e39", "float"),
        ("CAST(t AS DOUBLE)", "-1e999", "double"), ("CAST(w AS REAL[])", "1e300", "float"),
        ("CAST(s AS DOUBLE[])", "1e400", "double"), ("CAST(s AS REAL[])", "1e39", "float"),
        ("CASE WHEN CAST(p[1] AS REAL) > 0 THEN 1 ELSE 2 END", "1e300", "float"),
    ],
)  # fmt: skip
def test_a_number_too_large_for_a_cast_fails_its_row(text: str, large: str, name: str) -> None:
    types = {
        "x": "double", "t": "string", "w": "array<double>", "s": "array<string>", "p": "array<double>[1]",
    }  # fmt: skip
    typed = {column: parse_type(of) for column, of in types.items()}

    def given_by(expression: str, value: str) -> list[Any]:
        rows: dict[str, list[Any]] = {
            "x": [float(value)], "t": [value], "w": [[1.0, float(value)]], "s": [["1", value]], "p": [[float(value)]],
        }  # fmt: skip
        columns = columns_of(rows, typed)
        return outcome(Expressions({"out": expression}, typed), columns)  # type: ignore[no-any-return]

    failure: Any = given_by(text, large)
    assert isinstance(failure, NodeError)
    said, found, type_ = failure.message.partition(" is too large for a ")
    assert (said.removeprefix("'out' cannot be computed: ").replace("e+", "e"), found != "", type_) == (
        large,
        True,
        name,
    )
    for value in ("0.1", "inf", "-inf", "nan", "3.4e38"):
        assert not isinstance(given_by(text, value), NodeError), value
    if "CAST(" in text and "CASE" not in text:
        found = given_by(text.replace("CAST(", "TRY_CAST("), large)
        assert found == ([[1.0, None]] if "[]" in text else [None])


def part(text: str, start: int | None, length: int | None) -> str | None:
    """Returns what SQL has for ``SUBSTR(text, start, length)``; a length of -1 is none."""
    if start is None or length is None:
        return None
    begin = start - 1
    end = len(text) if length == -1 else max(begin + length, 0)
    return text[max(begin, 0) : max(end, 0)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("LEFT(t, i)", lambda t, i, j: None if i is None else t[:i]),
        ("RIGHT(t, i)", lambda t, i, j: None if i is None else t[-i:] if i > 0 else t[-i:] if i < 0 else ""),
        ("RIGHT(t, ABS(i))", lambda t, i, j: None if i is None else t[-abs(i):] if i else ""),
        ("SUBSTR(t, i)", lambda t, i, j: part(t, i, -1)),
        ("SUBSTR(t, i, 2)", lambda t, i, j: part(t, i, 2)),
        ("SUBSTR(t, 2, j)", lambda t, i, j: part(t, 2, j)),
        ("SUBSTR(t, i, j)", lambda t, i, j: part(t, i, j)),
        ("SUBSTR(t, i - 3)", lambda t, i, j: None if i is None else part(t, i - 3, -1)),
        ("SPLIT_PART(t, 'b', i)",
         lambda t, i, j: None if i is None else [*t.split("b"), *[""] * 20][i - 1] if i > 0 else
         "" if i == 0 or -i > t.count("b") + 1 else t.split("b")[i]),
        ("SPLIT_PART(t, v, 2)", lambda t, i, j: None if i is None else "cdef" if t == "abcdef" else ""),
        ("LTRIM(t, v)", lambda t, i, j: None if i is None else t.removeprefix("ab")),
        ("RTRIM(t, v)", lambda t, i, j: None if i is None else t),
    ],
)  # fmt: skip
def test_a_part_of_a_text_is_that_of_sql(text: str, wanted: Any) -> None:
    rows = list(itertools.product(["abcdef", "a", ""], [None, -2, 0, 1, 3, 9], [None, 0, 2]))
    if text.startswith(("SPLIT_PART(t, v", "LTRIM", "RTRIM")):
        rows = [(t, i, j) for t, i, j in rows if t == "abcdef"]
    types = {"t": "string", "i": "int64?", "j": "int64?", "v": "string?"}
    typed = {name: parse_type(type_) for name, type_ in types.items()}
    values = {name: [row[at] for row in rows] for at, name in enumerate("tij")}
    values["v"] = [None if one is None else "ab" for one in values["i"]]
    found = outcome(Expressions({"out": text}, typed), columns_of(values, typed))
    assert found == [wanted(*row) for row in rows]


def test_a_part_of_a_text_is_never_null_where_nothing_is() -> None:
    typed = {"t": STRING, "i": parse_type("int64")}
    for text in ("LEFT(t, i)", "RIGHT(t, i)", "SUBSTR(t, i, 2)", "SPLIT_PART(t, 'b', i)", "LTRIM(t, 'ab')"):
        assert Expressions({"out": text}, typed).outputs["out"] == STRING, text


def test_casts_to_fractions_round_to_the_nearest() -> None:
    typed = {"x": DOUBLE, "t": STRING}
    assert str(Expressions({"y": "CAST(x AS REAL)", "z": "CAST(t AS DOUBLE)"}, typed).outputs["y"]) == "float"
    x = np.array([0.1, 3.4028235677e38, math.inf, -0.0, 1e-50])
    found, valid = evaluated("CAST(x AS REAL)", {"x": "double"}, x=x)
    assert valid is None
    np.testing.assert_array_equal(found, x.astype(np.float32))
    texts = ["0.1", "1e308", "Infinity", "-0", "1e-400"]
    found, valid = evaluated("CAST(t AS DOUBLE)", {"t": "string"}, t=np.array(texts, dtype=object))
    assert valid is None
    np.testing.assert_array_equal(found, np.array(texts, dtype=float))


def test_a_sum_of_whole_numbers_has_64_bits() -> None:
    lists = column([[2_147_483_647, 1], [-(2**31), -1]], parse_type("array<int32>"))
    found, _ = evaluated("ARRAY_SUM(l)", {"l": "array<int32>"}, l=lists)
    assert (found.tolist(), found.dtype) == ([2**31, -(2**31) - 1], np.int64)


@pytest.mark.parametrize("text", ["EXTRACT(EPOCH FROM s)", "DATE_PART('epoch', s)"])
def test_every_timestamp_has_its_second(text: str) -> None:
    micros = [-62_135_596_800_000_000, -500_000, -1, 0, 1_600_000_000_123_456, 253_402_214_400_000_000]
    s = column([Timestamp(micros=one) for one in micros], parse_type("timestamp"))
    found, present = evaluated(text, {"s": "timestamp"}, s=s)
    assert present is None
    np.testing.assert_allclose(found, [one / 1e6 for one in micros], rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        "TIMESTAMP '2020-09-13 12:26:40'", "TIMESTAMP '2020-09-13T12:26:40.000000Z'",
        "TIMESTAMP '2020-09-13 12:26:40+00:00'",
        "CAST('2020-09-13 12:26:40' AS TIMESTAMP)", "'2020-09-13T12:26:40'::TIMESTAMP",
    ],
)  # fmt: skip
def test_points_in_time_are_written_in_utc(text: str) -> None:
    s = column([Timestamp(1_600_000_000), Timestamp(1_600_000_001)], parse_type("timestamp"))
    found, _ = evaluated(f"COALESCE({text}, s)", {"s": "timestamp"}, s=s)
    assert found.tolist() == [Timestamp(1_600_000_000)] * 2


def test_lists_and_tensors_are_counted_from_one() -> None:
    p = np.arange(6.0).reshape(3, 2)
    p.flags.writeable = False
    assert evaluated("p[2] - p[1]", {"p": "array<double>[2]"}, p=p)[0].tolist() == [1.0, 1.0, 1.0]
    q = np.array([[1, 2], (), np.array([3.0])], dtype=object)
    found, present = evaluated("q[1]", {"q": "array<double>"}, q=q)
    assert (found[present].tolist(), present.tolist()) == ([1.0, 3.0], [True, False, True])
    assert evaluated("ARRAY_SUM(p)", {"p": "array<int32>[2]"}, p=p.astype(np.int32))[0].tolist() == [1, 5, 9]


@pytest.mark.parametrize("text", ["LPAD(t, n, 'x')", "UPPER(RPAD(t, n * 1, 'x'))"])
def test_a_row_asks_for_no_longer_text_than_there_is_memory_for(text: str) -> None:
    types, t = {"t": "string", "n": "int64"}, np.array(["a", "b"], dtype=object)
    found, _ = evaluated(text, types, t=t, n=np.array([2, 65_535]))
    assert [len(value) for value in found] == [2, 65_535]
    for length in (65_536, 2**40, -1):
        with pytest.raises(NodeError, match=rf"'{length}'.* cannot be made a value of type uint16"):
            evaluated(text, types, t=t, n=np.array([2, length]))


def test_a_text_is_not_filled_up_without_a_limit() -> None:
    types = {"t": "string"}
    found, _ = evaluated("LPAD(t, 65535, 'x')", types, t=np.array(["a"], dtype=object))
    assert len(found[0]) == 65_535
    with pytest.raises(ExpressionError, match="fill a text up to 65535 characters at most, not to 65536"):
        evaluated("LPAD(t, 65536, 'x')", types, t=np.array(["a"], dtype=object))


@pytest.mark.parametrize(("text", "of_none"), [("ARRAY_SUM(q)", 0.0), ("1 / ARRAY_SUM(q)", math.inf)])
@pytest.mark.parametrize("type_", ["double", "float"])
def test_a_sum_of_nothing_is_zero_without_a_sign(text: str, of_none: float, type_: str) -> None:
    lists = column([[], [0.5, 1.5]], parse_type(f"array<{type_}>"))
    found = evaluated(text, {"q": f"array<{type_}>"}, q=lists)[0]
    assert math.copysign(1, found[0]) == 1
    assert found.tolist() == [of_none, 2.0 if of_none == 0 else 0.5]
    found, _ = evaluated("ARRAY_LENGTH(m)", {"m": "array<float>[2,3]"}, m=np.zeros((4, 2, 3), np.float32))
    assert found.tolist() == [2, 2, 2, 2]


def test_a_declared_tensor_is_made_of_lists_of_its_length() -> None:
    types, outputs = {"q": parse_type("array<double>")}, {"out": parse_type("array<float>[2]")}
    reverse = Expressions({"out": "ARRAY_REVERSE(q)"}, types, outputs)
    found = reverse({"q": np.array([[1.0, 2.0], [3.0, 4.0]], dtype=object)})["out"]
    assert (found.tolist(), found.dtype, found.shape) == ([[2, 1], [4, 3]], np.float32, (2, 2))
    lists = np.empty(2, dtype=object)
    lists[:] = [[1.0, 2.0], [3.0]]
    with pytest.raises(NodeError, match="other lengths"):
        reverse({"q": lists})


def test_points_in_time_keep_their_microseconds() -> None:
    s = column([Timestamp(micros=1_600_000_000_123_456), None], parse_type("timestamp"))
    columns = {"s": s, "s?": np.array([True, False])}
    found, present = evaluated("s + INTERVAL '1 hour'", {"s": "timestamp?"}, **columns)
    assert found.tolist() == [Timestamp(micros=1_600_003_600_123_456), None]
    assert present.tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("i // 2", [-3, 3]), ("DIV(i, 2)", [-3, 3]), ("i % 2", [-1, 1]), ("x // 2", [-2, 1]), ("x % 2", [-1.5, 0.5]),
        ("ROUND(x)", [-6.0, 2.0]), ("l[-1]", [2.0, 4.0]),
    ],
)  # fmt: skip
def test_numbers_are_rounded_as_it_is_documented(text: str, wanted: list[float]) -> None:
    types = {"i": "int64", "x": "double", "l": "array<double>[2]"}
    columns = {"i": np.array([-7, 7]), "x": np.array([-5.5, 2.5]), "l": np.array([[1.0, 2.0], [3.0, 4.0]])}
    found, _ = evaluated(text, types, **columns)
    assert (found.tolist(), found.dtype.kind) == (wanted, "i" if isinstance(wanted[0], int) else "f")


@pytest.mark.parametrize("value", [1e30, math.nan, math.inf])
def test_a_whole_quotient_that_is_no_whole_number_fails(value: float) -> None:
    with pytest.raises(NodeError) as caught:
        evaluated("x // 2", {"x": "double"}, x=np.array([value]))
    assert caught.value.code == "expression_failed"


def test_columns_may_have_any_name() -> None:
    made = Expressions({"self": "exprs + 1", "exprs-2": "exprs"}, {"exprs": DOUBLE})
    found = made({"exprs": np.array([1.0])})
    assert {name: values.tolist() for name, values in found.items()} == {"self": [2.0], "exprs-2": [1.0]}


def test_constants_stand_in_every_row() -> None:
    found = Expressions({"one": "1", "name": "'a'"}, {"x": DOUBLE})({"x": np.zeros(3)})
    assert (found["one"].tolist(), found["name"].tolist()) == ([1, 1, 1], ["a", "a", "a"])


def test_a_row_that_cannot_be_computed_fails_its_batch_with_the_column_s_name() -> None:
    expressions = Expressions({"a": "t", "b": "CAST(t AS INT)"}, {"t": STRING})
    with pytest.raises(NodeError, match=r"'b' cannot be computed: .*x") as caught:
        expressions({"t": np.array(["1", "x"], dtype=object)})
    assert caught.value.code == "expression_failed"
    assert expressions({"t": np.array(["1"], dtype=object)})["b"].tolist() == [1]


@pytest.mark.parametrize("rows", [1, 3])
def test_a_value_that_cannot_be_cast_is_said_once_and_short(rows: int) -> None:
    expressions = Expressions({"n": "CAST(t AS INT)"}, {"t": STRING})
    with pytest.raises(NodeError) as caught:
        expressions({"t": np.array(["x" * 1_000_000] * rows, dtype=object)})
    value = "x" * 60 + "..."
    said = f"the string '{value}' (column 't') cannot be made a value of type int32"
    assert caught.value.message == f"'n' cannot be computed: {said}"


def test_a_declared_type_that_cannot_hold_a_value_fails() -> None:
    narrow = Expressions({"out": "i * 2"}, {"i": Scalar("int64")}, {"out": Scalar("int32")})
    assert narrow({"i": np.array([1])})["out"].dtype == np.int32
    with pytest.raises(NodeError, match="cannot be made a value of type int32"):
        narrow({"i": np.array([2**40])})


def test_a_condition_counts_null_as_false() -> None:
    condition = Condition("c", {"c": parse_type("boolean?")})
    columns = {"c": np.array([True, False, True]), "c?": np.array([True, True, False])}
    assert condition(columns).tolist() == [True, False, False]


def test_several_conditions_are_evaluated_at_once() -> None:
    conditions = Conditions(["x > 1", "t = 'a'"], {"x": DOUBLE, "t": STRING})
    columns = {"x": np.array([0.0, 2.0]), "t": np.array(["a", "b"], dtype=object)}
    assert conditions(columns).tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize(
    "made",
    [Condition("x > 1", {"x": DOUBLE}), Expressions({"y": "x > 1"}, {"x": DOUBLE})],
    ids=["when", "sql"],
)
def test_they_travel_as_their_texts(made: Any) -> None:
    loaded = pickle.loads(pickle.dumps(made))
    x = {"x": np.array([0.5, 1.5])}
    assert str(loaded(x)) == str(made(x))
    assert b"polars" not in pickle.dumps(made).replace(b"polars_series", b"")


BIG = 2**53
"""From here on a double holds no odd number."""
MIXED = {
    "i": ("int64?", [BIG + 1, BIG, -BIG - 1, 7, None]),
    "u": ("uint64", [2**64 - 1, BIG + 1, 2**63, 7, 1]),
    "x": ("double?", [float(BIG), float(BIG), -float(BIG), 7.5, 1.0]),
    "l": ("array<int64>", [[BIG + 1], [BIG], [-BIG - 1, 1], [7], [1]]),
    "d": ("array<double?>", [[float(BIG)], [float(BIG)], [1.0], [7.0, None], [1.0]]),
}


def of_mixed(text: str) -> list[Any]:
    types = {name: parse_type(type_) for name, (type_, _) in MIXED.items()}
    values = columns_of({name: values for name, (_, values) in MIXED.items()}, types)
    found, valid = evaluated(text, {name: type_ for name, (type_, _) in MIXED.items()}, **values)
    return [None if valid is not None and not valid[at] else one for at, one in enumerate(found.tolist())]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("i = x", [False, True, False, False, None]),
        ("x <> i", [True, False, True, True, None]),
        ("i > x", [True, False, False, False, None]),
        ("x < i", [True, False, False, False, None]),
        ("i <= x", [False, True, True, True, None]),
        ("i IS DISTINCT FROM x", [True, False, True, True, True]),
        ("i BETWEEN x AND x", [False, True, False, False, None]),
        ("i IN (x, 7)", [False, True, False, True, None]),
        ("i = 9007199254740992.0", [False, True, False, False, None]),
        ("i IN (9007199254740992.0, 7)", [False, True, False, True, None]),
        ("i IN (9007199254740992.0, NULL)", [None, True, None, None, None]),
        ("i NOT IN (9007199254740992.0, 7)", [True, False, True, False, None]),
        ("u >= 18446744073709551616.0", [False] * 5),
        ("u = 9223372036854775808.0", [False, False, True, False, False]),
        ("u > 1e300", [False] * 5),
        ("i = ANY(d)", [False, True, False, True, None]),
        ("ARRAY_CONTAINS(d, u)", [False, False, False, True, True]),
        ("x = ANY(l)", [False, True, False, False, True]),
        ("ARRAY_CONTAINS(l, x)", [False, True, False, False, True]),
        ("NULLIF(i, x)", [BIG + 1, None, -BIG - 1, 7, None]),
        ("CASE i WHEN x THEN 1 ELSE 0 END", [0, 1, 0, 0, 0]),
        ("CAST(i AS DOUBLE) = x", [True, True, True, False, None]),
    ],
)
def test_whole_numbers_are_compared_with_fractions_exactly(text: str, wanted: list[Any]) -> None:
    assert of_mixed(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "COALESCE(i, x)",
        "GREATEST(x, i)",
        "LEAST(i, 0.5)",
        "IF(x > 0, i, 0.5)",
        "CASE WHEN x > 0 THEN u ELSE x END",
    ],
)
def test_a_whole_number_becomes_no_other_fraction(text: str) -> None:
    with pytest.raises(NodeError) as caught:
        of_mixed(text)
    assert caught.value.code == "expression_failed"
    assert "is no double: it would be rounded; write CAST(... AS DOUBLE) where that is right" in str(
        caught.value
    )
    assert evaluated(
        text.replace("u", "i"), {"i": "int64", "x": "double"}, i=np.array([7]), x=np.array([2.0])
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("COALESCE(x, i, 0.5)", [BIG, BIG, -BIG, 7.5, 1.0]),
        ("GREATEST(i, 1e17)", [1e17] * 5),
        ("LEAST(u, 0.5)", [0.5] * 5),
        ("GREATEST(i - 2, x)", [BIG, BIG, -BIG, 7.5, 1.0]),
        ("IF(i > 7, x, i)", None),
        ("IF(i > 7 OR i < 0, x, i)", [BIG, BIG, -BIG, 7, None]),
        ("CASE WHEN i = 7 THEN i ELSE x END", [BIG, BIG, -BIG, 7, 1.0]),
    ],
)
def test_a_whole_number_that_is_not_chosen_fails_no_row(text: str, wanted: list[Any] | None) -> None:
    if wanted is not None:
        assert of_mixed(text) == wanted
        return
    with pytest.raises(NodeError, match="-9007199254740993 is no double"):
        of_mixed(text)


def test_a_whole_number_that_is_cast_is_the_nearest_fraction() -> None:
    assert of_mixed("COALESCE(CAST(i AS DOUBLE), x)") == [BIG, BIG, -BIG, 7, 1]


@pytest.mark.parametrize("empty", ["''", "CONCAT('', '')"])
def test_replacing_an_empty_text_changes_nothing(empty: str) -> None:
    t = np.array(["abc", ""], dtype=object)
    assert evaluated(f"REPLACE(t, {empty}, 'z')", {"t": "string"}, t=t)[0].tolist() == ["abc", ""]


@pytest.mark.parametrize("text", ["REPLACE(t, v, 'z')", "REPLACE(t, 'a', v)", "REPLACE(t, LOWER(v), 'z')"])
def test_what_is_replaced_is_a_constant(text: str) -> None:
    with pytest.raises(ExpressionError, match="takes constants for 'old' and 'new', not columns"):
        Expressions({"out": text}, {"t": STRING, "v": STRING})


@pytest.mark.parametrize("text", ["LOG(x)", "LOG(x, 2)", "log(2, x)"])
def test_a_logarithm_names_its_base_in_the_function(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"is not one function: .* LN\(x\) / LN\(base\)"):
        Expressions({"out": text}, {"x": DOUBLE})


def test_a_date_is_cast_to_a_timestamp() -> None:
    s = np.array(
        [Timestamp.from_utc_datetime(datetime.datetime(2026, 1, 31, 5, tzinfo=datetime.UTC))], dtype=object
    )
    found, _ = evaluated("s::DATE::TIMESTAMP", {"s": "timestamp"}, s=s)
    assert found[0] == Timestamp.from_rfc3339("2026-01-31T00:00:00Z")


def test_a_constant_that_cannot_be_cast_is_named_alone() -> None:
    with pytest.raises(
        ExpressionError, match=r"^the string '12 ' cannot be made a value of type double"
    ) as caught:
        Expressions({"out": "x + CAST('12 ' AS DOUBLE)"}, {"x": DOUBLE})
    assert "\n" not in str(caught.value)
