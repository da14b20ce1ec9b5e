"""A profile: what the inputs of an ensemble were like in the rows that it was learned of, as a small JSON file."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import ModelFormatError, listed
from beam_ensembles.files.bounded_json import read_json
from beam_ensembles.limits import LARGEST_PROFILE, MOST_CATEGORIES
from beam_ensembles.types import NUMPY_DTYPES, Array, Scalar, Type

NUMBERS: Final = "numbers"
ELEMENTS: Final = "elements"
MEAN: Final = "mean"
CATEGORIES: Final = "categories"
NULLS: Final = "nulls"
MOST_ELEMENTS: Final = 64
"""Numbers of a tensor each of which is compared on its own; of a larger one the mean of each row is."""
MOST_QUANTILES: Final = 100
LONGEST_CATEGORY: Final = 100
"""Characters of a text that can be a category."""

_VERSION: Final = 1
_FORMAT: Final = "beam_ensembles_profile"
_LARGEST: Final = 1 << 53
_KINDS: Final = (NUMBERS, ELEMENTS, MEAN, CATEGORIES)
_MEMORY: Final = 256 << 20


class ProfileError(ModelFormatError):
    """A file is not a profile."""


@dataclasses.dataclass(frozen=True, slots=True)
class Numbers:
    """How numbers are distributed.

    Attributes:
        smallest: The smallest finite number; None where there was none.
        largest: The largest finite number.
        quantiles: Numbers in ascending order that part the finite ones into cells: each is the upper end of one.
        counts: How many finite numbers are in each cell, one more than ``quantiles``; none where there were none.
        not_a_number: How many are NaN.
        low: How many are negative infinity.
        high: How many are infinity.
    """

    smallest: float | None
    largest: float | None
    quantiles: tuple[float, ...]
    counts: tuple[int, ...]
    not_a_number: int = 0
    low: int = 0
    high: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What a column was like.

    Attributes:
        type: Its type, as text.
        kind: The kind of its facts beside nulls: ``NUMBERS``, ``ELEMENTS`` (of a tensor each number on its own),
            ``MEAN`` (of each list of numbers), ``CATEGORIES``, or ``NULLS``: nothing.
        rows: How many rows that is known of.
        nulls: In how many of them it is null.
        numbers: For ``NUMBERS`` and ``MEAN`` one, for ``ELEMENTS`` one for each.
        categories: How many rows have each value, by its text.
    """

    type: str
    kind: str
    rows: int
    nulls: int
    numbers: tuple[Numbers, ...] = ()
    categories: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Profile:
    """What the inputs of an ensemble were like.

    Attributes:
        ensemble: The ensemble's name then.
        rows: How many rows there were.
        columns: The inputs that it read, by name.
    """

    ensemble: str
    rows: int
    columns: Mapping[str, ColumnProfile]


def kind_of(type_: Type) -> str:
    """Returns what can be known of a column of a type; text may turn out to be ``NULLS`` all the same."""
    if isinstance(type_, Scalar):
        if type_.name in ("string", "boolean"):
            return CATEGORIES
        return NUMBERS if type_.name in NUMPY_DTYPES else NULLS
    if not isinstance(type_, Array) or not _are_numbers(type_.element):
        return NULLS
    return ELEMENTS if type_.shape is not None and math.prod(type_.shape) <= MOST_ELEMENTS else MEAN


def _are_numbers(type_: Type) -> bool:
    is_scalar = isinstance(type_, Scalar) and type_.name in NUMPY_DTYPES and type_.name != "boolean"
    return is_scalar and not type_.nullable


def as_text(profile: Profile) -> str:
    """Returns a profile as the text of its file.

    Raises:
        ProfileError: It would be larger than a profile may be.
    """
    columns = {name: _column_data(column) for name, column in profile.columns.items()}
    data = {_FORMAT: _VERSION, "ensemble": profile.ensemble, "rows": profile.rows}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in data.items()]
    inside = [
        f"    {json.dumps(name)}: {json.dumps(column, ensure_ascii=False)}"
        for name, column in columns.items()
    ]
    text = "{\n" + ",\n".join([*lines, '  "columns": {\n' + ",\n".join(inside) + "\n  }"]) + "\n}\n"
    if len(text.encode()) > LARGEST_PROFILE:
        raise ProfileError(f"it would be larger than {LARGEST_PROFILE >> 20} MiB: the inputs are too many")
    return text


def _column_data(column: ColumnProfile) -> dict[str, Any]:
    data: dict[str, Any] = {"type": column.type, "rows": column.rows, "nulls": column.nulls}
    if column.kind == CATEGORIES:
        data[CATEGORIES] = dict(column.categories)
    elif column.kind == ELEMENTS:
        data[ELEMENTS] = [_numbers_data(one) for one in column.numbers]
    elif column.kind != NULLS:
        data[column.kind] = _numbers_data(column.numbers[0])
    return data


def _numbers_data(numbers: Numbers) -> dict[str, Any]:
    found = dataclasses.asdict(numbers)
    return {
        name: value for name, value in found.items() if value or name not in ("not_a_number", "low", "high")
    }


def read_profile(data: bytes) -> Profile:
    """Reads the bytes of a profile's file.

    Raises:
        ModelFormatError: They are not those of a profile; the message says what is wrong where.
    """
    if len(data) > LARGEST_PROFILE:
        raise ProfileError(f"it is larger than {LARGEST_PROFILE >> 20} MiB")
    found = _mapping(read_json(data, most_memory=_MEMORY), "it")
    if _FORMAT not in found:
        text = f"it is not a profile: it has no key '{_FORMAT}'"
        raise ProfileError(f"{text}; beam-ensembles evaluate --profile writes one")
    if found[_FORMAT] != _VERSION:
        text = f"it is a profile of format {str(found[_FORMAT])[:20]}, and this version reads {_VERSION}"
        raise ProfileError(f"{text}; learn it again")
    columns = _mapping(found.get("columns"), "'columns'")
    name = found.get("ensemble")
    if not isinstance(name, str):
        raise ProfileError("'ensemble' must be a name")
    return Profile(
        name,
        _count(found, "rows", "it"),
        {column: _column(value, f"'{column}'") for column, value in columns.items()},
    )


def _column(value: Any, where: str) -> ColumnProfile:
    found = _mapping(value, where)
    type_, kinds = found.get("type"), [kind for kind in _KINDS if kind in found]
    if not isinstance(type_, str):
        raise ProfileError(f"{where} has no type")
    if len(kinds) > 1:
        raise ProfileError(f"{where} has several of {listed(_KINDS)}")
    rows, nulls, kind = _count(found, "rows", where), _count(found, "nulls", where), (*kinds, NULLS)[0]
    numbers: tuple[Numbers, ...] = ()
    categories: dict[str, int] = {}
    if kind == CATEGORIES:
        held = _mapping(found[kind], where)
        if len(held) > MOST_CATEGORIES:
            raise ProfileError(f"{where} has more than {MOST_CATEGORIES} categories")
        categories = {category: _count(held, category, where) for category in held}
        totals = [sum(categories.values())]
    else:
        listed_ = found[kind] if kind == ELEMENTS else [] if kind == NULLS else [found[kind]]
        if (
            not isinstance(listed_, list)
            or len(listed_) > MOST_ELEMENTS
            or (kind == ELEMENTS and not listed_)
        ):
            raise ProfileError(f"{where}: 'elements' must be a list of 1 to {MOST_ELEMENTS}")
        numbers = tuple(_numbers(one, where) for one in listed_)
        totals = [sum(one.counts) + one.not_a_number + one.low + one.high for one in numbers]
    if nulls > rows or any(total + nulls != rows for total in totals):
        raise ProfileError(f"{where}: its counts do not add up to its {rows:,} rows")
    return ColumnProfile(type_, kind, rows, nulls, numbers, categories)


def _numbers(value: Any, where: str) -> Numbers:
    found = _mapping(value, where)
    quantiles, counts = found.get("quantiles"), found.get("counts")
    if not isinstance(quantiles, list) or not isinstance(counts, list) or len(quantiles) > MOST_QUANTILES:
        raise ProfileError(f"{where}: 'quantiles' and 'counts' must be lists, of {MOST_QUANTILES} at most")
    ends = [found.get("smallest"), *quantiles, found.get("largest")]
    if not counts and ends == [None, None]:
        smallest = largest = None
        inside: tuple[float, ...] = ()
    else:
        if len(counts) != len(quantiles) + 1 or not all(map(_is_finite, ends)):
            raise ProfileError(f"{where}: 'smallest', 'quantiles', 'largest' and 'counts' do not go together")
        smallest, *middle, largest = map(float, ends)
        inside = tuple(middle)
        is_ascending = all(one < other for one, other in itertools.pairwise((*inside, largest)))
        if not is_ascending or smallest > (*inside, largest)[0]:
            raise ProfileError(f"{where}: 'smallest', 'quantiles' and 'largest' must be in ascending order")
    return Numbers(
        smallest,
        largest,
        inside,
        tuple(_count({"counts": one}, "counts", where) for one in counts),
        *(_count({name: 0, **found}, name, where) for name in ("not_a_number", "low", "high")),
    )


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _most_float()


def _most_float() -> float:
    return math.nextafter(math.inf, 0)


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ProfileError(f"{where} must be an object")
    return value


def _count(found: Mapping[str, Any], name: str, where: str) -> int:
    value = found.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise ProfileError(f"{where}: '{name[:60]}' must be a whole number of at least 0")
    return value
