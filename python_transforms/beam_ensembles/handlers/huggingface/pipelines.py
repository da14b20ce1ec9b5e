"""The tasks that transformers has a pipeline for: rows to the pipeline's inputs, its answers to the task's outputs.

Each function takes the loaded pipeline, one list of values an input, the node's ``inference_args`` and how many rows go
through the model at once, and gives a list of one value per row for each output. Texts go in as they are, images and
samples decoded: a pipeline opens a text that it takes for a place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.huggingface.audio import check_sounds, samples_of
from beam_ensembles.handlers.huggingface.by_length import by_length, by_size
from beam_ensembles.handlers.huggingface.lengths import (
    CUT,
    MAX_LENGTH,
    TRUNCATION,
    Text,
    check_question,
    check_texts,
    limit_of,
    token_counts,
    tokenizing,
)
from beam_ensembles.handlers.huggingface.padding_effect import counts_padding
from beam_ensembles.handlers.support.sound_files import check_together

Inputs = Mapping[str, Sequence[Any]]
Answers = Mapping[str, Sequence[Any]]

_ALL: Final = 1 << 30
"""As ``top_k``: every class there is."""
_DOCUMENT_STRIDE: Final = 256
"""How many tokens two parts of a page share that are read one after the other, at most."""
_READ_WHOLE: Final = ("text-classification", "token-classification", "zero-shot-classification")
"""Tasks whose texts are padded to go through a model together."""
_CANDIDATES: Final = "candidate_labels"
_SIGLIP: Final = 64
"""Tokens of a text for SigLIP, to which its pipeline cuts and pads."""


def classify(pipe: Any, inputs: Inputs, args: dict[str, Any], size: int) -> Answers:
    """Text, image and sound classification: what the pipeline gives for all classes, best first."""
    options = dict(args)
    most = options.pop("top_k", None)
    if "audio" in inputs:
        sounds = _sounds(pipe, inputs["audio"])
        check_sounds(pipe.feature_extractor, sounds)
        found = _of_sounds(pipe, sounds, size, {**options, "top_k": _ALL})
    else:
        items: list[Any] = list(inputs.get("text") or inputs.get("image") or ())
        if "text" in inputs:
            texts = list(zip(items, inputs["text_pair"], strict=True)) if "text_pair" in inputs else items
            check_texts(pipe.tokenizer, texts, options, CUT, most=options.get(MAX_LENGTH))
        if "text_pair" in inputs:
            items = [{"text": text, "text_pair": pair} for text, pair in texts]
        found = _answers(pipe, items, size, {**tokenizing(options), "top_k": _ALL})
    ranked = _ranked(found, most)
    return {**ranked, "probabilities": _in_class_order(pipe.model.config.id2label, found)}


def zero_shot(pipe: Any, inputs: Inputs, args: dict[str, Any], size: int) -> Answers:
    """Texts and the classes that each row, or the node, names for them."""
    texts = [text or " " for text in inputs["text"]]  # the pipeline takes an empty one for none at all
    options = {name: value for name, value in args.items() if name != TRUNCATION}
    check_texts(pipe.tokenizer, texts_read({**inputs, "text": texts}, args), args, CUT)
    found = _with_candidates(pipe, texts, inputs.get("candidate_labels"), options, size)
    ranked = [
        [{"label": label, "score": score} for label, score in zip(one["labels"], one["scores"], strict=True)]
        for one in found
    ]
    return _ranked(ranked, None)


def texts_read(inputs: Inputs, args: Mapping[str, Any]) -> list[Text]:
    """Returns what a model reads at once: texts, with their pairs, or with the hypotheses about them."""
    texts = inputs["text"]
    if "text_pair" in inputs:
        return list(zip(texts, inputs["text_pair"], strict=True))
    if _CANDIDATES not in inputs and _CANDIDATES not in args:
        return list(texts)
    rows = zip(texts, _hypotheses(inputs, args, len(texts), "This example is {}."), strict=True)
    return [(text, one) for text, row in rows for one in row]


def zero_shot_image(pipe: Any, inputs: Inputs, args: dict[str, Any], size: int) -> Answers:
    """Images and the classes that each row, or the node, names for them."""
    images = list(inputs["image"])
    each = _hypotheses(inputs, args, len(images), "This is a photo of {}.")
    texts: list[Text] = list(dict.fromkeys(text for row in each for text in row))
    most = _SIGLIP if "siglip" in pipe.model.config.model_type else None
    check_texts(
        pipe.tokenizer, texts, {}, "name shorter classes, or a shorter 'hypothesis_template'", most=most
    )
    return _ranked(_with_candidates(pipe, images, inputs.get("candidate_labels"), args, size), None)


def _hypotheses(inputs: Inputs, args: Mapping[str, Any], rows: int, template: str) -> list[list[str]]:
    """Returns the texts that a pipeline makes of each row's candidate labels."""
    given = args.get("hypothesis_template", template)
    named = args.get("candidate_labels", ())
    labels = [label.strip() for label in named.split(",")] if isinstance(named, str) else named
    return [[given.format(label) for label in row] for row in inputs.get("candidate_labels", [labels] * rows)]


def _with_candidates(
    pipe: Any, items: list[Any], candidates: Sequence[Any] | None, args: dict[str, Any], size: int
) -> list[Any]:
    """Calls a pipeline that takes one list of classes per call: once for all rows, or once per row."""
    if candidates is None:
        return _answers(pipe, items, size, args)
    if not all(candidates):
        raise NodeError("wrong_value", "a row has no candidate labels; a zero-shot task needs at least one")
    options = {name: value for name, value in args.items() if name != "candidate_labels"}
    return [
        pipe([item], batch_size=_batch(pipe, size), candidate_labels=list(labels), **options)[0]
        for item, labels in zip(items, candidates, strict=True)
    ]


def _ranked(found: Sequence[Sequence[Mapping[str, Any]]], most: int | None) -> dict[str, list[Any]]:
    if any(math.isnan(item["score"]) for one in found for item in one):
        raise NodeError("bad_output", "the model's scores are no numbers (NaN)")
    return {
        "label": [one[0]["label"] for one in found],
        "score": [one[0]["score"] for one in found],
        "labels": [[item["label"] for item in one[:most]] for one in found],
        "scores": [[item["score"] for item in one[:most]] for one in found],
    }


def _in_class_order(names: Mapping[int, str], found: Sequence[Sequence[Mapping[str, Any]]]) -> list[Any]:
    """Returns each row's scores in the order of the model's classes; none where two classes have one name."""
    order = [names[at] for at in sorted(names)]
    if len(set(order)) < len(order):
        return [None] * len(found)
    scores = [{item["label"]: item["score"] for item in one} for one in found]
    return [[one[name] for name in order] for one in scores]


def find_entities(pipe: Any, inputs: Inputs, args: dict[str, Any], size: int) -> Answers:
    """Names of people, places and the like in texts, with the characters where they stand."""
    options = {name: value for name, value in args.items() if name != TRUNCATION}
    stride = options.get("stride") or 0
    most = limit_of(pipe.tokenizer)
    if stride == 0:
        way = f"{CUT}, or have it read in parts that overlap by some tokens: 'stride: 16'"
        check_texts(pipe.tokenizer, inputs["text"], args, way)
    elif most is None or stride >= most - pipe.tokenizer.num_special_tokens_to_add():
        text = f"'stride' is {stride}; the model reads {most or 'any number of'} tokens at once"
        raise NodeError("model_error", text)
    found = _answers(pipe, inputs["text"], size, options)
    entities = [[_entity(item) for item in one] for one in found]
    parts = {"labels": "label", "scores": "score", "words": "word", "starts": "start", "ends": "end"}
    lists = {port: [[item[field] for item in one] for one in entities] for port, field in parts.items()}
    return {"entities": entities, **lists}


def _entity(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "label": item.get("entity_group", item.get("entity")),
        "score": float(item["score"]),
        "word": item["word"],
        "start": -1 if item["start"] is None else int(item["start"]),
        "end": -1 if item["end"] is None else int(item["end"]),
    }


def detect_objects(pipe: Any, inputs: Inputs, args: dict[str, Any], size: int) -> Answers:
    """Things in images, with their boxes in pixels of the image as it came."""
    corners = ("xmin", "ymin", "xmax", "ymax")
    found = pipe(list(inputs["image"]), batch_size=_batch(pipe, size), **args)
    return {
        "objects": [
            [{"label": item["label"], "score": item["score"], **item["box"]} for item in one] for one in found
        ],
        "labels": [[item["label"] for item in one] for one in found],
        "scores": [[item["score"] for item in one] for one in found],
        "boxes": [[[item["box"][corner] for corner in corners] for item in one] for one in found],
    }


def transcribe(pipe: Any, inputs: Inputs, args: dict[str, Any], size: int) -> Answers:
    """Returns the words spoken in sounds."""
    sounds = _sounds(pipe, inputs["audio"])
    check_sounds(pipe.feature_extractor, sounds, args)
    found = _of_sounds(pipe, sounds, size, args)
    chunks = [one.get("chunks") for one in found]
    return {
        "text": [one["text"] for one in found],
        "chunks": [None if one is None else [_chunk(item) for item in one] for one in chunks],
    }


def _sounds(pipe: Any, sounds: Sequence[Any]) -> list[Any]:
    rate = pipe.feature_extractor.sampling_rate
    check_together(sounds, rate, "audio")
    return [samples_of(sound, rate, "audio") for sound in sounds]


def _of_sounds(pipe: Any, sounds: Sequence[Any], size: int, args: Mapping[str, Any]) -> list[Any]:
    """Calls a pipeline with sounds of one length at a time: silence that pads a shorter one changes its answer."""
    return by_size(lambda alike: pipe(alike, batch_size=_batch(pipe, size), **args), sounds, len)


def _chunk(item: Mapping[str, Any]) -> dict[str, Any]:
    start, end = item["timestamp"]
    return {"text": item["text"], "start": start, "end": end}


def answer_from_document(pipe: Any, inputs: Inputs, args: dict[str, Any], size: int) -> Answers:
    """Questions about pages; words and boxes of the page spare the reading of its image."""
    names = [name for name in ("image", "question") if name in inputs]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(inputs[name] for name in names), strict=True)]
    if "words" in inputs:
        for row, words, boxes in zip(rows, inputs["words"], inputs["boxes"], strict=True):
            if len(words) != len(boxes):
                raise NodeError("wrong_length", f"a row has {len(words)} words, but {len(boxes)} boxes")
            row["word_boxes"] = [(word, list(box)) for word, box in zip(words, boxes, strict=True)]
            if not words:
                raise NodeError("wrong_value", "a row has no words")
    window = args.get("max_seq_len", pipe.tokenizer.model_max_length)
    stride = args.get("doc_stride", min(window // 2, _DOCUMENT_STRIDE))
    for row in rows:
        page = " ".join(word for word, _ in row.get("word_boxes", ()))
        check_question(pipe.tokenizer, row["question"], page, window, stride)
    found = [(one or [{}])[0] for one in pipe(rows, batch_size=1, **args)]
    return {
        "answer": [one.get("answer") or "" for one in found],
        "score": [one.get("score") for one in found],
        "start": [one.get("start") for one in found],
        "end": [one.get("end") for one in found],
    }


def answer_image_and_text(pipe: Any, inputs: Inputs, args: dict[str, Any], size: int) -> Answers:
    """What a model of images and texts writes for an image and a prompt, without the prompt."""
    check_texts(pipe.processor.tokenizer, inputs["text"], {}, needs_tokens=False)
    pairs = zip(inputs["image"], inputs["text"], strict=True)
    options = {"return_full_text": False, "generate_kwargs": args}
    if getattr(pipe.processor, "chat_template", None) is not None:
        found = [pipe(text=_chat(image, text), **options) for image, text in pairs]
    else:
        found = [pipe(image, text=text, **options) for image, text in pairs]
    return {"text": [item["generated_text"] for one in found for item in one]}


def continue_text(pipe: Any, inputs: Inputs, args: dict[str, Any], size: int) -> Answers:
    """What a language model writes for a prompt, without the prompt."""
    prompts: list[Any] = list(inputs["text"])
    texts = prompts
    if pipe.tokenizer.chat_template is not None:
        prompts = [[{"role": "user", "content": prompt}] for prompt in prompts]
        options = {"tokenize": False, "add_generation_prompt": True}
        texts = [pipe.tokenizer.apply_chat_template(prompt, **options) for prompt in prompts]
    written = args.get("max_new_tokens", 0)
    check_texts(pipe.tokenizer, texts, {}, written=written, needs_tokens=False)
    if (most := args.get(MAX_LENGTH)) is not None:  # the pipeline would cut the text to it, too
        way = "set 'max_new_tokens' instead of 'max_length'"
        check_texts(
            pipe.tokenizer, texts, {}, way, most=most, written=0 if written else 1, needs_tokens=False
        )
    try:
        found = _written(pipe, prompts, texts, size, args)
    except IndexError as exc:  # what PyTorch says of a token whose place the model does not know
        most = limit_of(pipe.tokenizer)
        text = f"the text and what is written after it exceed the {most} tokens of the model: set 'max_new_tokens'"
        raise NodeError("wrong_value", text) from exc
    return {"text": [item["generated_text"] for one in found for item in one]}


def _written(
    pipe: Any, prompts: list[Any], texts: Sequence[str], size: int, args: Mapping[str, Any]
) -> list[Any]:
    """Calls the pipeline with prompts, those of one length at a time where the padding between them would count."""

    def call(some: list[Any]) -> list[Any]:
        return list(pipe(some, batch_size=_batch(pipe, size), return_full_text=False, **args))

    if size == 1 or not counts_padding(pipe.model, args):
        return call(prompts)
    counted = list(zip(prompts, token_counts(pipe.tokenizer, texts), strict=True))
    return by_size(lambda some: call([prompt for prompt, _ in some]), counted, lambda pair: pair[1])


def _chat(image: Any, text: str) -> list[dict[str, Any]]:
    content = [{"type": "image", "image": image}, {"type": "text", "text": text}]
    return [{"role": "user", "content": content}]


def _answers(pipe: Any, items: Sequence[Any], size: int, args: Mapping[str, Any]) -> list[Any]:
    """Calls a pipeline with items in an order that leaves out padding; gives its answers in theirs."""
    return by_length(lambda ordered: pipe(ordered, batch_size=_batch(pipe, size), **args), items)


def _batch(pipe: Any, size: int) -> int:
    """Returns how many rows go at once: one where the tokenizer has nothing to pad shorter texts with."""
    tokenizer = pipe.tokenizer
    if tokenizer is None:
        return size
    if pipe.task in _READ_WHOLE:
        return texts_at_once(pipe, size)
    return 1 if tokenizer.pad_token_id is None else size


def texts_at_once(pipe: Any, size: int) -> int:
    """Returns how many texts may go at once: one where model and tokenizer pad with different tokens.

    Models that classify by the last word (GPT-2) or count places by it (RoBERTa) look for the padding by its id.
    """
    own = getattr(pipe.model.config.get_text_config(), "pad_token_id", None)
    return size if own is not None and own == pipe.tokenizer.pad_token_id else 1
