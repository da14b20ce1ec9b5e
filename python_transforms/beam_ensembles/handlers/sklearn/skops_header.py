"""Reads what a skops file holds, without skops and scikit-learn: the types in it, and what its model says of itself.

A skops file is a zip with ``schema.json``, a tree of objects by module and class, and the arrays as ``.npy`` files.
"""

from __future__ import annotations

import dataclasses
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

import numpy as np

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.files.archives import open_archive
from beam_ensembles.files.bounded_json import load_json, read_json
from beam_ensembles.handlers.support.signatures import (
    refusing,
)
from beam_ensembles.limits import MOST_ARRAY_VALUES

_LONGEST_ARRAY: Final = 1 << 24
_KINDS: Final = "biufcmMSU"
"""Kinds of values, as numpy names them, of which classes and names of features are."""
_MOST_UNPACKED: Final = 1 << 30
_MOST_TIMES: Final = 20
"""An archive that unpacks to more than the first, and to more than so many times its size, is not taken for a model."""
_PLAIN: Final = ("builtins", "collections", "datetime", "functools", "numpy", "operator", "scipy.special")
"""Packages whose types hold values and compute safely, whatever a file says."""
_IN_NUMPY: Final = (
    "calibration", "compose", "decomposition._pca", "discriminant_analysis", "dummy", "ensemble._bagging",
    "ensemble._stacking", "ensemble._voting", "ensemble._weight_boosting", "feature_selection", "impute._base",
    "linear_model", "multioutput", "naive_bayes", "neural_network", "pipeline",
    "preprocessing._data", "preprocessing._encoders.OrdinalEncoder", "preprocessing._function_transformer",
    "preprocessing._label.LabelBinarizer", "preprocessing._label.LabelEncoder", "utils._bunch.Bunch",
)  # fmt: skip
"""The parts of scikit-learn that compute with numpy on dense arrays, where every index is checked.

Compiled code for trees, neighbours, clusters, support vectors and sparse matrices (as one-hot encoders and text
vectorizers make them) believes the lengths and indices of the file, and follows them out of its memory."""


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself.

    Attributes:
        model: The model's class.
        untrusted: Types in the file that need trust: of other packages, and compiled ones of scikit-learn.
        features: How many features the model takes, where it says so.
        names: Their names, where it was fitted on a DataFrame.
        classes: Its classes, where it tells some apart.
    """

    model: str
    untrusted: tuple[str, ...]
    features: int | None
    names: tuple[str, ...] | None
    classes: tuple[Any, ...] | None


@refusing("the file is not a skops file; save the model with skops.io.dump(model, 'model.skops')")
def read_header(path: str) -> Header:
    """Reads the header of a skops file.

    Raises:
        ModelFormatError: It is not a skops file.
        OSError: It cannot be read.
    """
    with open_archive(path) as archive:
        _refuse_bomb(archive, os.path.getsize(path))
        with archive.open("schema.json") as file:
            return _header(load_json(file), archive)


def _refuse_bomb(archive: zipfile.ZipFile, size: int) -> None:
    unpacked = sum(info.file_size for info in archive.infolist())
    if unpacked > max(_MOST_UNPACKED, _MOST_TIMES * size):
        raise ModelFormatError(f"the file has {size} bytes and would unpack to {unpacked}")


def _header(root: Mapping[str, Any], archive: zipfile.ZipFile) -> Header:
    types = sorted(set(_types(root)))
    steps = [step for step in _steps(root) if step]
    front = list(_front(root))
    takes = next((found for step in front if (found := step.get("n_features_in_"))), None)
    named = next((found for step in front if (found := step.get("feature_names_in_"))), None)
    classes = steps[-1].get("classes_") if steps else None
    names = None if named is None else _array(named, archive)
    return Header(
        str(root["__class__"]),
        tuple(name for name in types if not _is_safe(name)),
        None if takes is None else int(read_json(takes["content"].encode())) or None,
        None if names is None else tuple(map(str, names)),
        None if classes is None else _array(classes, archive),
    )


def _is_safe(name: str) -> bool:
    known = (*_PLAIN, *(f"sklearn.{part}" for part in _IN_NUMPY))
    return any(name == one or name.startswith(f"{one}.") for one in known)


def _types(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _types(item)
    elif isinstance(node, dict):
        if "__class__" in node:
            yield f"{node['__module__']}.{node['__class__']}"
        for item in node.values():
            if isinstance(item, dict | list):
                yield from _types(item)


def _steps(root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields the attributes of the model and, where it is a pipeline, those of its steps."""
    own = _attributes(root)
    yield own
    if root["__class__"] == "Pipeline":
        for step in own["steps"]["content"]:
            yield _attributes(step["content"][1])


def _front(root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Returns the attributes of the step that takes the model's features: later steps of a pipeline take others."""
    own = _attributes(root)
    yield own
    if root["__class__"] == "Pipeline":
        steps = [step["content"][1] for step in own["steps"]["content"]]
        # "passthrough" and None are JSON, not estimators.
        first = next((step for step in steps if step.get("__loader__") != "JsonNode"), None)
        if first is not None:
            yield _attributes(first)


def _attributes(node: Mapping[str, Any]) -> Mapping[str, Any]:
    content = node.get("content")
    found = content.get("content") if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}


def _array(node: Mapping[str, Any], archive: zipfile.ZipFile) -> tuple[Any, ...] | None:
    """Returns the values of a flat array; None where it is none, as with the classes of several outputs."""
    if node.get("__loader__") != "NdArrayNode":
        return None
    if node["type"] == "json":
        return tuple(_value(item["content"]) for item in node["content"])
    size = archive.getinfo(node["file"]).file_size
    if size > _LONGEST_ARRAY:
        return None
    with archive.open(node["file"]) as file:
        if not _is_short(file, size):
            return None
        file.seek(0)
        return tuple(np.load(file, allow_pickle=False).tolist())


def _value(text: str) -> str | int | float | None:
    """Reads a number or a text that is kept as a text of JSON.

    Raises:
        ModelFormatError: It is a list or an object.
    """
    found = read_json(text.encode())
    if isinstance(found, dict | list):
        raise ModelFormatError("a value of an array in the file is a list or an object")
    value: str | int | float | None = found
    return value


def _is_short(file: IO[bytes], size: int) -> bool:
    """Whether an array is of one dimension and of few enough plain values, all of which are in the file."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.kind not in _KINDS or dtype.itemsize == 0:
        raise ModelFormatError(f"an array of the file holds values of the type {str(dtype)[:50]}")
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize > size:
        raise ModelFormatError("an array of the file has fewer bytes than its shape says")
    return len(shape) == 1 and shape[0] <= MOST_ARRAY_VALUES
