"""What a Keras archive may do besides computing, found without Keras; and weights that are in other files."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.handlers.tensorflow.keras import read_keras
from beam_ensembles.handlers.tensorflow.weights import check_weights


def layer(name: str, module: str | None = "keras.layers", **more: Any) -> dict[str, Any]:
    return {
        "module": module,
        "class_name": name,
        "config": {"name": name.lower()},
        "registered_name": None,
    } | more


def function(name: str, module: str) -> dict[str, Any]:
    return {"module": module, "class_name": "function", "config": name, "registered_name": "function"}


def code_of(folder: Path, *layers: dict[str, Any]) -> tuple[str, ...]:
    """Returns what of a model with some layers may do more than compute."""
    first = layer("InputLayer") | {"config": {"name": "x", "dtype": "float32", "batch_shape": [None, 4]}}
    model = layer("Sequential", "keras") | {"config": {"name": "model", "layers": [first, *layers]}}
    with zipfile.ZipFile(folder / "model.keras", "w") as archive:
        archive.writestr("config.json", json.dumps(model))
    return read_keras(str(folder / "model.keras")).code


@pytest.mark.parametrize(
    "one",
    [
        layer("Dense"),
        layer("Relu", "keras.src.ops.nn", registered_name="Relu"),
        layer(
            "Functional", "keras.src.models.functional", registered_name="Functional", config={"name": "f"}
        ),
        layer("Dense") | {"config": {"name": "d", "activation": function("relu", "builtins")}},
        layer("Dense") | {"config": {"name": "d", "activation": function("gelu", "keras.activations")}},
        layer(
            "Switch", "keras.src.ops.core", inbound_nodes=[{"args": [0, [function("get_item", "keras.ops")]]}]
        ),
        layer("StringLookup") | {"config": {"name": "s", "vocabulary": ["a", "b"]}},
    ],
)
def test_layers_of_keras_itself_only_compute(tmp_path: Path, one: dict[str, Any]) -> None:
    assert code_of(tmp_path, one) == ()


@pytest.mark.parametrize(
    ("one", "wanted"),
    [
        (layer("Lambda"), "keras.layers.Lambda"),
        (layer("TFSMLayer"), "keras.layers.TFSMLayer"),
        (layer("TorchModuleWrapper"), "keras.layers.TorchModuleWrapper"),
        (layer("get_file", "keras.utils"), "keras.utils.get_file"),
        (layer("FeatureSpace", "keras.utils"), "keras.utils.FeatureSpace"),
        (layer("load_model", "keras.saving"), "keras.saving.load_model"),
        (layer("file_utils.os.system", "keras.src.utils"), "keras.src.utils.file_utils.os.system"),
        (layer("Net", "my_team.nets"), "my_team.nets.Net"),
        (layer("Dense", None), "?.Dense"),
        (layer("Dense", registered_name="my_team>Net"), "keras.layers.my_team>Net"),
        (layer("Dense") | {"config": {"name": "d", "a": function("get_file", "keras.utils")}}, "keras.utils.get_file"),
        (layer("Dense") | {"config": {"name": "d", "a": function("system", "os")}}, "os.system"),
        (layer("Switch", "keras.src.ops.core", a=function("TFSMLayer", "keras.layers")), "keras.layers.TFSMLayer"),
        (layer("Switch", "keras.src.ops.core", a=function("Map", "keras.ops")), "keras.ops.Map"),
        (layer("__lambda__"), "a Python lambda"),
        (layer("__typespec__", spec_name="Dense"), "keras.layers.__typespec__"),
        (layer("Switch", "keras.src.ops.core", a=function("AUC", "builtins")), "builtins.AUC"),
        (layer("Switch", "keras.src.ops.core", a=function("get", "keras.losses")), "keras.losses.get"),
        (layer("Dense", config={"name": "d", "a": {"class_name": "__lambda__", "config": {}}}), "a Python lambda"),
        (layer("StringLookup") | {"config": {"name": "s", "vocabulary": "/etc/passwd"}}, "the file '/etc/passwd'"),
    ],
)  # fmt: skip
def test_everything_else_may_do_more(tmp_path: Path, one: dict[str, Any], wanted: str) -> None:
    assert code_of(tmp_path, one) == (wanted,)


def test_a_description_of_any_form_raises_no_other_error(tmp_path: Path) -> None:
    for config in (
        {"class_name": "Sequential", "config": {"layers": [layer("InputLayer")]}},
        {"class_name": "Functional", "config": {"layers": 3, "input_layers": {}, "output_layers": {}}},
        {
            "class_name": "Sequential",
            "config": {"layers": [{"class_name": "InputLayer", "config": {"name": []}}]},
        },
    ):
        with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
            archive.writestr("config.json", json.dumps(config))
        with pytest.raises(ModelFormatError):
            read_keras(str(tmp_path / "model.keras"))


def test_weights_are_in_their_own_file(tmp_path: Path) -> None:
    h5py: Any = pytest.importorskip("h5py")
    secret = tmp_path / "secret.txt"
    secret.write_bytes(b"0123456789abcdef")

    def written(name: str, write: Any) -> bytes:
        content = io.BytesIO()
        with h5py.File(content, "w") as file:
            file.create_group("layers/dense/vars")["0"] = [1.0, 2.0]
            write(file)
        (tmp_path / f"{name}.weights.h5").write_bytes(content.getvalue())
        with zipfile.ZipFile(tmp_path / f"{name}.keras", "w") as archive:
            archive.writestr("model.weights.h5", content.getvalue())
        return content.getvalue()

    def external(file: Any) -> None:
        file["layers/dense/vars"].create_dataset("1", (4,), "float32", external=[(str(secret), 0, 16)])

    def virtual(file: Any) -> None:
        layout = h5py.VirtualLayout(shape=(2,), dtype="float32")
        layout[:] = h5py.VirtualSource(str(tmp_path / "own.weights.h5"), "layers/dense/vars/0", shape=(2,))
        file.create_virtual_dataset("copy", layout)

    def linked(file: Any) -> None:
        file["layers/dense/linked"] = h5py.ExternalLink(str(tmp_path / "own.weights.h5"), "/")

    written("own", lambda file: None)
    for ending in ("weights.h5", "keras"):
        check_weights(str(tmp_path / f"own.{ending}"))
    for name, write in (("external", external), ("virtual", virtual), ("linked", linked)):
        written(name, write)
        for ending in ("weights.h5", "keras"):
            with pytest.raises(ModelFormatError, match="in another file"):
                check_weights(str(tmp_path / f"{name}.{ending}"))


def test_inputs_within_others_are_refused_in_plain_words(tmp_path: Path) -> None:
    ends = {"input_layers": {"u": {"a": ["a", 0, 0]}, "c": [["c", 0, 0]]}, "output_layers": [["o", 0, 0]]}
    config = {"class_name": "Functional", "module": "keras", "config": {"layers": [], **ends}}
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("metadata.json", "{}")
        archive.writestr("model.weights.h5", b"")
    with pytest.raises(ModelFormatError, match="make a model of one list or mapping"):
        read_keras(str(tmp_path / "m.keras"))
