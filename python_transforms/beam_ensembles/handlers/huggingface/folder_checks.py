"""Finds what the configuration of a transformers folder would read outside of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

_CONFIGURATIONS: Final = (
    "adapter_config.json", "config.json", "generation_config.json", "preprocessor_config.json",
    "processor_config.json", "tokenizer_config.json", "video_preprocessor_config.json",
)  # fmt: skip
_INDEX: Final = ".index.json"
_LARGEST: Final = 64 << 20
_NAMES_A_FILE: Final = ("gguf_file", "transformers_weights")
"""Keys that name a file to load instead of the folder's own."""
_NAMES_OPTIONS: Final = ("jumanpp_kwargs", "mecab_kwargs", "sudachi_kwargs")
"""Keys with options of tokenizers of other libraries, which may name any file."""


def reaches_out(folder: str) -> tuple[str, ...]:
    """Returns what a folder's configuration would load from elsewhere, for people; nothing of most folders."""
    found: set[str] = set()
    for name in sorted(os.listdir(folder)):
        if name in _CONFIGURATIONS or name.endswith(_INDEX):
            content = _read(os.path.join(folder, name))
            found |= {f"{part} in {name}" for part in _outside(content)}
            if name.endswith(_INDEX):
                found |= {f"'{file}' in {name}" for file in _shards(content) if not _is_inside(file)}
    return tuple(sorted(found))


def _read(path: str) -> Any:
    """Returns a file's JSON, or None where it has none: transformers then says so itself."""
    if os.path.getsize(path) > _LARGEST:
        return {"gguf_file": "a file too large to be checked"}
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError):
        return None


def _outside(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for item in part:
            yield from _outside(item)
    if not isinstance(part, Mapping):
        return
    for key, value in part.items():
        if value and (key in _NAMES_OPTIONS or (key in _NAMES_A_FILE and not _is_inside(value))):
            yield f"'{key}: {value}'"
        yield from _outside(value)


def _shards(content: Any) -> list[Any]:
    weights = content.get("weight_map") if isinstance(content, Mapping) else None
    return list(weights.values()) if isinstance(weights, Mapping) else []


def _is_inside(name: Any) -> bool:
    return isinstance(name, str) and os.path.basename(name) == name and name not in (".", "..")
