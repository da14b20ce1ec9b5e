"""``visual-question-answering``: models that choose among answers they know (ViLT) or write one (BLIP)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beam_ensembles.handlers.huggingface.lengths import CUT, TRUNCATION, check_texts
from beam_ensembles.handlers.huggingface.loaded import Loaded, batches, split_arguments


def answer(
    loaded: Loaded, inputs: Mapping[str, Sequence[Any]], args: dict[str, Any], size: int
) -> Mapping[str, Any]:
    """Answers the question of each row about its image."""
    images, questions = inputs["image"], inputs["question"]
    check_texts(loaded.tokenizer, questions, args, CUT)
    truncation, options = split_arguments((TRUNCATION,), args)
    most = options.pop("top_k", None) if not loaded.model.can_generate() else None
    found: list[list[tuple[str, float | None]]] = []
    one_by_one = loaded.model.can_generate()  # BLIP looks at the padding of a shorter question, too
    for part in batches(len(images), 1 if one_by_one else size):
        encoded = loaded.encode(
            images=list(images[part]), text=list(questions[part]), padding=True, **truncation
        )
        if loaded.model.can_generate():
            found += [[(text, None)] for text in loaded.write(encoded, options)]
        else:
            found += _chosen(loaded.model, encoded)
    return {
        "answer": [one[0][0] for one in found],
        "score": [one[0][1] for one in found],
        "answers": [[text for text, _ in one[:most]] for one in found],
        "scores": [[score for _, score in one[:most]] for one in found],
    }


def _chosen(model: Any, encoded: Mapping[str, Any]) -> list[list[tuple[str, float | None]]]:
    """Returns all answers that the model knows, best first; each has a probability of its own."""
    scores = model(**encoded).logits.float().sigmoid().cpu()
    order = scores.argsort(dim=1, descending=True, stable=True)
    names = model.config.id2label
    return [
        [(names[at], score) for at, score in zip(places.tolist(), one[places].tolist(), strict=True)]
        for places, one in zip(order, scores, strict=True)
    ]
