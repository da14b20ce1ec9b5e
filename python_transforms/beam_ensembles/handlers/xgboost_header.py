"""Reads what an XGBoost model takes and gives, from its JSON or UBJSON file, without xgboost and without its
trees.

XGBoost writes the keys of an object in order, so that the model's parameters and objective stand behind the
trees, at the end of the file: only that is read.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Final

_TAIL: Final = 1 << 20
_PARAMS: Final = b"learner_model_param"
_JSON_NUMBER: Final = r'"%s"\s*:\s*"?(\d{1,9})'
_JSON_OBJECTIVE: Final = re.compile(rb'"objective"\s*:\s*\{\s*"name"\s*:\s*"([a-z0-9_]+:[a-z0-9_]+)"')
_UBJ_NUMBER: Final = r"%sSL.{8}(\d{1,9})"
_UBJ_OBJECTIVE: Final = re.compile(rb"objective\{L.{8}nameSL.{8}([a-z0-9_]+:[a-z0-9_]+)", re.DOTALL)


class HeaderError(ValueError):
    """The file is no XGBoost model in JSON or UBJSON."""


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """What a model says about itself.

    Attributes:
        features: How many features it takes.
        classes: ``num_class``: how many classes it tells apart; 0 where that is not said (two classes, or
            none).
        targets: How many values it predicts at once.
        objective: What it was trained for, such as ``multi:softprob``.
    """

    features: int
    classes: int
    targets: int
    objective: str


def read_header(path: str) -> Header:
    """Reads the header of a model file.

    Raises:
        HeaderError: It is no XGBoost model in JSON or UBJSON.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        starts_right = file.read(1) == b"{"
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _TAIL))
        tail = file.read()
    at = tail.rfind(_PARAMS)
    if not starts_right or at < 0:
        raise HeaderError(
            "the file is no XGBoost model in JSON or UBJSON; save it with save_model('model.json')"
        )
    return _header(tail[at - 1 :], is_json=tail[at - 1 : at] == b'"')


def _header(tail: bytes, *, is_json: bool) -> Header:
    objective = (_JSON_OBJECTIVE if is_json else _UBJ_OBJECTIVE).search(tail)
    features = _number(tail, "num_feature", is_json)
    if objective is None or features is None:
        raise HeaderError("the file names neither features nor an objective as XGBoost's models do")
    return Header(
        features,
        _number(tail, "num_class", is_json) or 0,
        _number(tail, "num_target", is_json) or 1,
        objective.group(1).decode(),
    )


def _number(tail: bytes, name: str, is_json: bool) -> int | None:
    pattern = (_JSON_NUMBER if is_json else _UBJ_NUMBER) % name
    found = re.search(pattern.encode(), tail, re.DOTALL)
    return None if found is None else int(found.group(1))
