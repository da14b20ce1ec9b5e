"""The categories that an XGBoost model keeps: each value of a column as the code that it had in training.

Codes are looked up here, for XGBoost has its own ways: it takes an empty text for the first category, and fails a whole
batch, with a stack trace, for one value that it does not know.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.graph.kinds import CheckedNode, Columns, valid_rows
from beam_ensembles.handlers.support.arguments import Values
from beam_ensembles.handlers.support.features import Features, column_of_each
from beam_ensembles.handlers.support.unknown_categories import UnknownCategories, unknown_category
from beam_ensembles.types import Scalar

CATEGORY: Final = "c"


@dataclasses.dataclass(frozen=True, slots=True)
class Category:
    """A feature that is a category.

    Attributes:
        feature: Its place among the model's features.
        name: Its name.
        column: The node's column.
        values: The model's categories, in the order of their codes.
        index: The same as a pandas Index.
    """

    feature: int
    name: str
    column: str
    values: Sequence[Any]
    index: Any

    def codes(self, columns: Columns) -> tuple[Values, dict[int, NodeError]]:
        """Looks up a batch's codes, [N]; NaN for a null.

        Returns:
            The codes, and the error of each row whose value is none of the categories.
        """
        given, valid = columns[self.column], valid_rows(columns, self.column)
        found = self.index.get_indexer(given)
        codes = np.where(valid & (found >= 0), found, np.nan)
        unknown = np.flatnonzero(valid & (found < 0))
        where = f"'{self.column}'"
        return codes, {int(at): unknown_category(where, given[at], self.values) for at in unknown}


def code_column(feature: int) -> str:
    """Returns the name of the column that holds the codes of a feature; no other column can have such a name."""
    return f"{feature}#"


def codes_of(categories: Sequence[Category], columns: Columns) -> dict[str, Values]:
    """Returns the codes of a batch for each feature that is a category, [N], by ``code_column``.

    Raises:
        UnknownCategories: Rows have categories that the model does not know.
    """
    coded: dict[str, Values] = {}
    faults: dict[int, NodeError] = {}
    for category in reversed(categories):
        coded[code_column(category.feature)], unknown = category.codes(columns)
        faults.update(unknown)
    if faults:
        raise UnknownCategories.of_rows(faults)
    return coded


def kept_categories(booster: Any) -> dict[str, Sequence[Any]]:
    """Returns the categories that a model keeps, by the feature's name.

    XGBoost keeps them from version 3.1 on for models trained on a DataFrame; before, a category was the number that
    it had in the DataFrame at hand. Texts are ASCII (``check_names``).
    """
    is_categorical = CATEGORY in (booster.feature_types or ()) and booster.feature_names is not None
    if not is_categorical or not hasattr(booster, "get_categories"):
        return {}
    kept = booster.get_categories(export_to_arrow=True)
    found = [] if kept is None or kept.empty() else kept.to_arrow()
    return {name: values.to_pylist() for name, values in found if values is not None}


def categories_of(
    node: CheckedNode, features: Features, kept: Mapping[str, Sequence[Any]], pandas: Any
) -> tuple[Category, ...]:
    """Returns the features of a node that are categories of its model.

    Args:
        node: The node.
        features: Its features.
        kept: The categories that the model keeps, by the feature's name.
        pandas: The module.
    """
    return tuple(
        Category(at, name, column, kept[name], _index(kept[name], pandas))
        for at, (column, name) in enumerate(columns_and_names(node, features))
        if name in kept
    )


def _index(values: Sequence[Any], pandas: Any) -> Any:
    dtype = object if any(isinstance(value, str) for value in values) else None
    return pandas.Index(np.array(values, dtype=dtype), dtype=dtype)


def columns_and_names(node: CheckedNode, features: Features) -> Iterator[tuple[str, str]]:
    """Yields the column and the name of each feature; a feature without a name has the column's."""
    names = features.names or ()
    for at, column in enumerate(column_of_each(node.inputs, features.columns)):
        yield column, names[at] if at < len(names) else column


def uncategorised(
    node: CheckedNode, features: Features, kept: Mapping[str, Sequence[Any]]
) -> Iterator[tuple[str, str]]:
    """Finds columns whose values are none that the model's categories can be; gives the place and a sentence."""
    for column, name in columns_and_names(node, features):
        type_ = node.inputs[column]
        is_text = isinstance(type_, Scalar) and type_.name == "string"
        if is_text and name not in kept:
            text = f"'{column}' is text, and the model keeps no categories for it"
            yield "inputs", f"{text}: train it on a DataFrame and save it with XGBoost 3.1 or newer"
        elif not is_text and name in kept and str(type_).startswith(("float", "double", "array")):
            yield (
                "inputs",
                f"'{column}' is {type_}, but the feature '{name}' is a category: text or a whole number",
            )
        elif name in kept and is_text != isinstance(next(iter(kept[name]), ""), str):
            wanted = f"the categories of the feature '{name}' are {listed([repr(one) for one in kept[name]])}"
            yield "inputs", f"'{column}' is {type_}, but {wanted}"
