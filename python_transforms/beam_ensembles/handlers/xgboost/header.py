"""Reads what an XGBoost model takes and gives, from its JSON or UBJSON file, without xgboost and without its
trees.

XGBoost writes the keys of an object in order, so that the names of the features stand before the trees, at the start
of the file, and the model's parameters and objective behind them, at its end: only that is read.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, Final

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.handlers.support.signatures import (
    refusing,
)
from beam_ensembles.handlers.xgboost.document import read_object
from beam_ensembles.handlers.xgboost.trees import check_names

_PART: Final = 1 << 20
_PARAMS: Final = b"learner_model_param"
_JSON_NUMBER: Final = r'"%s"\s*:\s*"?(\d{1,9})'
_OBJECTIVE_NAME: Final = rb"([a-z0-9_]+:[a-z0-9_]+)"
_JSON_OBJECTIVE: Final = re.compile(  # parameters of a ranking stand before its name
    rb'"objective"\s*:\s*\{\s*(?:"\w+"\s*:\s*\{[^{}]*\}\s*,\s*)*"name"\s*:\s*"' + _OBJECTIVE_NAME + rb'"'
)
_JSON_TEXTS: Final = r'(?<!\\)"%s"\s*:\s*(?=\[)'
_UBJ_NUMBER: Final = r"%sSL.{8}(\d{1,9})"
_UBJ_TEXTS: Final = r"L.{7}\x0d%s\[#L"
_JSON_ATTRIBUTES: Final = re.compile(rb'\{\s*"learner"\s*:\s*\{\s*"attributes"\s*:\s*(?=\{)')
_UBJ_ATTRIBUTES: Final = re.compile(rb"\{L.{7}\x07learner\{L.{7}\x0aattributes\{", re.DOTALL)
_BEST: Final = "best_iteration"
COUNT: Final = re.compile(r"\d{1,9}", re.ASCII)
"""How XGBoost writes ``best_iteration``."""
_JSON_CATEGORIES: Final = re.compile(rb'"model"\s*:\s*\{\s*"cats"\s*:\s*(?=\{)')
_UBJ_CATEGORIES: Final = re.compile(rb"L.{7}\x05model\{L.{7}\x04cats\{", re.DOTALL)
_LINEAR: Final = b"gblinear"
_UBJ_OBJECTIVE: Final = b"objective{"
_UBJ_NAME: Final = re.compile(rb"L.{7}\x04nameSL.{8}" + _OBJECTIVE_NAME, re.DOTALL)
_PARAMS_BEFORE_NAME: Final = 4_000
"""Bytes of an objective's parameters in UBJSON, at most."""


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """What a model says about itself.

    Attributes:
        features: How many features it takes.
        classes: ``num_class``: how many classes it tells apart; 0 where that is not said (two classes, or
            none).
        targets: How many values it predicts at once.
        objective: What it was trained for, such as ``multi:softprob``.
        names: The features' names; None where it has none.
        types: The features' types (``float``, ``int``, ``c`` for a category); None where it has none.
        best_iteration: The last round that counts, where training stopped early; None where that is not said, or where
            it does not matter, since the model is linear.
    """

    features: int
    classes: int
    targets: int
    objective: str
    names: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    best_iteration: int | None = None


@refusing("the file is not an XGBoost model in JSON or UBJSON")
def read_header(path: str) -> Header:
    """Reads the header of a model file.

    Raises:
        ModelFormatError: It is not an XGBoost model in JSON or UBJSON.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(_PART)
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _PART))
        tail = file.read()
    at = tail.rfind(_PARAMS)
    if head[:1] != b"{" or at < 0:
        raise ModelFormatError(
            "the file is not an XGBoost model in JSON or UBJSON; save it with save_model('model.json')"
        )
    header = _header(head, tail[at - 1 :], is_json=tail[at - 1 : at] == b'"')
    is_linear = _LINEAR in tail[max(0, at - 64) : at]  # the booster's name stands right before
    return dataclasses.replace(header, best_iteration=None) if is_linear else header


def _header(head: bytes, tail: bytes, *, is_json: bool) -> Header:
    objective = _JSON_OBJECTIVE.search(tail) if is_json else _ubj_objective(tail)
    features = _number(tail, "num_feature", is_json)
    if objective is None or features is None:
        raise ModelFormatError("the file names neither features nor an objective as XGBoost's models do")
    names = _texts(head, "feature_names", is_json)
    check_names(_categories(head, is_json), names or ())
    return Header(
        features,
        _number(tail, "num_class", is_json) or 0,
        _number(tail, "num_target", is_json) or 1,
        objective.group(1).decode(),
        names,
        _texts(head, "feature_types", is_json),
        _best_iteration(head, is_json),
    )


def _ubj_objective(tail: bytes) -> re.Match[bytes] | None:
    """Finds an objective's name; reads each byte about once, where one pattern would read 4,000 for each objective."""
    last = 0
    for name in _UBJ_NAME.finditer(tail):
        at = tail.rfind(_UBJ_OBJECTIVE, last, name.start())
        if at >= 0 and name.start() - at - len(_UBJ_OBJECTIVE) <= _PARAMS_BEFORE_NAME:
            return name
        last = name.start()  # an objective before this name is too far from the next ones, too
    return None


def _number(tail: bytes, name: str, is_json: bool) -> int | None:
    pattern = (_JSON_NUMBER if is_json else _UBJ_NUMBER) % name
    found = re.search(pattern.encode(), tail, re.DOTALL)
    return None if found is None else int(found.group(1))


def _best_iteration(head: bytes, is_json: bool) -> int | None:
    """Reads it from the first thing in a file, the attributes; None where they are not all in what was read."""
    found = (_JSON_ATTRIBUTES if is_json else _UBJ_ATTRIBUTES).match(head)
    text = str(_object(head, found, is_json).get(_BEST, ""))
    return int(text) if COUNT.fullmatch(text) else None


def _categories(head: bytes, is_json: bool) -> dict[str, Any]:
    """Reads the categories, which stand before the trees; empty where they are not all in what was read."""
    return _object(head, (_JSON_CATEGORIES if is_json else _UBJ_CATEGORIES).search(head), is_json)


def _object(head: bytes, before: re.Match[bytes] | None, is_json: bool) -> dict[str, Any]:
    """Reads the object behind a match; empty where there is no match, or where it is not all in what was read."""
    if before is None:
        return {}
    try:
        return dict(_json(head[before.end() :])) if is_json else read_object(head, before.end())
    except (ValueError, RecursionError):
        return {}


def _json(data: bytes) -> Any:
    found, _ = json.JSONDecoder().raw_decode(data.decode(errors="ignore"))
    return found


def _texts(head: bytes, name: str, is_json: bool) -> tuple[str, ...] | None:
    """Reads a list of texts; None where there is none, or where it is not all in what was read."""
    found = re.search(((_JSON_TEXTS if is_json else _UBJ_TEXTS) % name).encode(), head, re.DOTALL)
    if found is None:
        return None
    try:
        texts = list(map(str, _json(head[found.end() :]))) if is_json else _ubj_texts(head, found.end())
    except (ValueError, IndexError, RecursionError):
        return None
    return tuple(texts) or None


def _ubj_texts(data: bytes, at: int) -> list[str]:
    """Reads ``#L<count>`` times ``SL<length><text>``; whole numbers have 8 bytes, the first the highest."""
    texts, count, at = [], int.from_bytes(data[at : at + 8]), at + 8
    for _ in range(count):
        length, start = int.from_bytes(data[at + 2 : at + 10]), at + 10
        if data[at : at + 2] != b"SL" or start + length > len(data):
            raise ValueError("the list goes on behind what was read")
        texts.append(data[start : start + length].decode())
        at = start + length
    return texts
