"""Whether padding changes what a model answers: then only rows of one length may go through it together.

No configuration says so. FNet and ConvBERT mix the padding into the text, XLNet classifies by the last token, and
models that count places from the first token, such as BERT, count the padding too where a tokenizer puts it in front.
So a model is asked once, when it is loaded, about a short text alone and beside a longer one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.handlers.huggingface.padding import padded

_TEXTS: Final = ("one", "one two three four five six seven eight nine ten")
_LENGTHS: Final = (3, 11)
"""How many ids stand in for such texts where there is no tokenizer."""
_ROUNDING: Final = 1e-3
"""How far answers differ by rounding alone, relative to the largest number of one; halves differ by more."""
_COARSE_ROUNDING: Final = 0.05

Tensors = Mapping[str, Any]


def changes_texts(model: Any, tokenizer: Any) -> bool:
    """Returns whether a text's answer depends on the padding that a longer text beside it needs.

    Args:
        model: A loaded model that reads texts.
        tokenizer: Its tokenizer; one without a padding token never pads.
    """
    if tokenizer is None or tokenizer.pad_token_id is None:
        return False
    names = tokenizer.model_input_names
    encoded = [
        tokenizer(texts, padding=len(texts) > 1, return_tensors="pt")
        for texts in (list(_TEXTS[:1]), list(_TEXTS))
    ]
    alone, together = ({name: one[name].to(model.device) for name in names if name in one} for one in encoded)
    if not model.can_generate():
        return _differs(model, model.dtype, alone, together)
    if model.config.is_encoder_decoder:
        return _differs(model.get_encoder(), model.dtype, alone, together)
    return changes_written(model, together["input_ids"], encoded[1]["attention_mask"].to(model.device))


def changes_ids(model: Any, call: Callable[..., Any] | None, pad: int) -> bool:
    """Returns whether the answer for a list of ids depends on the padding that a longer list beside it needs.

    Args:
        model: A loaded model.
        call: The function that takes ``input_ids``; None for what the model writes behind them.
        pad: The id of the padding token.
    """
    import torch

    size = getattr(model.config.get_text_config(), "vocab_size", 0)
    lists = [[(pad + 1 + at) % size for at in range(length)] for length in _LENGTHS if size > length]
    if len(lists) < len(_LENGTHS):
        return False
    rows = np.empty(len(lists), dtype=object)
    rows[:] = lists
    alone, together = (
        {
            name: torch.tensor(values, device=model.device)
            for name, values in padded({"input_ids": ids}, pad, left=call is None).items()
        }
        for ids in (rows[:1], rows)
    )
    if call is None:
        return changes_written(model, together["input_ids"], together["attention_mask"])
    return _differs(call, model.dtype, alone, together)


def changes_written(model: Any, ids: Any, mask: Any) -> bool:
    """Returns whether what a model writes behind a text depends on the padding in front of it.

    Most models count places from the first token that the mask shows. RWKV and XLNet read the padding.

    Args:
        model: A loaded model that goes on writing what it reads.
        ids: Two texts of different lengths, the first one padded in front to the length of the second ``[2, tokens]``.
        mask: Which of them are tokens.
    """
    import torch
    from transformers import GenerationConfig

    config = GenerationConfig(
        max_new_tokens=2,
        min_new_tokens=2,
        do_sample=False,
        pad_token_id=0,
        output_logits=True,
        return_dict_in_generate=True,
    )
    start = int((mask[0] == 0).sum())
    try:
        with torch.inference_mode():
            wanted, found = (
                model.generate(input_ids=some, attention_mask=shown, generation_config=config).logits
                for some, shown in ((ids[:1, start:], mask[:1, start:]), (ids, mask))
            )
    except Exception:  # a model that takes more than texts says so when it gets rows
        return False
    return any(
        not _close(one[0].float(), other[0].float(), model.dtype)
        for one, other in zip(wanted, found, strict=True)
    )


def counts_padding(model: Any, args: Mapping[str, Any]) -> bool:
    """Returns whether arguments of ``generate`` count the padding in front of a text with the text.

    Args:
        model: A loaded model that goes on writing what it reads; its own configuration says what ``args`` do not.
        args: The arguments of the call.
    """
    said = {**model.generation_config.to_diff_dict(), **args}
    lengths = (("max_length", "max_new_tokens"), ("min_length", "min_new_tokens"))
    if any(said.get(length) and said.get(new) is None for length, new in lengths):
        return True
    return said.get("repetition_penalty") not in (None, 1.0) or bool(said.get("no_repeat_ngram_size"))


def _differs(call: Callable[..., Any], dtype: Any, alone: Tensors, together: Tensors) -> bool:
    """Compares what a model answers for the first row alone and beside the second one, where it answers at all."""
    import torch

    try:
        with torch.inference_mode():
            wanted, found = (_first(call(**dict(given)))[0].float() for given in (alone, together))
    except Exception:  # a model that takes more than texts says so when it gets rows
        return False
    length = together["input_ids"].shape[1]
    if found.ndim > 1 and found.shape[0] == length and wanted.shape[0] != length:
        found = found[together["attention_mask"][0].bool()] if "attention_mask" in together else found
    if found.shape != wanted.shape:
        return True
    return not _close(wanted, found, dtype)


def _close(wanted: Any, found: Any, dtype: Any) -> bool:
    """Whether two answers differ by rounding alone."""
    import torch

    allowed = _ROUNDING if torch.finfo(dtype).eps < _ROUNDING / 2 else _COARSE_ROUNDING
    return bool((found - wanted).abs().max() <= allowed * wanted.abs().max())


def _first(answer: Any) -> Any:
    return answer if hasattr(answer, "shape") else answer[0]
