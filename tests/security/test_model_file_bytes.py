"""Mutated model files: what reads them says what is wrong, and raises nothing else."""

from __future__ import annotations

import contextlib
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Final

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.handlers.huggingface.folder_checks import reaches_out
from beam_ensembles.handlers.pytorch.export import read_program
from beam_ensembles.handlers.pytorch.files import format_of
from beam_ensembles.handlers.tensorflow.keras import read_keras
from beam_ensembles.handlers.tensorflow.saved_model import FILE, read_saved_model
from tests.security.test_model_files import keras_model, saved_model
from tests.support.fuzzing import EXAMPLES, fuzz, mutated

_LAYER: Final[dict[str, Any]] = {
    "module": "keras.layers",
    "class_name": "Dense",
    "config": {
        "name": "d",
        "dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}},
    },
    "build_config": {"input_shape": [None, 4]},
}
_KERAS: Final = json.dumps(keras_model(_LAYER)).encode()
_INDEX: Final = json.dumps({"weight_map": {"a": "model-1.safetensors"}, "gguf_file": "a"}).encode()
_SAFETENSORS: Final = (
    b"\x40\0\0\0\0\0\0\0" + b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'.ljust(64) + b"0000"
)


def _saved_model() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        saved_model(Path(folder, "model"), "SaveV2", "vocabulary.txt")
        return Path(folder, "model", FILE).read_bytes()


@fuzz(mutated(_saved_model()), examples=EXAMPLES // 3)
def test_saved_models(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, FILE).write_bytes(content)
        with contextlib.suppress(ModelFormatError):
            read_saved_model(folder)


@fuzz(mutated(_KERAS), examples=EXAMPLES // 3)
def test_keras_archives(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("config.json", content)
        with contextlib.suppress(ModelFormatError):
            read_keras(str(path))
        path.write_bytes(content)
        with contextlib.suppress(ModelFormatError):
            read_keras(str(path))


@fuzz(mutated(_INDEX), examples=EXAMPLES // 3)
def test_configurations_of_transformers(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.safetensors.index.json").write_bytes(content)
        reaches_out(folder)


@fuzz(mutated(_SAFETENSORS), examples=EXAMPLES // 3)
def test_files_of_pytorch(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.pt")
        path.write_bytes(content)
        with contextlib.suppress(ModelFormatError):
            format_of(str(path), has_class=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("m/models/model.json", content)
        for read in (read_program, lambda place: format_of(place, has_class=True)):
            with contextlib.suppress(ModelFormatError):
                read(str(path))


def _broken_zip() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.zip")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("config.json", _KERAS)
            archive.writestr("m/models/model.json", "{}")
        return path.read_bytes()


@fuzz(mutated(_broken_zip()), examples=EXAMPLES // 3)
def test_archives(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.zip")
        path.write_bytes(content)
        for read in (read_keras, read_program, lambda place: format_of(place, has_class=True)):
            with contextlib.suppress(ModelFormatError, OSError):
                read(str(path))
