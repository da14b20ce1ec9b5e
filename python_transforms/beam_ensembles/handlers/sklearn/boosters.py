"""Models of XGBoost and LightGBM that were saved with joblib: which are refused, and the categories of LightGBM's.

Written for LightGBM 4 and XGBoost 2 and 3. LightGBM keeps the categories of a DataFrame's columns, but takes them only
from columns of pandas's own type, in the order of the columns.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import InvalidEnsemble, NodeError, Problem
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.sklearn.fitted_steps import as_given, estimators_of
from beam_ensembles.handlers.support.bad_model_files import wrong
from beam_ensembles.handlers.support.categories import fraction_as_category
from beam_ensembles.handlers.support.unknown_categories import UnknownCategories, unknown_category

_CATEGORICAL: Final = re.compile(r"^\[categorical_feature: ([\d,]+)\]$", re.MULTILINE)
_HAS_CATEGORIES: Final = (
    "was trained on categories, which XGBoost takes only from columns of pandas's own type"
)
_ENCODE: Final = "put an encoder before it in a Pipeline"
_ASKED: Final = ("predict", "predict_proba", "apply")
"""The methods of both libraries' models that read features."""
_SAVE_XGBOOST: Final = "save it with save_model('model.json') and use 'model: xgboost'"


def refuse_boosters(node: CheckedNode, model: Any) -> None:
    """Refuses models that fail on every row as they are.

    Raises:
        InvalidEnsemble: ``bad_model_file``: XGBoost's own ``Booster``, or a model whose categories it only takes from
            columns of pandas's own type.
    """
    text = ""
    if _is_of("xgboost", model) and type(model).__name__ == "Booster":
        text = f"it is XGBoost's Booster, which takes no array or DataFrame; {_SAVE_XGBOOST}"
    elif "c" in _types_of(model):
        text = f"it {_HAS_CATEGORIES}; {_SAVE_XGBOOST} with 'model_class: {type(model).__name__}'"
    else:
        for one in as_given(model):
            if "c" in _types_of(one):
                text = f"its {type(one).__name__} {_HAS_CATEGORIES}; {_ENCODE}"
            elif _kept(one) and len(_places(one)) != len(_kept(one)):
                text = (
                    "LightGBM keeps categories for other features than its file names as such; train it with the "
                    f"DataFrame's category columns alone, or {_ENCODE}"
                )
    if text:
        raise wrong(node, text)


def refuse_categories_in_arrays(node: CheckedNode, model: Any) -> None:
    """Refuses a model that is given an array, and holds one that would take its numbers for the places of categories.

    Raises:
        InvalidEnsemble: ``bad_model_file``: LightGBM or XGBoost in it was trained on a DataFrame's categories.
    """
    for one in estimators_of(model):
        if _kept(one) or "c" in _types_of(one):
            text = (
                f"its {type(one).__name__} was trained on a DataFrame's categories, but the steps before it do not say "
                f"the names of the features; {_ENCODE}"
            )
            raise wrong(node, text)


def refuse_categories_of_catboost(node: CheckedNode, model: Any, columns: Sequence[str]) -> None:
    """Refuses fractions where CatBoost has a category: it takes texts and whole numbers, and fails on every row.

    Args:
        node: The node.
        model: The loaded model; CatBoost's may stand in another one that gives it the same features.
        columns: The column of each of its features.

    Raises:
        InvalidEnsemble: ``type_mismatch``.
    """
    for one in as_given(model):
        # Some models keep the unfitted one that they copy for each class.
        is_fitted = _is_of("catboost", one) and one.is_fitted()
        for at in one.get_cat_feature_indices() if is_fitted else ():
            text = fraction_as_category(node, columns[at] if at < len(columns) else "")
            if text is not None:
                raise InvalidEnsemble([Problem(node.spec.path("inputs"), "type_mismatch", text)])


def takes_truth_as_numbers(model: Any) -> bool:
    """Whether LightGBM or XGBoost sees a model's features as they come: in a DataFrame, objects fail there."""
    found = [one for one in as_given(model) if _is_of("lightgbm", one) or _is_of("xgboost", one)]
    return bool(found) and not any(map(_kept, found))


def with_categories(model: Any, read: Callable[[Columns], Any], pandas: Any) -> Callable[[Columns], Any]:
    """Returns what makes a model's features of a batch, with the categories that models of LightGBM keep.

    Args:
        model: The loaded model; LightGBM's may stand in another one that gives it the same features.
        read: Makes its features, as a DataFrame where it knows their names.
        pandas: The module.
    """
    categories: dict[int, list[Any]] = {}
    for one in as_given(model):
        for at, known in zip(_places(one), _kept(one), strict=False):
            categories[at] = list(dict.fromkeys([*categories.get(at, ()), *known]))
    return (lambda columns: _categorical(read(columns), categories, pandas)) if categories else read


def keep_categories_behind_steps(model: Any, pandas: Any) -> None:
    """Replaces the methods of boosters behind other steps of a model, such as a ``ColumnTransformer``.

    Only a call shows which columns the steps pass on as they come, so these methods look at what they get. LightGBM's
    models get their categories there, too. XGBoost's would take whole numbers for the places of categories, and refuse
    them.

    Args:
        model: The loaded model, which is changed.
        pandas: The module.
    """
    seen = {id(one) for one in as_given(model)}
    for one in estimators_of(model):
        if id(one) in seen:
            continue
        look: Callable[[Any], Any]
        kept, types = _kept(one), _types_of(one)
        if kept and len(_places(one)) == len(kept):
            look = functools.partial(_with_kept, dict(zip(_places(one), kept, strict=True)), pandas)
        elif "c" in types:
            look = functools.partial(_only_categories, type(one).__name__, tuple(types), pandas)
        else:
            continue
        for name in _ASKED:
            if hasattr(one, name):
                setattr(one, name, functools.partial(_looked_at, getattr(one, name), look))


def _looked_at(
    method: Callable[..., Any], look: Callable[[Any], Any], X: Any, *more: Any, **named: Any
) -> Any:
    return method(look(X), *more, **named)  # both libraries, too, name it X as they call their own methods


def _with_kept(categories: Mapping[int, Sequence[Any]], pandas: Any, rows: Any) -> Any:
    """Returns what steps gave LightGBM's model, with its categories on columns that are of another type.

    Raises:
        UnknownCategories: Values are none of them.
    """
    if not isinstance(rows, pandas.DataFrame):
        return rows
    plain = {at: known for at, known in categories.items() if not _is_categorical(rows, at, pandas)}
    return _categorical(rows.copy(), plain, pandas) if plain else rows


def _only_categories(name: str, types: Sequence[str], pandas: Any, rows: Any) -> Any:
    """Returns what steps gave XGBoost's model.

    Raises:
        NodeError: ``bad_output``: a column of a category is of another type.
    """
    if isinstance(rows, pandas.DataFrame) and len(rows.columns) == len(types):
        for at, type_ in enumerate(types):
            if type_ == "c" and not _is_categorical(rows, at, pandas):
                given = f"the steps before it give '{rows.columns[at]}' as {rows.dtypes.iloc[at]}"
                raise NodeError("bad_output", f"its {name} {_HAS_CATEGORIES}, and {given}; {_ENCODE}")
    return rows


def _is_categorical(rows: Any, at: int, pandas: Any) -> bool:
    return isinstance(rows.dtypes.iloc[at], pandas.CategoricalDtype)


def _categorical(rows: Any, categories: Mapping[int, Sequence[Any]], pandas: Any) -> Any:
    """Set the categories of training on columns of a DataFrame, and return it.

    Raises:
        UnknownCategories: Values are none of them. LightGBM would take them for missing ones.
    """
    faults: dict[int, NodeError] = {}
    for at, known in categories.items():
        name = rows.columns[at]
        codes = pandas.Index(known).get_indexer(rows[name])
        unknown = np.flatnonzero((codes < 0) & ~pandas.isna(rows[name]).to_numpy())
        for row in unknown.tolist():
            faults.setdefault(row, unknown_category(f"the feature '{name}'", rows[name].iloc[row], known))
        rows[name] = pandas.Categorical.from_codes(codes, categories=known)
    if faults:
        raise UnknownCategories.of_rows(faults)
    return rows


def _is_of(library: str, model: Any) -> bool:
    return type(model).__module__.partition(".")[0] == library


def _types_of(model: Any) -> Sequence[str]:
    """Returns the types of a model's features, where it is a fitted one of XGBoost's scikit-learn classes."""
    if not _is_of("xgboost", model):
        return ()
    try:
        return model.get_booster().feature_types or ()
    except Exception:  # an unfitted one; its rows say so
        return ()


def finds_several_labels(model: Any) -> bool:
    """Whether a model is a classifier of XGBoost with several targets: its ``classes_`` are those of each target."""
    last = getattr(model, "_final_estimator", model)
    if not _is_of("xgboost", last) or not hasattr(last, "n_classes_"):
        return False
    config = json.loads(last.get_booster().save_config())
    return int(config["learner"]["learner_model_param"]["num_target"]) > 1


def _booster(model: Any) -> Any:
    """Returns LightGBM's ``Booster``, in whatever class a model is; None of any other library's model."""
    if not _is_of("lightgbm", model):
        return None
    return model if type(model).__name__ == "Booster" else getattr(model, "booster_", None)


def _kept(model: Any) -> list[list[Any]]:
    """Returns the categories that a model of LightGBM keeps, in the order of the columns that had them."""
    return getattr(_booster(model), "pandas_categorical", None) or []


def _places(model: Any) -> list[int]:
    """Returns the places of the features that are categories, where the model keeps those."""
    if not _kept(model):
        return []
    found = _CATEGORICAL.search(_booster(model).model_to_string(num_iteration=1))
    return [] if found is None else sorted(map(int, found[1].split(",")))
