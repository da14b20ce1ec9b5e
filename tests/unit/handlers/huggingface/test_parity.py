"""A node gives exactly what Beam's own Hugging Face handlers give in a bare RunInference."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from beam_ensembles.beam_repairs import inference_imports
from tests.support.media import noise, pixels, png
from tests.support.parity import assert_parity

if TYPE_CHECKING:
    from tests.support.transformers_models import Models

TEXTS = ["the film was good .", "awful", "what is this film about ? anna lives in paris"]
PICTURES = [pixels(1), pixels(2), pixels(3, 60, 30)]
SOUNDS = [noise(1, 8_000), noise(2, 12_000), noise(3, 16_000)]
CORNERS = ("xmin", "ymin", "xmax", "ymax")


def best(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"label": found["label"], "score": found["score"]}


def first(found: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return {
        **best(found[0]),
        "labels": [item["label"] for item in found],
        "scores": [item["score"] for item in found],
    }


def zero_shot(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"label": found["labels"][0], "labels": found["labels"], "scores": found["scores"]}


def entities(found: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return {
        "labels": [item["entity"] for item in found],
        "scores": [float(item["score"]) for item in found],
        "words": [item["word"] for item in found],
        "starts": [item["start"] for item in found],
        "ends": [item["end"] for item in found],
    }


def things(found: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return {
        "labels": [item["label"] for item in found],
        "scores": [item["score"] for item in found],
        "boxes": [[item["box"][corner] for corner in CORNERS] for item in found],
    }


def embedding(found: Sequence[Sequence[Sequence[float]]]) -> Mapping[str, Any]:
    return {"embedding": np.asarray(found[0], dtype=np.float32).mean(axis=0)}


def written(found: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return {"text": found[0]["generated_text"]}


def as_list(given: Mapping[str, Any], batch: Sequence[Any], pipe: Any, args: dict[str, Any]) -> Any:
    """Behind ``KeyedModelHandler`` Beam's own function gives the pipeline a tuple, which is taken for one example."""
    return pipe(list(batch), **given, **args)


def size_of(batch: Sequence[Any]) -> int:
    """Beam's tensor handler measures a mapping, where it has a tensor (2.77)."""
    return sum(tensor.nbytes for tensor in batch)


LABELS = {"candidate_labels": ["sport", "politics", "a film"]}
WRITING = {"max_new_tokens": 4, "do_sample": False}
RANKED = ("label", "score", "labels", "scores")
SPANS = ("labels", "scores", "words", "starts", "ends")
CASES: list[tuple[str, str, str, Mapping[str, Any], Sequence[str], Callable[[Any], Mapping[str, Any]]]] = [
    ("text-classification", "classifier", "text", {}, ("label", "score"), best),
    ("zero-shot-classification", "entailment", "text", LABELS, ("label", "labels", "scores"), zero_shot),
    ("token-classification", "entities", "text", {}, SPANS, entities),
    ("feature-extraction", "encoder", "text", {}, ("embedding",), embedding),
    ("image-classification", "vit", "image", {}, RANKED, first),
    ("object-detection", "yolos", "image", {"threshold": 0.1}, ("labels", "scores", "boxes"), things),
    ("zero-shot-image-classification", "clip", "image", LABELS, RANKED, first),
    ("audio-classification", "sounds", "audio", {}, RANKED, first),
    ("text-generation", "gpt2", "text", {**WRITING, "return_full_text": False}, ("text",), written),
    ("automatic-speech-recognition", "wav2vec2", "audio", {}, ("text",), dict),
    ("automatic-speech-recognition", "whisper", "audio", {"num_beams": 2}, ("text",), dict),
]
ROWS: dict[str, tuple[str, list[Any], Callable[[], list[Any]]]] = {
    "text": ("string", TEXTS, lambda: TEXTS),
    "image": ("bytes", [png(picture) for picture in PICTURES], lambda: _opened(PICTURES)),
    "audio": ("array<double>", [sound.tolist() for sound in SOUNDS], lambda: SOUNDS),
}


def _opened(pictures: Sequence[Any]) -> list[Any]:
    from PIL import Image

    return [Image.open(io.BytesIO(png(picture))) for picture in pictures]


@pytest.mark.parametrize(
    ("task", "model", "port", "args", "names", "values"),
    CASES,
    ids=[f"{case[0]}-{case[1]}" for case in CASES],
)
def test_a_task_gives_what_beams_pipeline_handler_gives(
    models: Models,
    task: str,
    model: str,
    port: str,
    args: Mapping[str, Any],
    names: Sequence[str],
    values: Callable[[Any], Mapping[str, Any]],
) -> None:
    beam = inference_imports.import_handlers("huggingface_inference")
    folder = models(model)
    handler = beam.HuggingFacePipelineModelHandler(
        task, str(folder), device="CPU", inference_fn=functools.partial(as_list, args)
    )
    type_, rows, examples = ROWS[port]
    node = {
        "model": "huggingface",
        "task": task,
        "uri": model,
        "device": "cpu",
        "inputs": {port: "x"},
        "outputs": dict.fromkeys(names),
        "inference_args": {name: value for name, value in args.items() if name != "return_full_text"}
        | {"batch_size": 1},
    }
    given = [{"x": value} for value in rows]
    assert_parity(folder.parent, {"x": type_}, node, given, handler, examples(), values=values)


IDS = [[2, 5, 7, 8, 9, 3], [2, 5, 7, 8, 10, 3], [2, 12, 14, 13, 7, 3]]


@pytest.mark.parametrize("columns", ["listed", "named"])
def test_a_model_class_gives_what_beams_tensor_handlers_give(models: Models, columns: str) -> None:
    import torch
    import transformers

    beam = inference_imports.import_handlers("huggingface_inference")
    folder, model_class = models("classifier"), transformers.BertForSequenceClassification
    node = {
        "model": "huggingface",
        "uri": "classifier",
        "model_class": "transformers.BertForSequenceClassification",
        "device": "cpu",
        "batch": {"max": 1},  # sums of larger batches are rounded otherwise
        "inputs": ["ids"] if columns == "listed" else {"input_ids": "ids"},
        "outputs": {"logits": "array<float>[3]"},
    }
    tensors = [torch.tensor(row) for row in IDS]
    if columns == "listed":
        handler, examples = (
            beam.HuggingFaceModelHandlerTensor(str(folder), model_class, max_batch_size=1),
            tensors,
        )
        handler.get_num_bytes = size_of
    else:
        handler = beam.HuggingFaceModelHandlerKeyedTensor(str(folder), model_class, "pt", max_batch_size=1)
        examples = [{"input_ids": row} for row in tensors]
    rows = [{"ids": row} for row in IDS]
    assert_parity(
        folder.parent,
        {"ids": "array<int64>[6]"},
        node,
        rows,
        handler,
        examples,
        values=lambda found: {"logits": found["logits"].numpy()},
    )
