"""Reads what a CatBoost model takes and gives from its file, binary (``.cbm``) or JSON, without catboost.

The binary format is a table of FlatBuffers, of which only the features and the parameters of the training are read, and
every offset is compared with the bytes that there are. Written for CatBoost 1.
"""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import ModelFormatError
from beam_ensembles.files.bounded_json import read_json
from beam_ensembles.handlers.support.signatures import refusing
from beam_ensembles.limits import LARGEST_JSON

NUMBER: Final = "number"
CATEGORY: Final = "category"
TEXT: Final = "text"
EMBEDDING: Final = "embedding"
ONE_VS_ALL: Final = "MultiClassOneVsAll"
SEVERAL_LABELS: Final = ("MultiLogloss", "MultiCrossEntropy")
CLASSIFICATIONS: Final = ("Logloss", "CrossEntropy", "Focal", "MultiClass", ONE_VS_ALL, *SEVERAL_LABELS)
"""The loss functions of ``CatBoostClassifier``."""
_BINARY: Final = b"CBM1"
_MOST_FEATURES: Final = 1_000_000
_TABLES: Final[Mapping[str, tuple[int, int, int]]] = {
    CATEGORY: (4, 1, 2),
    NUMBER: (5, 2, 4),
    TEXT: (12, 1, 2),
}
"""The fields where a model's trees have their features of each type, and where a feature has its place and its name."""
_LISTS: Final = {
    "float_features": NUMBER,
    "categorical_features": CATEGORY,
    "text_features": TEXT,
    "embedding_features": EMBEDDING,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """What a model says about itself.

    Attributes:
        types: What each feature is: ``NUMBER``, ``CATEGORY``, ``TEXT`` or ``EMBEDDING``.
        loss: What it was trained for, such as ``Logloss``; empty where it does not say.
        values: How many values it gives per row before they are made probabilities: 1 for two classes.
        names: The features' names; None where it was trained on an array.
        classes: Its classes; None where it has none, or does not say.
    """

    types: tuple[str, ...]
    loss: str
    values: int
    names: tuple[str, ...] | None = None
    classes: tuple[Any, ...] | None = None

    @property
    def is_classifier(self) -> bool:
        """Whether its answers are about classes."""
        return self.loss in CLASSIFICATIONS


@refusing("the file is not a CatBoost model")
def read_header(path: str) -> Header | None:
    """Reads the header of a model file; None where the file is too large to be looked through before it is loaded.

    Raises:
        ModelFormatError: It is not a CatBoost model in CatBoost's binary format or JSON.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read(LARGEST_JSON + 1)
    check_format(data)
    if len(data) > LARGEST_JSON:
        return None
    return _of_binary(data) if data.startswith(_BINARY) else _of_json(read_json(data))


def check_format(data: bytes) -> str:
    """Returns what catboost calls the format of a file.

    Raises:
        ModelFormatError: It is neither its binary format nor JSON.
    """
    if data.startswith(_BINARY):
        return "cbm"
    if data.lstrip()[:1] == b"{":
        return "json"
    raise ModelFormatError("the file is not a CatBoost model; save it with save_model('model.cbm')")


def header_of(
    features: Iterable[tuple[int, str, str]], values: int, params: str, class_params: str
) -> Header:
    """Returns the header of a model.

    Args:
        features: The place, the type and the name of each feature.
        values: How many values it gives per row.
        params: The parameters of its training, as JSON.
        class_params: What it says of its classes, as JSON; empty where it says nothing.
    """
    found = {at: (type_, name) for at, type_, name in features if 0 <= at < _MOST_FEATURES}
    count = max(found, default=-1) + 1
    types = tuple(found[at][0] if at in found else NUMBER for at in range(count))
    names = tuple(found[at][1] if at in found else "" for at in range(count))
    told = read_json(params.encode()) if params else {}
    classes = read_json(class_params.encode()).get("class_names") if class_params else None
    are_names = all(names) and any(name != str(at) for at, name in enumerate(names))
    return Header(
        types,
        str(told.get("loss_function", {}).get("type", "")),
        values,
        names if are_names else None,
        tuple(classes) if classes else None,
    )


def _of_json(model: Any) -> Header:
    if not isinstance(model, dict) or "features_info" not in model:
        raise ModelFormatError("the file is not a CatBoost model in JSON")
    features = [
        (int(one["flat_feature_index"]), type_, str(one.get("feature_id", "")))
        for key, type_ in _LISTS.items()
        for one in model["features_info"].get(key, ())
    ]
    info = model.get("model_info", {})
    _, bias = model.get("scale_and_bias", (1, [0]))
    values = len(bias) if isinstance(bias, list) else 1
    return header_of(
        features, values, json.dumps(info.get("params", {})), json.dumps(info.get("class_params", {}))
    )


def _of_binary(data: bytes) -> Header:
    core = _Table(_Texts(data, len(data)), 8 + _at(data, "<I", 8))
    trees = core.table(1)
    info = {one.text(0): one.text(1) for one in core.tables(2)}
    features = [
        (one.number(place, -1), type_, one.text(name))
        for type_, (field, place, name) in _TABLES.items()
        for one in trees.tables(field)
    ]
    return header_of(
        features, max(trees.number(0, 1), 1), info.get("params", ""), info.get("class_params", "")
    )


def _at(data: bytes, layout: str, at: int) -> int:
    if at < 0:
        raise ModelFormatError("an offset leads out of the file")
    (found,) = struct.unpack_from(layout, data, at)
    return int(found)


@dataclasses.dataclass(slots=True)
class _Texts:
    """A file, and how many bytes of texts may still be read of it.

    A million entries can name the same text of a megabyte: all texts together may be as long as the file.
    """

    data: bytes
    left: int

    def text(self, at: int) -> str:
        length = _at(self.data, "<I", at)
        if at + 4 + length > len(self.data):
            raise ModelFormatError("a text leads out of the file")
        self.left -= length
        if self.left < 0:
            raise ModelFormatError("its texts are longer than the file: the same texts are used many times")
        return self.data[at + 4 : at + 4 + length].decode()


@dataclasses.dataclass(frozen=True, slots=True)
class _Table:
    """A table of FlatBuffers: its fields stand where a list of offsets says."""

    texts: _Texts
    start: int

    @property
    def data(self) -> bytes:
        return self.texts.data

    def _field(self, field: int) -> int | None:
        offsets = self.start - _at(self.data, "<i", self.start)
        place = 4 + 2 * field
        if place + 2 > _at(self.data, "<H", offsets):
            return None
        offset = _at(self.data, "<H", offsets + place)
        return self.start + offset if offset else None

    def number(self, field: int, default: int) -> int:
        at = self._field(field)
        return default if at is None else _at(self.data, "<i", at)

    def text(self, field: int) -> str:
        at = self._field(field)
        if at is None:
            return ""
        return self.texts.text(at + _at(self.data, "<I", at))

    def table(self, field: int) -> _Table:
        at = self._field(field)
        if at is None:
            raise ModelFormatError("the file has no trees")
        return _Table(self.texts, at + _at(self.data, "<I", at))

    def tables(self, field: int) -> Sequence[_Table]:
        at = self._field(field)
        if at is None:
            return ()
        at += _at(self.data, "<I", at)
        count = _at(self.data, "<I", at)
        if count > min(_MOST_FEATURES, len(self.data) // 4):
            raise ModelFormatError("a list leads out of the file")
        places = range(at + 4, at + 4 + 4 * count, 4)
        return [_Table(self.texts, place + _at(self.data, "<I", place)) for place in places]
