"""``question-answering``: the part of a text that answers a question.

A long text is cut into windows that overlap. In each, the model gives every token a score as the answer's start and
one as its end; among the spans of tokens of the text that are not too long, the one with the greatest product of the
two probabilities is the window's answer, and the best window's is the text's. This is how transformers 4's pipeline
decoded answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.huggingface.lengths import check_question
from beam_ensembles.handlers.huggingface.loaded import Loaded, batches
from beam_ensembles.handlers.support.arguments import Values

OPTIONS: Final[Mapping[str, Any]] = {
    "align_to_words": True,
    "doc_stride": 128,
    "handle_impossible_answer": False,
    "max_answer_len": 15,
    "max_seq_len": 384,
}
"""The task's arguments and what holds without them: those of transformers 4's pipeline."""

_HIDDEN: Final = -1e4


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """An answer: characters ``start`` to ``end`` of its text; nothing where both are 0."""

    score: float
    start: int = 0
    end: int = 0


def answer(
    loaded: Loaded, inputs: Mapping[str, Sequence[Any]], args: dict[str, Any], size: int
) -> Mapping[str, Any]:
    """Answers the question of each row from its context."""
    options = {**OPTIONS, **args}
    contexts = list(inputs["context"])
    spans = _best_spans(loaded, list(inputs["question"]), contexts, options, size)
    return {
        "answer": [context[span.start : span.end] for context, span in zip(contexts, spans, strict=True)],
        "score": [span.score for span in spans],
        "start": [span.start for span in spans],
        "end": [span.end for span in spans],
    }


def _best_spans(
    loaded: Loaded, questions: list[str], contexts: list[str], options: Mapping[str, Any], size: int
) -> list[Span]:
    windows = _windows(loaded.tokenizer, questions, contexts, options, padding=size > 1)
    starts, ends = _scores(loaded, windows, size)
    best: list[Span | None] = [None] * len(contexts)
    nothing = [1.0] * len(contexts)
    for at, row in enumerate(windows["overflow_to_sample_mapping"]):
        span, none = _span(windows, at, starts[at], ends[at], options, loaded.tokenizer.cls_token_id)
        nothing[row] = min(nothing[row], none)
        current = best[row]
        if span is not None and (current is None or span.score > current.score):
            best[row] = span
    if not options["handle_impossible_answer"]:
        return [span or Span(0.0) for span in best]
    chosen = zip(best, nothing, strict=True)
    return [Span(none) if span is None or none > span.score else span for span, none in chosen]


def _windows(
    tokenizer: Any, questions: list[str], contexts: list[str], options: Mapping[str, Any], *, padding: bool
) -> Any:
    if not tokenizer.is_fast:
        raise NodeError(
            "model_error", "question answering needs a tokenizer that knows the positions of its tokens"
        )
    longest = min(tokenizer.model_max_length, options["max_seq_len"])
    stride = min(options["doc_stride"], longest // 2)
    for question, context in zip(questions, contexts, strict=True):
        check_question(tokenizer, question, context, longest, stride)
    return tokenizer(
        questions,
        contexts,
        truncation="only_second",
        max_length=longest,
        stride=stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        padding=padding,
    )


def _scores(loaded: Loaded, windows: Any, size: int) -> tuple[list[Values], list[Values]]:
    """Runs the model on all windows; gives the scores of each window's tokens as start and as end."""
    import torch

    names = [name for name in loaded.tokenizer.model_input_names if name in windows]
    starts: list[Values] = []
    ends: list[Values] = []
    for part in batches(len(windows["input_ids"]), size):
        given = {name: torch.tensor(windows[name][part], device=loaded.model.device) for name in names}
        found = loaded.model(**given)
        starts += list(found.start_logits.float().cpu().numpy())
        ends += list(found.end_logits.float().cpu().numpy())
    return starts, ends


def _span(
    windows: Any, at: int, start: Values, end: Values, options: Mapping[str, Any], none: int | None
) -> tuple[Span | None, float]:
    """Returns the best span of a window and the probability that it holds no answer.

    ``none`` is the id of the token that stands for no answer; None where the tokenizer has none, as T5's and GPT-2's.
    """
    in_context = np.array([part == 1 for part in windows.sequence_ids(at)])
    seen = in_context | (np.array(windows["input_ids"][at]) == (-1 if none is None else none))
    start_probability, end_probability = (_probabilities(one, seen) for one in (start, end))
    nothing = float(start_probability[0] * end_probability[0])
    if not in_context.any():
        return None, nothing
    start_probability[~in_context] = end_probability[~in_context] = 0.0
    products = np.triu(np.outer(start_probability, end_probability))
    products = np.tril(products, options["max_answer_len"] - 1)
    first_token, last_token = np.unravel_index(int(products.argmax()), products.shape)
    score = float(products[first_token, last_token])
    begin, finish = _characters(windows, at, int(first_token), int(last_token), options["align_to_words"])
    return Span(score, begin, finish), nothing


def _probabilities(scores: Values, seen: Values) -> Values:
    """Softmax over the tokens of the context and the one that stands for no answer."""
    hidden = np.where(seen, scores.astype(np.float64), _HIDDEN)
    powers = np.exp(hidden - hidden.max())
    return np.asarray(powers / powers.sum())


def _characters(windows: Any, at: int, first: int, last: int, to_words: bool) -> tuple[int, int]:
    offsets = windows["offset_mapping"][at]
    begin, finish = offsets[first][0], offsets[last][1]
    words = windows.word_ids(at)
    if not to_words or words[first] is None or words[last] is None:
        return begin, finish
    start = windows.word_to_chars(at, words[first], sequence_index=1)
    end = windows.word_to_chars(at, words[last], sequence_index=1)
    return start.start, end.end
