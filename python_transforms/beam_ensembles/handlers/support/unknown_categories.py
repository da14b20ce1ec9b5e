"""Rows whose text or number is none of the categories that their model was trained on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError, SomeFailed, listed
from beam_ensembles.graph.kinds import Columns, Member, valid_rows
from beam_ensembles.messages.printable import truncate

_LONGEST_VALUE: Final = 60
_MOST_SHOWN: Final = 12


def unknown_category(where: str, value: Any, known: Iterable[Any]) -> NodeError:
    """Returns the error of a row.

    Args:
        where: What has the value, such as a column in quotes.
        value: It; None or NaN is a null.
        known: The categories of the model; those that stand for a missing value are left out.
    """
    categories = [_shown(one) for one in known if not is_missing(one)]
    text = f"a category that the model does not know; it knows {listed(categories, _MOST_SHOWN)}"
    return NodeError("unknown_category", f"{where} is {_shown(value)}, {text}")


class UnknownCategories(NodeError):
    """Some rows of a batch have categories that the model does not know.

    Attributes:
        faults: The error of each such row, by its position.
    """

    faults: Mapping[int, NodeError]

    @classmethod
    def of_rows(cls, faults: Mapping[int, NodeError]) -> UnknownCategories:
        """Returns the error of a batch, with the code and message of the first such row."""
        first = faults[min(faults)]
        found = cls(first.code, first.message)
        found.faults = faults
        return found


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None or NaN."""
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _shown(value: Any) -> str:
    if is_missing(value):
        return "null"
    text = truncate(repr(value.item() if isinstance(value, np.generic) else value), _LONGEST_VALUE)
    return f"{text} (an empty text)" if isinstance(value, str) and not value else text


def rows_of_unknown(columns: Columns, name: str, known: Iterable[Any]) -> dict[int, NodeError]:
    """Returns the error of each row whose value in a column is not known; none for a column of lists or tensors."""
    values, valid, categories = columns[name], valid_rows(columns, name), frozenset(known)
    if values.ndim > 1 or (values.dtype == object and not all(type(one) is str for one in values[valid])):
        return {}
    pairs = enumerate(zip(values.tolist(), valid.tolist(), strict=True))
    return {
        at: unknown_category(f"'{name}'", one, known)
        for at, (one, is_there) in pairs
        if is_there and one not in categories
    }


def _none(error: Exception, columns: Columns) -> Mapping[int, NodeError]:
    return {}


@dataclasses.dataclass(frozen=True, slots=True)
class FailsUnknownCategories:
    """Calls a model's member; rows of categories that the model refuses have errors of their own.

    Attributes:
        member: It.
        find: Gives the errors of such rows, by their positions, from what the member raised and its columns; none for
            any other error. ``UnknownCategories`` holds them itself.
        examples: Values of columns that the model knows, for its trial.
    """

    member: Member
    find: Callable[[Exception, Columns], Mapping[int, NodeError]] = _none
    examples: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)

    def __call__(self, columns: Columns) -> Columns:
        """Runs the member, and again without such rows.

        Raises:
            SomeFailed: There are some.
        """
        rows = np.arange(len(next(iter(columns.values()))))
        faults: dict[int, NodeError] = {}
        answers: Columns = {}
        while len(rows):
            given = {name: values[rows] for name, values in columns.items()} if faults else columns
            try:
                answers = self.member(given)
                break
            except Exception as error:
                found = error.faults if isinstance(error, UnknownCategories) else self.find(error, given)
                if not found:
                    raise
                faults.update((int(rows[at]), fault) for at, fault in found.items())
                rows = np.delete(rows, list(found))
        if faults:
            raise SomeFailed(answers, dict(sorted(faults.items())))
        return answers
