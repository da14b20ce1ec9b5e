"""Finds what the configuration of a transformers folder would read outside of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.files.bounded_json import JsonError, NoJsonError, load_json
from beam_ensembles.files.local_files import TooMuch, contents

_CONFIGURATIONS: Final = ("byte_maps.json", "special_tokens_map.json", "speaker_embeddings_path.json")
_IS_CONFIGURATION: Final = re.compile(r"\w*config(\..*)?\.json")
"""Files such as ``tokenizer_config.json``, and ``config.4.0.0.json``, which transformers takes instead where
``configuration_files`` says so."""
READ: Final = ("*config*.json", "*.index.json", *(f"*{name}" for name in _CONFIGURATIONS))
"""Patterns of the files that are looked through, as the hub takes them."""
_TOKENS: Final = "special_tokens_map.json"
"""A tokenizer's arguments, which transformers takes last: one of them may be the place of its vocabulary."""
_IS_TOKENS: Final = re.compile(r"\w+_tokens?")
_INDEX: Final = ".index.json"
_NAMES_A_FILE: Final = ("gguf_file", "transformers_weights")
"""Keys that name a file to load instead of the folder's own."""
_NAMES_OPTIONS: Final = (
    "checkpoint_path", "init_inputs", "jumanpp_kwargs", "mecab_kwargs", "megatron_config", "sudachi_kwargs",
    "tesseract_config", "tokenizer_kwargs",
)  # fmt: skip
"""Keys with arguments of tokenizers, and of other libraries and programs, which may name any file or module."""
_HOLDS_WORDS: Final = ("decompose_map", "entity_vocab", "merge_map", "merges", "vocab")
"""Keys with a tokenizer's words themselves, where tokenizers takes a text for the name of their file."""
_NAMES_A_CLASS: Final = (
    "feature_extractor_type", "image_processor_type", "processor_class", "tokenizer_class", "video_processor_type"
)  # fmt: skip
_IS_CLASS: Final = re.compile(r"\w*(Backend|FeatureExtractor|Processor|ProcessorWithLM|Tokenizer)(Fast|Pil)?")
"""Which classes they name: transformers would load any that it has, models with all that those load too."""
_NAMES_A_PLACE: Final = re.compile(r"\w*_(dir|file|filename|folder|path|spm)s?|ocr_lang")
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
        if name in _CONFIGURATIONS or name.endswith(_INDEX) or _IS_CONFIGURATION.fullmatch(name):
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
        if value and (key in _NAMES_OPTIONS or _is_elsewhere(key, value) or _is_no_such(key, value)):
            yield f"'{key}: {value}'"
        yield from _outside(value)


def _is_elsewhere(key: str, value: Any) -> bool:
    """Whether a key that names some file, or a list of files, names one that may lie outside of the folder."""
    if isinstance(value, list):
        return any(_is_elsewhere(key, one) for one in value)
    if key in _NOT_READ or not isinstance(value, str) or not _NAMES_A_PLACE.fullmatch(key):
        return False
    return value.startswith(("/", "~", "\\")) or ":" in value or ".." in re.split(r"[/\\]", value)


def _is_no_such(key: str, value: Any) -> bool:
    """Whether a key has something else than what it is for."""
    if key in _NAMES_A_FILE:
        return not _is_inside(value)
    if key in _NAMES_A_CLASS:
        return not isinstance(value, str) or _IS_CLASS.fullmatch(value) is None
    return key in _HOLDS_WORDS and isinstance(value, str)


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
