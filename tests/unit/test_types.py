"""The type language."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.types import (
    NUMPY_DTYPES,
    SCALARS,
    Array,
    Map,
    Row,
    Scalar,
    Type,
    TypeSyntaxError,
    dtype_of,
    is_portable,
    parse_type,
    row_shape,
    widened,
    widens,
    width_of,
)


def nullable(types: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    return types | types.map(Type.optional)


def compound(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    names = st.lists(
        st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), unique=True, min_size=1, max_size=3
    )
    rows = names.flatmap(
        lambda keys: st.tuples(*(inner for _ in keys)).map(lambda t: Row(tuple(zip(keys, t, strict=True))))
    )
    return nullable(inner.map(Array) | st.builds(Map, inner, inner) | rows)


TENSORS = st.builds(
    Array,
    st.sampled_from(sorted(NUMPY_DTYPES)).map(Scalar),
    st.lists(st.integers(1, 99), min_size=1, max_size=3).map(tuple),
)
TYPES = st.recursive(nullable(st.sampled_from(SCALARS).map(Scalar) | TENSORS), compound, max_leaves=6)


@given(TYPES)
def test_a_type_is_read_as_it_is_written(type_: Type) -> None:
    assert parse_type(str(type_)) == type_
    assert pickle.loads(pickle.dumps(type_)) == type_


@given(TYPES)
def test_every_type_holds_itself_and_is_held_where_null_is_allowed(type_: Type) -> None:
    assert widens(type_, type_)
    assert widens(type_, type_.optional())
    assert widens(type_.optional(), type_) == type_.nullable


@given(st.text(alphabet="abdelmoprtuwy<>[],:? 0123456789_-.", max_size=40))
def test_any_text_is_a_type_or_a_syntax_error(text: str) -> None:
    try:
        type_ = parse_type(text)
    except TypeSyntaxError:
        return
    assert parse_type(str(type_)) == type_


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        (" array < double > [ 2 , 3 ] ", Array(Scalar("double"), (2, 3))),
        ("optional<string>", Scalar("string", nullable=True)),
        ("array<string?>?", Array(Scalar("string", nullable=True), nullable=True)),
        ("map<string,int64>", Map(Scalar("string"), Scalar("int64"))),
        ("row<a: string, b: row<c: float?>>", Row((
            ("a", Scalar("string")), ("b", Row((("c", Scalar("float", nullable=True)),))),
        ))),
    ],
)  # fmt: skip
def test_types(text: str, type_: Type) -> None:
    assert parse_type(text) == type_


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a type"),
        ("str", "did you mean 'string'"),
        ("float64", "did you mean 'double'"),
        ("aray<double>", "did you mean 'array'"),
        ("List<double>", "did you mean 'array'"),
        ("array<double", "expected '>'"),
        ("array<double>[0]", "a dimension"),
        ("array<double>[a]", "a dimension"),
        ("array<double>[2", "expected ']'"),
        ("array<string>[2]", "only an array of numbers"),
        ("array<array<float>>[2]", "only an array of numbers"),
        ("array<double?>[2]", "only an array of numbers"),
        ("map<string", "must be quoted"),
        ("row<>", "a field's name"),
        ("row<a: int32, a: int64>", "names a field twice"),
        ("double double", "the end of the type"),
        ("double!", "unexpected character '!'"),
    ],
)
def test_no_types(text: str, words: str) -> None:
    with pytest.raises(TypeSyntaxError, match=re.escape(words)):
        parse_type(text)


@pytest.mark.parametrize(
    ("found", "wanted", "expected"),
    [
        ("int32", "int64", True),
        ("int32", "double", True),
        ("int32", "float", False),
        ("int64", "int32", False),
        ("int64", "double", True),
        ("float", "double", True),
        ("double", "float", False),
        ("boolean", "int32", False),
        ("string", "bytes", False),
        ("array<float>", "array<double>[3]", True),
        ("array<float>[3]", "array<double>", True),
        ("array<float>[2]", "array<float>[3]", False),
        ("map<string,int32>", "map<string,int64>", True),
        ("row<a: int32>", "row<a: int64>", True),
        ("row<a: int32>", "row<b: int32>", False),
        ("array<row<a: int32, b: string>>", "array<row<b: string, a: int64>>", True),
        ("row<a: int32, b: string>", "row<b: int32, a: string>", False),
        ("row<a: int32>", "row<a: int32, b: int32>", False),
        ("array<int32?>", "array<int32>", False),
        ("double", "array<double>", False),
    ],
)
def test_widening(found: str, wanted: str, expected: bool) -> None:
    assert widens(parse_type(found), parse_type(wanted)) is expected


@pytest.mark.parametrize(
    ("text", "dtype", "shape", "width"),
    [
        ("double", np.float64, (), 1),
        ("array<float>[2,3]", np.float32, (2, 3), 6),
        ("array<float>", None, (), None),
        ("string", None, (), None),
        ("boolean", np.bool_, (), 1),
    ],
)
def test_numpy(text: str, dtype: type | None, shape: tuple[int, ...], width: int | None) -> None:
    type_ = parse_type(text)
    assert dtype_of(type_) == (None if dtype is None else np.dtype(dtype))
    assert row_shape(type_) == shape
    assert width_of(type_) == width


@pytest.mark.parametrize(
    "text", ["array<row<a: map<string,bytes>, b: timestamp>>", "double?", "array<float>[2]"]
)
def test_portable(text: str) -> None:
    assert is_portable(parse_type(text))


@pytest.mark.parametrize(
    ("text", "wider"),
    [
        ("int8", "int32"),
        ("uint64?", "int64?"),
        ("array<uint8>[2]", "array<int32>[2]"),
        ("map<string,float16>", "map<string,float>"),
        ("row<int8: array<int16>>", "row<int8: array<int32>>"),
    ],
)
def test_not_portable(text: str, wider: str) -> None:
    assert not is_portable(parse_type(text))
    assert widened(parse_type(text)) == parse_type(wider)
