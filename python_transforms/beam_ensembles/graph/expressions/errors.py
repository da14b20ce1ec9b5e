"""What polars says is wrong with an expression or a row, in one sentence and in the type language's own names."""

from __future__ import annotations

import re
from typing import Final

FINER: Final = " finer than microseconds"
"""Follows the fraction of a second in a text that ``STRPTIME`` refuses for it."""

TOO_LARGE: Final = " is too large for a "
"""Follows a number, and stands before its type, in a text of which ``CAST`` makes no number."""

INEXACT: Final = " is no double: it would be rounded; write CAST(... AS DOUBLE) where that is right"
"""Follows a whole number, in a text of which ``CAST`` makes no number."""

_LONGEST_VALUE: Final = 60
_LONGEST: Final = 500

_TYPES: Final = {
    "str": "string", "utf8view": "string", "binary": "bytes", "binaryview": "bytes", "bool": "boolean",
    "f16": "float16", "f32": "float", "f64": "double", "float16": "float16", "float32": "float", "float64": "double",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "i128": "int128",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "u128": "uint128",
    "String": "string", "Binary": "bytes", "Boolean": "boolean", "Int8": "int8", "Int16": "int16", "Int32": "int32",
    "Int64": "int64", "UInt8": "uint8", "UInt16": "uint16", "UInt32": "uint32", "UInt64": "uint64",
    "datetime": "timestamp", "Date": "date", "Duration": "duration", "Time": "time", "Null": "null",
}  # fmt: skip
"""The name of each type by what polars calls it, in its short and in its long names."""

_INSTANT: Final = re.compile(r"\b(?:datetime\[\w+\]|Datetime(?:\([^()]*\))?)")
_SPAN: Final = re.compile(r"\b[Dd]uration(?:\[\w+\]|\([^()]*\))")
_NAME: Final = re.compile(
    rf"(?<!['\"\w.])(?:{'|'.join([*_TYPES, 'Utf8View', 'BinaryView', 'Float(?:16|32|64)'])})(?!['\"\w])"
)
_LIST: Final = re.compile(r"\b[Ll]ist(?:\[([^\[\]()]*)\]|\(([^\[\]()]*)\))")
_STRUCT: Final = re.compile(r"\bstruct\[\d+\]")

_CONVERSION: Final = re.compile(
    r"conversion from `([^`]+)` to `([^`]+)` failed in column '(.*?)' for \d+ out of \d+ values: \[(.*)",
    re.DOTALL,
)
_PLAINER: Final = (
    (
        re.compile(r"invalid series dtype: expected `(\w+)`, got `([^`]+)` for series.*"),
        r"found \2 where \1 is needed",
    ),
    (re.compile(r"(arithmetic on )dtypes (.* is not allowed).*"), r"\1\2; cast one of them"),
    (
        re.compile(
            r"could not evaluate '(\S+)' comparison between series .* of dtype: (.*) and series .* of dtype: "
        ),
        r"'\1' cannot compare \2 and ",
    ),
    (
        re.compile(r"'(?:is_in|list\.contains)' cannot check for (.*) values in (.*) data.*"),
        r"found \1 where the values of \2 are looked through, which do not go together; cast one of them",
    ),
    (re.compile(r"\bdtypes?\b"), "types"),
    (re.compile(r"\bdyn (int|float)\b"), r"\1"),
)
"""What polars says, and how it is said to people who do not know polars."""


def type_names(text: str) -> str:
    """Puts the type language's names in the place of polars' own: ``List(Float64)`` is ``array<double>``."""
    text = _STRUCT.sub("row", _SPAN.sub("duration", _INSTANT.sub("timestamp", text)))
    text = _NAME.sub(lambda found: _TYPES.get(found.group()) or _TYPES[found.group().lower()], text)
    while (inner := _LIST.sub(lambda found: f"array<{found.group(1) or found.group(2)}>", text)) != text:
        text = inner
    return text


def reason(error: BaseException) -> str:
    """Returns what polars says is wrong, in one line."""
    said = str(error).partition("\n\nResolved plan")[0].partition("\n\nThis error occurred in ")[0].strip()
    if conversion := _CONVERSION.match(said):
        return _not_converted(*conversion.groups())
    lines = said.splitlines()
    line = lines[0].partition(" (create native python")[0].rstrip(".:") if lines else type(error).__name__
    if line.startswith("regex error"):
        cause = next((one for one in lines if one.startswith("error: ")), "").removeprefix("error: ")
        line = f"the regular expression does not parse: {cause}"
    line = line[:_LONGEST]
    for pattern, plain in _PLAINER:
        line = pattern.sub(plain, line)
    line = type_names(line)
    return line if line[:2].isupper() else line[:1].lower() + line[1:]


def _not_converted(given: str, wanted: str, column: str, values: str) -> str:
    """Names the first of the values that are not of the wanted type, in quotes, not longer than a line."""
    value = (
        values[1:].split('", "')[0].removesuffix('"]') if values[:1] == '"' else re.split(r", |\]", values)[0]
    )
    for mark in (TOO_LARGE, INEXACT):
        number, found, rest = value.rpartition(mark)
        if found:
            return f"{number[:_LONGEST_VALUE]}{mark}{rest}"
    text, is_finer, rest = value.partition(FINER)
    value = text + rest
    if len(value) > _LONGEST_VALUE:
        value = f"{value[:_LONGEST_VALUE]}..."
    where = "" if column in ("scalar", "literal", "") else f" (column '{column}')"
    cause = "; a timestamp holds microseconds, and it names a part of one" if is_finer else ""
    return (
        f"the {type_names(given)} '{value}'{where} cannot be made a value of type {type_names(wanted)}{cause}"
    )
