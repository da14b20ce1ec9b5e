"""The categories that a booster keeps: each value of a column as the code that it had in training.

Codes are looked up here, for the libraries have their own ways: XGBoost takes an empty text for the first category and
fails a whole batch for one value that it does not know, LightGBM takes such a value for a missing one.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.graph.kinds import CheckedNode, Columns, NodeView, valid_rows
from beam_ensembles.handlers.support.arguments import Values, matrix
from beam_ensembles.handlers.support.bad_model_files import wrong
from beam_ensembles.handlers.support.features import Features, column_of_each
from beam_ensembles.handlers.support.missing_values import filler, may_be_missing
from beam_ensembles.handlers.support.unknown_categories import UnknownCategories, unknown_category
from beam_ensembles.types import DOUBLE, FLOAT, INT32, INT64, Scalar, Type, width_of

_FRACTIONS = ("float", "double")


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
        if given.dtype.kind == "f":
            valid = valid & ~np.isnan(given)
        found = self.index.get_indexer(given)
        codes = np.where(valid & (found >= 0), found, np.nan)
        unknown = np.flatnonzero(valid & (found < 0))
        where = f"'{self.column}'"
        return codes, {int(at): unknown_category(where, given[at], self.values) for at in unknown}


def categories_of(
    node: CheckedNode, features: Features, kept: Mapping[str, Sequence[Any]], pandas: Any
) -> tuple[Category, ...]:
    """Returns the features of a node that are categories of its model.

    Args:
        node: The node.
        features: Its features.
        kept: The categories that the model keeps, by the feature's name.
        pandas: The module.

    Raises:
        InvalidEnsemble: ``bad_model_file``: a feature has a category twice.
    """
    found = tuple(
        Category(at, name, column, kept[name], _index(kept[name], pandas))
        for at, (column, name) in enumerate(columns_and_names(node, features))
        if name in kept
    )
    twice = next((one for one in found if not one.index.is_unique), None)
    if twice is not None:
        raise wrong(node, f"the feature '{twice.name}' has a category twice")
    return found


def _index(values: Sequence[Any], pandas: Any) -> Any:
    dtype = object if any(isinstance(value, str) for value in values) else None
    return pandas.Index(np.array(values, dtype=dtype), dtype=dtype)


def columns_and_names(node: NodeView | CheckedNode, features: Features) -> Iterator[tuple[str, str]]:
    """Yields the column and the name of each feature; a feature without a name has the column's."""
    names = features.names or ()
    for at, column in enumerate(column_of_each(node.inputs, features.columns)):
        yield column, names[at] if at < len(names) else column


def uncategorised(
    features: Iterable[tuple[str, str]],
    declared: Mapping[str, Type | None],
    kept: Mapping[str, Sequence[Any]],
    how: str,
) -> Iterator[tuple[str, str]]:
    """Finds columns whose values are none that the model's categories can be; gives the place and a sentence.

    Args:
        features: The column and the name of each feature, of ``columns_and_names``.
        declared: The types of the columns, as they are declared.
        kept: The categories that the model keeps, by the feature's name.
        how: How a model is trained and saved that keeps the categories of texts.
    """
    for column, name in features:
        type_ = declared.get(column)
        if type_ is None:
            continue
        is_text = isinstance(type_, Scalar) and type_.name == "string"
        if is_text and name not in kept:
            yield "inputs", f"'{column}' is text, and the model keeps no categories for it: {how}"
        elif name in kept and not is_text and _is_fraction(type_, kept[name]):
            yield (
                "inputs",
                f"'{column}' is {type_}, but the feature '{name}' is a category: text or a whole number",
            )
        elif name in kept and is_text != isinstance(next(iter(kept[name]), ""), str):
            wanted = f"the categories of the feature '{name}' are {listed([repr(one) for one in kept[name]])}"
            yield "inputs", f"'{column}' is {type_}, but {wanted}"


def _is_fraction(type_: Type, known: Sequence[Any]) -> bool:
    """Whether a column holds fractions, or lists, where the categories are none."""
    are_fractions = any(isinstance(value, float) for value in known)
    return str(type_).startswith("array" if are_fractions else (*_FRACTIONS, "array"))


def fraction_as_category(node: NodeView | CheckedNode, column: str) -> str | None:
    """Returns why a column of numbers cannot be a category of CatBoost, which fails on every row; None where it can.

    CatBoost takes texts and whole numbers for categories.
    """
    type_ = node.inputs.get(column)
    if type_ is None or type_.required() not in (DOUBLE, FLOAT, INT32, INT64):
        return None
    if type_.required() in (DOUBLE, FLOAT):
        how = "declare int64 or string"
    elif column in may_be_missing(node):
        how = "numbers that may be missing are floating point; replace nulls before the model, "
        how += f"as in training: COALESCE({column}, -1) in a node of 'apply: sql'"
    else:
        return None
    return (
        f"'{column}' is {type_}, but its feature is a category to CatBoost: a text or a whole number; {how}"
    )


def matrix_reader(
    node: CheckedNode, features: Features, categories: Sequence[Category]
) -> Callable[[Columns], tuple[Values, Columns]]:
    """Returns the function that makes a model's features of a batch.

    Args:
        node: The node.
        features: Its features.
        categories: Those that are categories; the model is given their codes.

    Returns:
        A function that returns the features, [N, F], NaN for what is missing, and the batch with nulls filled.
    """
    fill, names = filler(node), list(features.columns)
    if categories:
        coded = {category.feature: _code_column(category.feature) for category in categories}
        places = itertools.accumulate((width_of(node.inputs[name]) or 1 for name in names), initial=0)
        names = [coded.get(at, name) for at, name in zip(places, names, strict=False)]

    def read(columns: Columns) -> tuple[Values, Columns]:
        codes = _codes_of(categories, columns)
        filled = {**fill(columns), **codes}
        return matrix(filled, names), filled

    return read


def _code_column(feature: int) -> str:
    """Returns the name of the column that holds the codes of a feature; no other column can have such a name."""
    return f"{feature}#"


def _codes_of(categories: Sequence[Category], columns: Columns) -> dict[str, Values]:
    """Returns the codes of a batch for each feature that is a category, [N], by ``_code_column``.

    Raises:
        UnknownCategories: Rows have categories that the model does not know.
    """
    coded: dict[str, Values] = {}
    faults: dict[int, NodeError] = {}
    for category in reversed(categories):
        coded[_code_column(category.feature)], unknown = category.codes(columns)
        faults.update(unknown)
    if faults:
        raise UnknownCategories.of_rows(faults)
    return coded
