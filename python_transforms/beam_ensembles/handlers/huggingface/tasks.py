"""The table of tasks: what each reads and gives, with types; checks, documentation and running all read it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

from beam_ensembles.handlers.huggingface import (
    embeddings,
    generation,
    pipelines,
    spans,
    visual_questions,
)
from beam_ensembles.handlers.huggingface.arguments import GENERATION
from beam_ensembles.handlers.huggingface.media import BOXES, IMAGE, SOUND, TEXT, TEXTS, Media
from beam_ensembles.types import DOUBLE, FLOAT, INT64, STRING, Array, Row, Type


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """Something that a task reads.

    Attributes:
        media: What it is.
        description: One sentence for people.
        required: Whether the task needs it.
    """

    media: Media
    description: str
    required: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """Something that a task gives.

    Attributes:
        type: Its type; a list of any length may be declared with the length that the model gives.
        description: One sentence for people.
    """

    type: Type
    description: str


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """A value of ``task``.

    Attributes:
        summary: What it does, for people.
        inputs: What it reads, by port.
        outputs: What it gives, by port.
        arguments: Which ``inference_args`` it takes, besides ``batch_size``.
        run: Called with the loaded model or pipeline, one list per port, the arguments and how many rows go at once.
        rows: How many rows go through the model at once where the node does not say.
        model_class: transformers' class that loads the model; None where its own pipeline does all.
        architectures: How the names of the models end that are made for it; empty where that says nothing.
        class_start: How the name of one of the model's classes starts; None where they may be any.
        needs: The argument that it cannot be without, unless a port of that name is connected.
        many: Whether ``samples`` asks for several answers a row.
        pads: Whether texts are padded to go through the model together, and the padding may change its answers.
    """

    summary: str
    inputs: Mapping[str, Input]
    outputs: Mapping[str, Output]
    arguments: tuple[str, ...]
    run: Callable[[Any, Mapping[str, Any], dict[str, Any], int], Mapping[str, Any]]
    rows: int = 32
    model_class: str | None = None
    architectures: tuple[str, ...] = ()
    class_start: str | None = None
    needs: str | None = None
    many: bool = False
    pads: bool = False


_TEXT: Final = Input(TEXT, "The text.")
_IMAGE: Final = Input(IMAGE, "The image.")
_CANDIDATES: Final = Input(TEXTS, "The classes to choose among, where each row has its own.", required=False)
_CHOICE: Final = {
    "label": Output(STRING, "The class with the highest score."),
    "score": Output(DOUBLE, "Its score."),
    "labels": Output(Array(STRING), "The classes, the one with the highest score first."),
    "scores": Output(Array(DOUBLE), "Their scores, in the same order."),
}
_CLASSES: Final = {
    **_CHOICE,
    "probabilities": Output(
        Array(DOUBLE), "The scores of all classes, in the order of the model's configuration."
    ),
}
_CLASSIFYING: Final = ("function_to_apply", "top_k")
_TRUNCATING: Final = ("max_length", "truncation")
_ENTITY: Final = Row(
    (("label", STRING), ("score", DOUBLE), ("word", STRING), ("start", INT64), ("end", INT64))
)
_OBJECT: Final = Row(
    (("label", STRING), ("score", DOUBLE), ("xmin", INT64), ("ymin", INT64), ("xmax", INT64), ("ymax", INT64))
)
_CHUNK: Final = Row((("text", STRING), ("start", DOUBLE.optional()), ("end", DOUBLE.optional())))
_WRITTEN: Final = {"text": Output(STRING, "What the model wrote; with 'samples' a list of texts.")}
_ANSWER: Final = {
    "answer": Output(STRING, "The answer; empty where there is none."),
    "score": Output(DOUBLE, "Its score."),
    "start": Output(INT64, "Where it starts."),
    "end": Output(INT64, "Where it ends."),
}

TASKS: Final[Mapping[str, Task]] = {
    "audio-classification": Task(
        "Says what is heard.",
        {"audio": Input(SOUND, "The sound.")},
        _CLASSES,
        _CLASSIFYING,
        pipelines.classify,
        rows=8,
        architectures=("ForSequenceClassification", "ForAudioClassification"),
    ),
    "automatic-speech-recognition": Task(
        "Writes down what is said.",
        {"audio": Input(SOUND, "The sound.")},
        {
            "text": Output(STRING, "What is said."),
            "chunks": Output(Array(_CHUNK), "Its parts, in seconds; needs 'return_timestamps'."),
        },
        ("chunk_length_s", "return_timestamps", "stride_length_s", "language", "task", *GENERATION),
        pipelines.transcribe,
        rows=8,
    ),
    "document-question-answering": Task(
        "Answers a question about a page.",
        {
            "image": Input(IMAGE, "The page; tesseract reads it where 'words' are not given.", required=False),
            "question": Input(TEXT, "The question."),
            "words": Input(TEXTS, "The page's words.", required=False),
            "boxes": Input(BOXES, "The box of each word: left, top, right, bottom, 0 to 1000.", required=False),
        },
        {
            **_ANSWER,
            "start": Output(INT64, "The index of its first word."),
            "end": Output(INT64, "The index of its last word."),
        },
        (
            "doc_stride", "handle_impossible_answer", "lang", "max_answer_len", "max_question_len", "max_seq_len",
            "padding",
        ),
        pipelines.answer_from_document,
        rows=1,
    ),
    "feature-extraction": Task(
        "Gives a vector a text.",
        {"text": _TEXT},
        {
            "embedding": Output(Array(FLOAT), "One vector a text: the tokens', pooled."),
            "tokens": Output(Array(Array(FLOAT)), "One vector a token."),
        },
        ("normalize", "pooling", "prompt", *_TRUNCATING),
        embeddings.embed,
        pads=True,
    ),
    "image-classification": Task(
        "Says what an image shows.",
        {"image": _IMAGE},
        _CLASSES,
        _CLASSIFYING,
        pipelines.classify,
        rows=16,
        architectures=("ForImageClassification",),
    ),
    "image-text-to-text": Task(
        "Writes a text for an image and a prompt.",
        {"image": _IMAGE, "text": Input(TEXT, "The prompt.")},
        _WRITTEN,
        GENERATION,
        pipelines.answer_image_and_text,
        rows=1,
        many=True,
    ),
    "image-to-text": Task(
        "Describes an image.",
        {"image": _IMAGE, "text": Input(TEXT, "What the description begins with.", required=False)},
        _WRITTEN,
        GENERATION,
        generation.describe,
        rows=8,
        model_class="AutoModelForImageTextToText",
        many=True,
    ),
    "object-detection": Task(
        "Finds things in an image.",
        {"image": _IMAGE},
        {
            "labels": Output(Array(STRING), "What was found."),
            "scores": Output(Array(DOUBLE), "The scores, in the same order."),
            "boxes": Output(Array(Array(INT64, (4,))), "Left, top, right and bottom in pixels, in the same order."),
            "objects": Output(Array(_OBJECT), "All of that, a row a thing."),
        },
        ("threshold",),
        pipelines.detect_objects,
        rows=4,
        architectures=("ForObjectDetection",),
    ),
    "question-answering": Task(
        "Finds the answer to a question in a text.",
        {"question": Input(TEXT, "The question."), "context": Input(TEXT, "The text that holds the answer.")},
        {
            **_ANSWER,
            "start": Output(INT64, "The character of the context with which it starts, from 0."),
            "end": Output(INT64, "The character after its last."),
        },
        tuple(spans.OPTIONS),
        spans.answer,
        model_class="AutoModelForQuestionAnswering",
        architectures=("ForQuestionAnswering", "ForQuestionAnsweringSimple"),
        pads=True,
    ),
    "summarization": Task(
        "Writes a summary of a text.",
        {"text": _TEXT},
        _WRITTEN,
        ("prefix", "truncation", *GENERATION),
        generation.summarize,
        rows=8,
        model_class="AutoModelForSeq2SeqLM",
        many=True,
        pads=True,
    ),
    "text-classification": Task(
        "Says what kind of text a text is.",
        {"text": _TEXT, "text_pair": Input(TEXT, "A second text, for models of pairs.", required=False)},
        _CLASSES,
        (*_CLASSIFYING, *_TRUNCATING),
        pipelines.classify,
        architectures=("ForSequenceClassification",),
        pads=True,
    ),
    "text-generation": Task(
        "Goes on writing a text; a model of chats answers it.",
        {"text": Input(TEXT, "The prompt.")},
        _WRITTEN,
        GENERATION,
        pipelines.continue_text,
        rows=8,
        many=True,
        pads=True,
    ),
    "token-classification": Task(
        "Finds names of people, places and the like in a text.",
        {"text": _TEXT},
        {
            "entities": Output(Array(_ENTITY), "What was found, a row each."),
            "labels": Output(Array(STRING), "What each is."),
            "scores": Output(Array(DOUBLE), "The scores, in the same order."),
            "words": Output(Array(STRING), "How each is written, as the tokenizer has it."),
            "starts": Output(Array(INT64), "The character each starts with, from 0; -1 if not known."),
            "ends": Output(Array(INT64), "The character after its last."),
        },
        ("aggregation_strategy", "ignore_labels", "stride", "truncation"),
        pipelines.find_entities,
        architectures=("ForTokenClassification",),
        pads=True,
    ),
    "translation": Task(
        "Translates a text.",
        {"text": _TEXT},
        _WRITTEN,
        ("prefix", "src_lang", "tgt_lang", "truncation", *GENERATION),
        generation.translate,
        rows=8,
        model_class="AutoModelForSeq2SeqLM",
        many=True,
        pads=True,
    ),
    "visual-question-answering": Task(
        "Answers a question about an image.",
        {"image": _IMAGE, "question": Input(TEXT, "The question.")},
        {
            "answer": Output(STRING, "The answer."),
            "score": Output(DOUBLE, "Its score; only of models that choose among answers, as ViLT."),
            "answers": Output(Array(STRING), "All answers that such a model knows, the most likely first."),
            "scores": Output(Array(DOUBLE), "Their scores, in the same order."),
        },
        ("top_k", "truncation", *(name for name in GENERATION if name not in ("top_k", "num_return_sequences"))),
        visual_questions.answer,
        rows=8,
        model_class="AutoModelForVisualQuestionAnswering",
    ),
    "zero-shot-classification": Task(
        "Says which of some classes a text belongs to, which the model was not trained for.",
        {"text": _TEXT, "candidate_labels": _CANDIDATES},
        _CHOICE,
        ("candidate_labels", "hypothesis_template", "multi_label", "truncation"),
        pipelines.zero_shot,
        architectures=("ForSequenceClassification",),
        class_start="entail",
        needs="candidate_labels",
        pads=True,
    ),
    "zero-shot-image-classification": Task(
        "Says which of some classes an image shows, which the model was not trained for.",
        {"image": _IMAGE, "candidate_labels": _CANDIDATES},
        _CHOICE,
        ("candidate_labels", "hypothesis_template"),
        pipelines.zero_shot_image,
        rows=16,
        needs="candidate_labels",
    ),
}  # fmt: skip
"""Every task that a ``huggingface`` node may name."""
