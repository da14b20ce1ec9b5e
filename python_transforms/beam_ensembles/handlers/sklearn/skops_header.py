"""Reads what a skops file holds, without skops and scikit-learn: the types in it, and what its model says of itself.

A skops file is a zip with ``schema.json``, a tree of objects by module and class, and the arrays as ``.npy`` files.
"""

from __future__ import annotations

import dataclasses
import json
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

_LONGEST_SCHEMA: Final = 1 << 28
_LONGEST_ARRAY: Final = 1 << 24
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


class HeaderError(ValueError):
    """The file is no skops file."""


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


def read_header(path: str) -> Header:
    """Reads the header of a skops file.

    Raises:
        HeaderError: It is no skops file.
        OSError: It cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_bomb(archive, os.path.getsize(path))
            if archive.getinfo("schema.json").file_size > _LONGEST_SCHEMA:
                raise HeaderError("the file's schema.json is too large")
            return _header(json.loads(archive.read("schema.json")), archive)
    except (
        zipfile.BadZipFile,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        RuntimeError,
        EOFError,
        OverflowError,
        lzma.LZMAError,
        zlib.error,
    ) as exc:
        text = "the file is no skops file; save the model with skops.io.dump(model, 'model.skops')"
        raise exc if isinstance(exc, HeaderError) else HeaderError(text) from exc


def _refuse_bomb(archive: zipfile.ZipFile, size: int) -> None:
    unpacked = sum(info.file_size for info in archive.infolist())
    if unpacked > max(_MOST_UNPACKED, _MOST_TIMES * size):
        raise HeaderError(f"the file has {size} bytes and would unpack to {unpacked}")


def _header(root: Mapping[str, Any], archive: zipfile.ZipFile) -> Header:
    types = sorted(set(_types(root)))
    steps = [step for step in _steps(root) if step]
    takes = next((found for step in steps if (found := step.get("n_features_in_"))), None)
    named = next((found for step in steps if (found := step.get("feature_names_in_"))), None)
    classes = steps[-1].get("classes_") if steps else None
    names = None if named is None else _array(named, archive)
    return Header(
        str(root["__class__"]),
        tuple(name for name in types if not _is_safe(name)),
        None if takes is None else int(json.loads(takes["content"])) or None,
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
    """Gives the attributes of the model and, where it is a pipeline, those of its steps."""
    own = _attributes(root)
    yield own
    if root["__class__"] == "Pipeline":
        for step in own["steps"]["content"]:
            yield _attributes(step["content"][1])


def _attributes(node: Mapping[str, Any]) -> Mapping[str, Any]:
    content = node.get("content")
    found = content.get("content") if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}


def _array(node: Mapping[str, Any], archive: zipfile.ZipFile) -> tuple[Any, ...] | None:
    """Gives the values of a flat array; None where it is none, as with the classes of several outputs."""
    if node.get("__loader__") != "NdArrayNode":
        return None
    if node["type"] == "json":
        return tuple(json.loads(item["content"]) for item in node["content"])
    if archive.getinfo(node["file"]).file_size > _LONGEST_ARRAY:
        return None
    with archive.open(node["file"]) as file:
        return tuple(np.load(file, allow_pickle=False).tolist())
