"""The categories that an XGBoost model keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

CATEGORY: Final = "c"
HOW_KEPT: Final = "train it on a DataFrame and save it with XGBoost 3.1 or newer"


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
