"""Reads what a Keras 3 archive (``.keras``) says of itself, without Keras: it is a zip with a ``config.json``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.files.archives import DAMAGE, open_archive
from beam_ensembles.files.bounded_json import load_json
from beam_ensembles.handlers.support.signatures import (
    Port,
    refusing,
)
from beam_ensembles.types import NUMPY_DTYPES

_CONFIG: Final = "config.json"
_NO_ARCHIVE: Final[tuple[type[Exception], ...]] = (*DAMAGE, KeyError)
_LONGEST_NAME: Final = 100
"""Characters of a name that are shown."""
_COMPUTING: Final = re.compile(
    r"keras\.(layers|initializers|regularizers|constraints|activations|losses|metrics|optimizers(\.schedules)?"
    r"|dtype_policies|quantizers|random|ops|src\.(ops|layers|models)(\.\w+)*)"
)
"""Keras's own modules whose classes and functions compute."""
_AT_THE_TOP: Final = ("DTypePolicy", "Functional", "Model", "Sequential")
"""Classes of the module ``keras`` itself."""
_FOREIGN: Final = ("FlaxLayer", "JaxLayer", "Lambda", "TFSMLayer", "TorchModuleWrapper")
"""Layers that run code of the file, or load another one."""
_OF_FUNCTIONS: Final = re.compile(
    r"builtins|keras\.(activations|constraints|initializers|losses|metrics|ops|quantizers|random|regularizers)"
)
"""Modules whose functions compute. Keras takes classes for functions, too, which operations such as ``Switch`` call
with any arguments: a layer that loads another model would be made so."""
_IS_FUNCTION: Final = re.compile(r"(?!(?:deserialize|get|serialize)$)[a-z_][a-z0-9_]*")
"""Names of functions, not of classes, nor of those functions that make any object."""
_PLAIN: Final = ("__bytes__", "__ellipsis__", "__keras_tensor__", "__numpy__", "__slice__", "__tensor__")
"""What Keras calls values that are no objects of a class."""
_Ends = Mapping[str, str]
"""Names of what a model takes or gives -> the layer's name."""
_DTYPES: Final = {"float32": "float", "float64": "double", "bool": "boolean"}


@dataclasses.dataclass(frozen=True, slots=True)
class KerasModel:
    """What an archive says of its model.

    Attributes:
        inputs: What it takes; None where its class alone knows.
        outputs: The names of what it gives, with what is known of them; None where its class alone knows.
        code: What of it may do more than compute: lambdas, classes and functions that are not among Keras's own
            layers and the like, files that it reads.
    """

    inputs: tuple[Port, ...] | None
    outputs: Mapping[str, Port | None] | None
    code: tuple[str, ...]


@refusing("the file is not a Keras 3 archive")
def read_keras(path: str) -> KerasModel:
    """Reads the description of a model.

    Raises:
        ModelFormatError: The file is not a Keras 3 archive.
        OSError: It cannot be read.
    """
    try:
        with open_archive(path) as archive, archive.open(_CONFIG) as file:
            config = load_json(file)
    except _NO_ARCHIVE as exc:
        raise ModelFormatError(f"the file is not a Keras 3 archive ({exc})") from exc
    with refusing(f"its {_CONFIG} describes no model"):
        return _described(config, tuple(sorted({part[:_LONGEST_NAME] for part in _code(config)})))


def _described(config: Mapping[str, Any], code: tuple[str, ...]) -> KerasModel:
    layers, takes, gives = _layers(config)
    if layers is None:
        return KerasModel(None, None, code)
    inputs = tuple(_input(name, layers[layer]) for name, layer in takes.items())
    return KerasModel(inputs, {name: _head(name, layers[layer]) for name, layer in gives.items()}, code)


def _layers(config: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, _Ends, _Ends]:
    """Returns the layers by name, and which of them take what the model is given and give its answer."""
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
    """The layers at one end of the model by the names that a caller uses: those of a mapping, else their own."""
    if isinstance(found, Mapping):
        return {name: _end(end) for name, end in found.items()}
    names = [found[0]] if isinstance(found[0], str) else [_end(end) for end in found]
    return dict(zip(distinct_names(names), names, strict=True))


def _end(found: Any) -> str:
    """Returns the layer of one end, ``[layer, node, tensor]``; callers have no name for a structure of several."""
    if not isinstance(found, Sequence) or not isinstance(found[0], str):
        raise ModelFormatError(
            "its inputs or outputs stand in lists or mappings within others; make a model of one list or mapping: "
            "keras.Model({'a': a, 'b': b}, model({'x': {'a': a}, 'y': [b]}))"
        )
    return found[0]


def distinct_names(layers: Sequence[str]) -> list[str]:
    """Returns the names of a model's outputs: those of its layers, or output_0, ... where one layer gives several."""
    names = list(layers)
    return names if len(set(names)) == len(names) else [f"output_{at}" for at in range(len(names))]


def _input(name: str, layer: Mapping[str, Any]) -> Port:
    config = layer["config"]
    return Port(name, _element(config["dtype"]), tuple(config["batch_shape"]))


def _head(name: str, layer: Mapping[str, Any]) -> Port | None:
    """Returns the shape and type of the usual last layer's output, where it is called for one input alone."""
    if len(layer.get("inbound_nodes") or ()) > 1:
        return None
    shape = (layer.get("build_config") or {}).get("input_shape")
    if layer["class_name"] != "Dense" or not isinstance(shape, list) or not shape:
        return None
    dtype = layer["config"]["dtype"]
    element = _element(dtype["config"].get("name") if isinstance(dtype, Mapping) else dtype)
    return None if element is None else Port(name, element, (*shape[:-1], layer["config"]["units"]))


def _element(dtype: str | None) -> str | None:
    name = _DTYPES.get(dtype or "", dtype)
    return name if name in NUMPY_DTYPES or name == "string" else None


def _code(part: Any) -> Iterator[str]:
    """Finds what may do more than compute in any depth of a description."""
    if isinstance(part, list):
        for item in part:
            yield from _code(item)
    if not isinstance(part, Mapping):
        return
    if "class_name" in part and not _only_computes(part):
        is_lambda = part["class_name"] == "__lambda__"
        yield "a Python lambda" if is_lambda else f"{part.get('module') or '?'}.{_named(part)}"
    for key, item in part.items():
        if key == "vocabulary" and isinstance(item, str):
            yield f"the file '{item}'"
        yield from _code(item)


def _named(part: Mapping[str, Any]) -> str:
    """Returns the name of a class or function, or that under which a program registered it."""
    name, registered = part["class_name"], part.get("registered_name")
    if name == "function":
        return str(part.get("config"))
    return str(name if registered in (None, name) else registered)


def _only_computes(part: Mapping[str, Any]) -> bool:
    """Whether an object is a value, or of a class or a function of Keras's own that computes."""
    module, name, registered = part.get("module"), part["class_name"], part.get("registered_name")
    if module is None or str(name).startswith("__"):  # which Keras knows by this name, whatever the module is
        return name in _PLAIN
    if not isinstance(module, str) or not isinstance(name, str) or registered not in (None, name):
        return False
    if name == "function":
        is_known = _IS_FUNCTION.fullmatch(str(part.get("config"))) is not None
        return is_known and _OF_FUNCTIONS.fullmatch(module) is not None
    if module == "keras":
        return name in _AT_THE_TOP
    return _COMPUTING.fullmatch(module) is not None and name.isidentifier() and name not in _FOREIGN
