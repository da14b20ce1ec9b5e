"""Tasks that a model writes the answer to: summarization, translation, image-to-text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.handlers.huggingface.arguments import GENERATION
from beam_ensembles.handlers.huggingface.lengths import CUT, TRUNCATION, check_texts
from beam_ensembles.handlers.huggingface.loaded import Loaded, batches, split_arguments

_PREFIX: Final = "prefix"
_OWN: Final = frozenset((_PREFIX, TRUNCATION, *GENERATION))
"""What a model's configuration may say: no more than a node, since ``generate`` runs code of a folder where told to."""


def summarize(
    loaded: Loaded, inputs: Mapping[str, Sequence[Any]], args: dict[str, Any], size: int
) -> Mapping[str, Any]:
    """Writes a summary of each text."""
    return {"text": _write(loaded, inputs["text"], {**_own(loaded.model, "summarization"), **args}, size)}


def translate(
    loaded: Loaded, inputs: Mapping[str, Sequence[Any]], args: dict[str, Any], size: int
) -> Mapping[str, Any]:
    """Translates each text; ``src_lang`` and ``tgt_lang`` tell a model of several languages which ones."""
    languages, others = split_arguments(("src_lang", "tgt_lang"), args)
    source, target = languages.get("src_lang"), languages.get("tgt_lang")
    options = {**_own(loaded.model, f"translation_{source}_to_{target}"), **others}
    if source is not None and hasattr(loaded.tokenizer, "src_lang"):
        _language_id(loaded.tokenizer, source)  # an unknown one would become the token of unknown words
        loaded.tokenizer.src_lang = source
    elif source is not None and _PREFIX not in options:
        raise NodeError(
            "model_error", f"the model has no option for the language '{source}'; leave 'src_lang' out"
        )
    if target is not None and _PREFIX not in options:
        options.setdefault("forced_bos_token_id", _language_id(loaded.tokenizer, target))
    return {"text": _write(loaded, inputs["text"], options, size)}


def _language_id(tokenizer: Any, language: str) -> int:
    """Returns the token that starts a text of a language."""
    if hasattr(tokenizer, "get_lang_id"):
        found = tokenizer.lang_code_to_id.get(language)
    else:
        found = tokenizer.convert_tokens_to_ids(language)
    if found is None or found == tokenizer.unk_token_id:
        raise NodeError("model_error", f"the model's tokenizer knows no language '{language}'")
    return int(found)


def describe(
    loaded: Loaded, inputs: Mapping[str, Sequence[Any]], args: dict[str, Any], size: int
) -> Mapping[str, Any]:
    """Writes a text about each image; a prompt is what the text begins with."""
    images, prompts = list(inputs["image"]), inputs.get("text")
    if prompts is None:
        parts = ({"images": images[part]} for part in batches(len(images), size))
        return {"text": [text for part in parts for text in _described(loaded, part, args)]}
    check_texts(loaded.tokenizer, prompts, {}, needs_tokens=False)
    found = [
        _described(loaded, {"images": [image], "text": [prompt]}, args)
        for image, prompt in zip(
            images, prompts, strict=True
        )  # together, shorter prompts would be padded in front
    ]
    return {"text": [text for texts in found for text in texts]}


def _described(loaded: Loaded, parts: dict[str, Any], args: dict[str, Any]) -> list[str]:
    return loaded.write(loaded.encode(**parts), args)


def _own(model: Any, task: str) -> dict[str, Any]:
    """Returns what a model's configuration says about a task, as T5's do: generation's arguments and ``prefix``.

    Raises:
        NodeError: It says more than a node may.
    """
    own = dict((getattr(model.config, "task_specific_params", None) or {}).get(task) or {})
    more = sorted(own.keys() - _OWN)
    if more:
        text = f"'task_specific_params' of the model's config.json sets {listed(more)} for '{task}'"
        raise NodeError("model_error", f"{text}; leave that out (allowed: {listed(sorted(_OWN))})")
    return own


def _write(loaded: Loaded, texts: Sequence[str], args: dict[str, Any], size: int) -> list[str]:
    options, generation = split_arguments((TRUNCATION, _PREFIX), args)
    prefix = options.get(_PREFIX, "")
    found: list[str] = []
    whole = [prefix + text for text in texts]
    check_texts(loaded.tokenizer, whole, options, CUT)
    for part in batches(len(texts), size):
        encoded = loaded.encode(text=whole[part], padding=True, truncation=options.get(TRUNCATION, False))
        encoded.pop("token_type_ids", None)
        found += loaded.write(encoded, generation)
    return found
