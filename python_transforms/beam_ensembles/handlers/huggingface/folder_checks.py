"""Finds what the configuration of a transformers folder would read outside of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.files.bounded_json import JsonError, NoJsonError, load_json
from beam_ensembles.files.local_files import TooMuch, contents

_CONFIGURATIONS: Final = (
    "adapter_config.json", "config.json", "generation_config.json", "preprocessor_config.json",
    "processor_config.json", "special_tokens_map.json", "speaker_embeddings_path.json", "tokenizer_config.json",
    "video_preprocessor_config.json",
)  # fmt: skip
_OF_A_VERSION: Final = re.compile(r"config\..*\.json")
"""Configurations that later versions of transformers take instead, as ``configuration_files`` says."""
_TOKENS: Final = "special_tokens_map.json"
"""A tokenizer's arguments, which transformers takes last: one of them may be the place of its vocabulary."""
_IS_TOKENS: Final = re.compile(r"\w+_tokens?")
_INDEX: Final = ".index.json"
_NAMES_A_FILE: Final = ("gguf_file", "transformers_weights")
"""Keys that name a file to load instead of the folder's own."""
_NAMES_OPTIONS: Final = ("init_inputs", "jumanpp_kwargs", "mecab_kwargs", "sudachi_kwargs")
"""Keys with arguments of tokenizers and options of other libraries' tokenizers, which may name any file."""
_NAMES_A_PLACE: Final = re.compile(r"\w*_(dir|file|filename|folder|path)s?")
_NOT_READ: Final = ("_name_or_path", "name_or_path", "special_tokens_map_file", "tokenizer_file")
"""Keys with the place that a model had where it was made; transformers does not look there."""


def reaches_out(folder: str) -> tuple[str, ...]:
    """Returns what a folder would load from elsewhere, for people; nothing of most folders.

    Processors of transformers load further tokenizers from folders within, so those are searched too.
    """
    try:
        within = contents(folder)
    except TooMuch as exc:
        return (f"{exc}, and is not checked",)
    if within.strays:  # nothing is read through a link: what is found is told to whoever asks
        return tuple(sorted(within.strays))
    found: set[str] = set()
    for path in within.files:
        name = os.path.basename(path)
        if name in _CONFIGURATIONS or name.endswith(_INDEX) or _OF_A_VERSION.fullmatch(name):
            content = read_json_file(os.path.join(folder, path))
            found |= {f"{part} in {path}" for part in _outside(content)}
            found |= {f"{part} in {path}" for part in (_no_tokens(content) if name == _TOKENS else ())}
            if name.endswith(_INDEX):
                found |= {f"'{file}' in {path}" for file in _shards(content) if not _is_inside(file)}
    return tuple(sorted(found))


def read_json_file(path: str) -> Any:
    """Returns a file's JSON, or None where it has none: transformers then says so itself."""
    try:
        if not os.path.isfile(path):  # a pipe would never end
            return None
        with open(path, "rb") as file:
            content = load_json(file)
        _check_depth(content)
    except (OSError, NoJsonError):
        return None
    except (JsonError, RecursionError):
        return {"gguf_file": "values too many or too deep to be checked"}
    return content


def _check_depth(part: Any) -> None:
    """Checks that a document is not nested too deep for the checks that search it.

    Raises:
        RecursionError: It is.
    """
    for _ in _outside(part):
        pass


def _outside(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for item in part:
            yield from _outside(item)
    if not isinstance(part, Mapping):
        return
    for key, value in part.items():
        is_file = key in _NAMES_A_FILE and not _is_inside(value)
        if value and (key in _NAMES_OPTIONS or is_file or _is_elsewhere(key, value)):
            yield f"'{key}: {value}'"
        yield from _outside(value)


def _is_elsewhere(key: str, value: Any) -> bool:
    """Whether a key that names some file, or a list of files, names one that may lie outside of the folder."""
    if isinstance(value, list):
        return any(_is_elsewhere(key, one) for one in value)
    if key in _NOT_READ or not isinstance(value, str) or not _NAMES_A_PLACE.fullmatch(key):
        return False
    return value.startswith(("/", "~", "\\")) or ":" in value or ".." in re.split(r"[/\\]", value)


def _no_tokens(content: Any) -> Iterator[str]:
    """Yields what a map of special tokens says besides those."""
    for key, value in content.items() if isinstance(content, Mapping) else ():
        if value and not _IS_TOKENS.fullmatch(key):
            yield f"'{key}: {value}'"


def _shards(content: Any) -> list[Any]:
    weights = content.get("weight_map") if isinstance(content, Mapping) else None
    return list(weights.values()) if isinstance(weights, Mapping) else []


def _is_inside(name: Any) -> bool:
    return isinstance(name, str) and os.path.basename(name) == name and name not in (".", "..")
