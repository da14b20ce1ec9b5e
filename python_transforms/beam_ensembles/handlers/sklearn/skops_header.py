"""Reads what a skops file holds, without skops and scikit-learn: the types in it, and what its model says of itself.

A skops file is a zip with ``schema.json``, a tree of objects by module and class, and the arrays as ``.npy`` files.
"""

from __future__ import annotations

import dataclasses
import io
import math
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, Final

import numpy as np

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.files.archives import check_sizes, open_archive
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
_HEAVY: Final = ("FunctionNode", "LossNode", "ObjectNode")
"""Loaders that keep a list of hundreds of types that they trust with each object."""
_BYTES: Final = {True: 4096, False: 1024}
"""What skops takes for an object while it loads it, by whether its loader is one of those."""
_BYTES_OF_BYTE: Final = 16
"""What a byte of a ``bytearray`` takes: skops makes a list of its numbers."""
_BYTES_OF_ITEM: Final = 128
"""What a byte of an array takes within an array of objects, which may make an object of each item."""
_LONGEST_HEADER: Final = 1 << 14
"""Bytes of an array that are read for its header; numpy takes at most 10,000."""
_PLAIN: Final = ("builtins", "collections", "datetime", "functools", "numpy", "operator", "scipy.special")
"""Packages whose types hold values and compute safely, whatever a file says."""
_RANDOM: Final = "numpy.random."
_RANDOM_STATE: Final = "numpy.random.mtrand.RandomState"
"""The only one of numpy's generators that scikit-learn takes; a seed of another one may say how large it is."""
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
        size = os.path.getsize(path)
        _refuse_bomb(sum(info.file_size for info in archive.infolist()), size)
        with archive.open("schema.json") as file:
            root = load_json(file)
        header = _header(root, archive)
        if not header.untrusted:  # else it may do as it likes once it is trusted
            measured = _Objects(archive)
            measured.measure(root)
            _refuse_bomb(measured.memory, size)
        return header


@refusing("the file is damaged")
def check_sizes_of(path: str) -> None:
    """Checks that the parts of a skops file are as long as its directory says: skops unpacks each as a whole.

    Raises:
        ModelFormatError: They are not.
        OSError: It cannot be read.
    """
    with open_archive(path) as archive:
        check_sizes(archive)


def _refuse_bomb(unpacked: int, size: int) -> None:
    if unpacked > max(_MOST_UNPACKED, _MOST_TIMES * size):
        raise ModelFormatError(f"the file has {size} bytes and would unpack to {unpacked}")


class _Objects:
    """Counts what the objects of a file take in memory while skops loads them, before it does.

    skops makes one object for all that have the same ``__id__``, the first that it sees. In what it saves they are
    equal. In another file they could be a short name for a large object, in any number of places, or within itself.

    Attributes:
        memory: Bytes of all objects that were measured.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.memory = 0
        self._archive = archive
        self._sizes: dict[Any, tuple[int, int]] = {}
        self._read: set[tuple[Any, str, Any, Any]] = set()

    def measure(self, node: Any, times: int = 1) -> tuple[int, int]:
        """Adds up an object with all that it holds.

        Args:
            node: What the file says of the object, or a part of that.
            times: How much memory each byte of its arrays takes.

        Returns:
            How many objects it holds, and the bytes of their arrays and texts.

        Raises:
            ModelFormatError: It differs from an object of the same ``__id__``, or an array lies.
        """
        if not isinstance(node, dict):
            return self._sum(node, times) if isinstance(node, list) else (0, 0)
        loader = node.get("__loader__")
        self.memory += _BYTES[loader in _HEAVY]
        own = self._bytes_of(node, times) + len(str(node.get("content", ""))) * (loader == "JsonNode")
        is_array = loader == "NdArrayNode" and node.get("type") == "json"
        count, bytes_ = self._sum(node.values(), _BYTES_OF_ITEM if is_array else times)
        size = (count + ("__loader__" in node), bytes_ + own)
        if node.get("__id__") and self._sizes.setdefault(node["__id__"], size) != size:
            raise ModelFormatError("the file has different objects of the same '__id__'")
        return size

    def _sum(self, parts: Iterable[Any], times: int) -> tuple[int, int]:
        sizes = [self.measure(part, times) for part in parts if isinstance(part, dict | list)]
        return sum(count for count, _ in sizes), sum(bytes_ for _, bytes_ in sizes)

    def _bytes_of(self, node: Mapping[str, Any], times: int) -> int:
        """Returns the bytes of an object's own array, and adds up what they take."""
        loader, name, saved_id = node.get("__loader__"), node.get("file"), node.get("__id__")
        if not isinstance(name, str):
            return 0
        size = self._archive.getinfo(name).file_size
        if loader == "BytearrayNode":
            size *= _BYTES_OF_BYTE
        key = (saved_id, name, loader, node.get("__class__"))
        if not saved_id or key not in self._read or times > 1:
            self.memory += size * times
        if loader == "NdArrayNode" and key not in self._read:
            self._check_array(name, size, str(node.get("__class__")))
        self._read.add(key)
        return size

    def _check_array(self, name: str, size: int, class_: str) -> None:
        with self._archive.open(name) as file:
            _, dtype = _array_header(io.BytesIO(file.read(_LONGEST_HEADER)), size)
        if class_ in ("bytes_", "void") and dtype.kind not in "SV":  # numpy takes a number for a length
            raise ModelFormatError(f"a '{class_}' of the file is kept as {str(dtype)[:50]}")


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
    if name.startswith(_RANDOM) and name != _RANDOM_STATE:
        return False
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
    shape, dtype = _array_header(file, size)
    if dtype.kind not in _KINDS:
        raise ModelFormatError(f"an array of the file holds values of the type {str(dtype)[:50]}")
    return len(shape) == 1 and shape[0] <= MOST_ARRAY_VALUES


def _array_header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Returns the shape and the type of an array, all of whose values are in the file.

    Raises:
        ModelFormatError: They are not, or take no bytes, so that there could be any number of them.
    """
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.itemsize == 0:
        raise ModelFormatError(f"an array of the file holds values of the type {str(dtype)[:50]}")
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize > size:
        raise ModelFormatError("an array of the file has fewer bytes than its shape says")
    return shape, dtype
