"""Recognizes by its first bytes which library wrote a model file, for messages about a file of the wrong kind."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import zipfile
from collections.abc import Callable
from typing import Final

from beam_ensembles.files.archives import open_archive

_HEAD: Final = 4_096
_JSON_MODEL: Final = re.compile(rb'\s*\{\s*"learner"\s*:|\{L\0{7}\x07learner')
_JSON_LIGHTGBM: Final = re.compile(rb'\s*\{\s*"name"\s*:\s*"tree"\s*,\s*"version"\s*:')
_JSON_CATBOOST: Final = re.compile(rb'\s*\{\s*"(?:ctr_data|features_info|model_info|oblivious_trees)"\s*:')
_ONNX: Final = re.compile(rb"\x08[\x01-\x20](?:\x12|\x1a|\x22|\x2a|\x32|\x3a|\x42|\x72)", re.DOTALL)
"""The version of ONNX's format, and then another field of its message."""


@dataclasses.dataclass(frozen=True, slots=True)
class Format:
    """What a file looks like.

    Attributes:
        name: With its article, for a sentence.
        kind: The ``model`` that runs it; empty where none does.
        how: What to do with it.
    """

    name: str
    kind: str
    how: str


def _run_by(name: str, kind: str, more: str = "") -> Format:
    return Format(name, kind, f"use 'model: {kind}'{more}")


_LIGHTGBM: Final = _run_by("a LightGBM model", "lightgbm")
_CATBOOST: Final = _run_by("a CatBoost model", "catboost")
_LIGHTGBM_DUMP: Final = Format(
    "what dump_model of LightGBM gives, which nothing loads",
    "",
    "save the model with save_model('model.txt')",
)
_XGBOOST: Final = _run_by("an XGBoost model", "xgboost")
_OLD_XGBOOST: Final = Format(
    "an XGBoost model in its old binary format",
    "",
    "load it with an XGBoost before 3.1 and save_model('model.json')",
)
_ONNX_GRAPH: Final = _run_by("an ONNX model", "onnx")
_TORCH: Final = _run_by("a PyTorch file", "pytorch")
_SAFETENSORS: Final = _run_by(
    "weights in safetensors", "pytorch", " with 'model_class', or its folder with 'model: huggingface'"
)
_KERAS: Final = _run_by("a Keras model", "tensorflow")
_SAVED_MODEL: Final = _run_by("a SavedModel of TensorFlow", "tensorflow")
_HUGGING_FACE: Final = _run_by("a folder of Hugging Face's transformers", "huggingface")
_SKOPS: Final = _run_by("a scikit-learn model saved with skops", "sklearn", " and 'format: skops'")
_PICKLE: Final = _run_by("a pickle", "sklearn", " and 'format: pickle', or joblib where joblib saved it")
_LFS: Final = Format("a pointer of Git LFS instead of the model", "", "get the model itself: git lfs pull")
_PAGE: Final = Format("a web page", "", "download the model itself")
_STARTS: Final[tuple[tuple[bytes, Format], ...]] = (
    (b"tree\nversion=", _LIGHTGBM),
    (b"tree\r\nversion=", _LIGHTGBM),
    (b"CBM1", _CATBOOST),
    (b"binf", _OLD_XGBOOST),
    (b"\x89HDF\r\n\x1a\n", _KERAS),
    (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", _TORCH),
    (b"version https://git-lfs", _LFS),
    (b"<!DOCTYPE html", _PAGE),
    (b"<html", _PAGE),
    (b"<?xml", Format("an XML document, such as PMML", "", "save the model in a format of its own library")),
    (
        b"GGUF",
        Format("a GGUF file of llama.cpp", "", "serve it, and use 'model: chat' or 'model: open_inference'"),
    ),
)
_IN_ARCHIVES: Final[tuple[tuple[Callable[[str], bool], Format], ...]] = (
    (lambda name: name == "schema.json", _SKOPS),
    (lambda name: name == "metadata.json", _KERAS),
    (
        lambda name: name.endswith(("/data.pkl", "/constants.pkl", "/archive_format", "archive_format")),
        _TORCH,
    ),
)


def recognized(path: str) -> Format | None:
    """Returns what a local file or folder looks like; None where it looks like nothing that is known here.

    Args:
        path: The file; it is read, and no code of it runs.
    """
    with contextlib.suppress(OSError, zipfile.BadZipFile, RuntimeError, ValueError):
        if os.path.isdir(path):
            return _of_folder(set(os.listdir(path)))
        with open(path, "rb") as file:
            head = file.read(_HEAD)
        if head.startswith(b"PK\x03\x04"):
            with open_archive(path) as archive:
                names = archive.namelist()
            return next((one for test, one in _IN_ARCHIVES if any(map(test, names))), None)
        return _of_head(head)
    return None


def _of_folder(names: set[str]) -> Format | None:
    if "saved_model.pb" in names:
        return _SAVED_MODEL
    return _HUGGING_FACE if "config.json" in names else None


def _of_head(head: bytes) -> Format | None:
    found = next((one for start, one in _STARTS if head.startswith(start)), None)
    if found is not None:
        return found
    if _JSON_MODEL.match(head):
        return _XGBOOST
    if _JSON_LIGHTGBM.match(head):
        return _LIGHTGBM_DUMP
    if _JSON_CATBOOST.match(head):
        return _CATBOOST
    if head[4:8] == b"TFL3":
        return Format("a TensorFlow Lite model", "", "save it as a SavedModel or a .keras file")
    if head[8:9] == b"{" and b'"data_offsets"' in head:  # before pickles: its length may begin as they do
        return _SAFETENSORS
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return _PICKLE
    return _ONNX_GRAPH if _ONNX.match(head) else None


def other_kind(kind: str, path: str | None) -> str:
    """Returns a hint for behind a message where a file looks like one of another kind, else an empty text.

    Args:
        kind: The ``model`` of the node.
        path: The local file, or None.
    """
    found = None if path is None else recognized(path)
    if found is None or found.kind == kind:
        return ""
    return f"; it looks like {found.name}: {found.how}"
