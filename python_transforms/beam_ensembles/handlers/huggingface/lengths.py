"""How long a text a model reads, and the error of a row whose text is longer: nothing is cut unless the node says so.

transformers cuts in some tasks and not in others, without a word. Here the limit is settled once, when a model is
loaded, as its tokenizer's ``model_max_length``; whoever encodes texts asks ``check_texts`` first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import NodeError

TRUNCATION: Final = "truncation"
MAX_LENGTH: Final = "max_length"
CUT: Final = "cut it with 'truncation: true' in inference_args"
"""What to do about a long text where a task takes the argument."""

_NO_LIMIT: Final = 1 << 40
"""Above it, ``model_max_length`` says that a tokenizer knows of none."""
_SPECIAL: Final = 8
"""More special tokens than any tokenizer puts around a text."""

Text = str | tuple[str, str]
"""One input of a tokenizer: a text, or a pair of texts."""


def settle_limit(model: Any, tokenizer: Any, own: int | None = None) -> None:
    """Have a tokenizer know how many tokens its model reads: the least of what model, tokenizer and folder say.

    Args:
        model: The loaded model.
        tokenizer: Its tokenizer, None where it reads no texts.
        own: What the folder says besides.
    """
    if tokenizer is not None:
        limits = [tokenizer.model_max_length, _positions(model), own]
        tokenizer.model_max_length = min(limit for limit in limits if limit is not None)


def lift_limit(tokenizer: Any) -> int | None:
    """Have nothing cut texts, as ``truncation: false`` says: some of transformers' pipelines cut to the limit anyway.

    Returns:
        The limit that holds for the model still; None where there is none.
    """
    limit = limit_of(tokenizer)
    tokenizer.model_max_length = 2 * _NO_LIMIT
    return limit


def _positions(model: Any) -> int | None:
    """Returns how many tokens a model has positions for; None where it counts none, as T5."""
    for name, module in model.named_modules():
        padding = getattr(module, "padding_idx", None)
        # RoBERTa's positions start behind the padding's.
        if name.endswith("position_embeddings") and padding is not None:
            return int(module.num_embeddings) - int(padding) - 1
    most = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return most if isinstance(most, int) and most > 0 else None


def limit_of(tokenizer: Any) -> int | None:
    """Returns how many tokens are read; None where there is no limit."""
    most = tokenizer.model_max_length
    return int(most) if most < _NO_LIMIT else None


def check_texts(
    tokenizer: Any,
    texts: Iterable[Text],
    args: Mapping[str, Any],
    way: str | None = None,
    *,
    most: int | None = None,
    written: int = 0,
    needs_tokens: bool = True,
) -> None:
    """Checks that a model reads texts as they are, unless its arguments say that they may be cut.

    Args:
        tokenizer: The model's.
        texts: The texts or pairs of texts, one per input of the model.
        args: The arguments; one that is called ``truncation`` says what becomes of long texts.
        way: What to do about a long text, for people; None where the node has no argument for that.
        most: How many tokens are read, where that is fewer than the tokenizer's limit.
        written: How many tokens the model writes behind a text.
        needs_tokens: Whether an answer needs a token at all.

    Raises:
        NodeError: ``wrong_value``: one is longer than the model reads, or holds no token.
    """
    limit = None if TRUNCATION in args else most or limit_of(tokenizer)
    room = None if limit is None else limit - written
    unsure = [text for text in texts if not _is_plain(tokenizer, text, room)]
    for count in token_counts(tokenizer, unsure):
        if room is not None and count > room:
            how = way or "shorten it before"
            more = f", and {written} are to be written" if written else ""
            raise NodeError("wrong_value", f"a text has {count} tokens{more}; the model reads {limit}: {how}")
        if count == 0 and needs_tokens:
            raise NodeError(
                "wrong_value", "a text is empty for the model: its tokenizer makes no token of it"
            )


def _is_plain(tokenizer: Any, text: Text, limit: int | None) -> bool:
    """Whether a text has tokens, but not too many, without counting: ASCII has no more tokens than characters."""
    parts = (text,) if isinstance(text, str) else text
    is_short = limit is None or (
        all(part.isascii() for part in parts) and sum(map(len, parts)) + _SPECIAL <= limit
    )
    return is_short and tokenizer.unk_token is not None and any(char.isalnum() for char in parts[0])


def token_counts(tokenizer: Any, texts: Sequence[Text]) -> list[int]:
    """Returns how many tokens a tokenizer makes of each text."""
    if not texts:
        return []
    found = tokenizer(
        [text if isinstance(text, str) else text[0] for text in texts],
        None if isinstance(texts[0], str) else [text[1] for text in texts],
        truncation=False,
        padding=False,
        verbose=False,
    )
    return [len(ids) for ids in found.input_ids]


def tokenizing(args: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a tokenizer's arguments: with ``max_length`` alone it would cut, but not where it pads, too."""
    return {name: value for name, value in args.items() if name != MAX_LENGTH or args.get(TRUNCATION)}


def check_question(tokenizer: Any, question: str, context: str, window: int, stride: int) -> None:
    """Checks that beside a question there is room for a part of the text that holds its answer.

    Args:
        tokenizer: The model's.
        question: The question.
        context: The text that holds its answer.
        window: How many tokens go through the model at once.
        stride: How many of them two windows share.

    Raises:
        NodeError: ``wrong_value``: there is none. The library of tokenizers would end the process.
    """
    if len(question) + _SPECIAL + stride < window and question.isascii():
        return
    used, wanted = (
        len(tokenizer(text, add_special_tokens=False, verbose=False).input_ids)
        for text in (question, context)
    )
    room = window - used - tokenizer.num_special_tokens_to_add(pair=True)
    if wanted > room and room <= stride:
        text = f"a question has {used} tokens, which leaves no room for its text: {window} are read at once"
        if room > 0:
            text += f", of which {stride} overlap; say a smaller 'doc_stride'"
        raise NodeError("wrong_value", text)
