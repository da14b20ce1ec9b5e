"""Reads what a Keras 3 archive (``.keras``) says of itself, without Keras: it is a zip with a ``config.json``."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.handlers.signatures import ModelFormatError, Port
from beam_ensembles.types import NUMPY_DTYPES

_CONFIG: Final = "config.json"
_LONGEST: Final = 64 << 20
_OWN_PACKAGES: Final = ("keras", "builtins")
_Ends = Mapping[str, str]
"""Names of what a model takes or gives -> the layer's name."""
_DTYPES: Final = {"float32": "float", "float64": "double", "bool": "boolean"}


@dataclasses.dataclass(frozen=True, slots=True)
class KerasModel:
    """What an archive says of its model.

    Attributes:
        inputs: What it takes; None where its class alone knows.
        outputs: The names of what it gives, with what is known of them; None where its class alone knows.
        code: What of it is Python code of its own: lambdas, and classes of other packages than Keras.
    """

    inputs: tuple[Port, ...] | None
    outputs: Mapping[str, Port | None] | None
    code: tuple[str, ...]


def read_keras(path: str) -> KerasModel:
    """Reads the description of a model.

    Raises:
        ModelFormatError: The file is no Keras 3 archive.
        OSError: It cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_CONFIG) as file:
            config = json.loads(file.read(_LONGEST))
        code = tuple(sorted(set(_code(config))))
        layers, takes, gives = _layers(config)
    except (zipfile.BadZipFile, KeyError) as exc:
        raise ModelFormatError(f"the file is no Keras 3 archive ({exc})") from exc
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError) as exc:
        raise ModelFormatError(f"its {_CONFIG} describes no model") from exc
    if layers is None:
        return KerasModel(None, None, code)
    inputs = tuple(_input(name, layers[layer]) for name, layer in takes.items())
    return KerasModel(inputs, {name: _head(name, layers[layer]) for name, layer in gives.items()}, code)


def _layers(config: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, _Ends, _Ends]:
    """Gives the layers by name, and which of them take what the model is given and give its answer."""
    own = config["config"]
    if config["class_name"] == "Sequential" and own["layers"][0]["class_name"] == "InputLayer":
        layers = {layer["config"]["name"]: layer for layer in own["layers"]}
        first, *_, last = layers
        return layers, {first: first}, {last: last}
    if config["class_name"] == "Functional":
        layers = {layer["name"]: layer for layer in own["layers"]}
        return layers, _ends(own["input_layers"]), _ends(own["output_layers"])
    return None, {}, {}


def _ends(found: Any) -> _Ends:
    """Gives the layers at one end of the model by the names that a caller uses: those of a mapping, else their own."""
    if isinstance(found, Mapping):
        return {name: str(end[0]) for name, end in found.items()}
    names = [str(found[0])] if isinstance(found[0], str) else [str(end[0]) for end in found]
    return dict(zip(names, names, strict=True))


def _input(name: str, layer: Mapping[str, Any]) -> Port:
    config = layer["config"]
    return Port(name, _element(config["dtype"]), tuple(config["batch_shape"]))


def _head(name: str, layer: Mapping[str, Any]) -> Port | None:
    """Gives the shape and type of what the usual last layer gives."""
    shape = (layer.get("build_config") or {}).get("input_shape")
    if layer["class_name"] != "Dense" or not isinstance(shape, list) or not shape:
        return None
    dtype = layer["config"]["dtype"]
    element = _element(dtype["config"]["name"] if isinstance(dtype, Mapping) else dtype)
    return None if element is None else Port(name, element, (*shape[:-1], layer["config"]["units"]))


def _element(dtype: str) -> str | None:
    name = _DTYPES.get(dtype, dtype)
    return name if name in NUMPY_DTYPES or name == "string" else None


def _code(part: Any) -> Iterator[str]:
    """Finds lambdas and classes of other packages in any depth of a description."""
    if isinstance(part, list):
        for item in part:
            yield from _code(item)
    if not isinstance(part, Mapping):
        return
    module, name = part.get("module"), part.get("class_name")
    if name == "__lambda__":
        yield "a Python lambda"
    elif isinstance(module, str) and module.partition(".")[0] not in _OWN_PACKAGES:
        yield f"{module}.{name}"
    for item in part.values():
        yield from _code(item)
