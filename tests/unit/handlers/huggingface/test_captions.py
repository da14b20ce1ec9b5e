"""Captions of images, the best of them found by another model: processors and models of tensors in one ensemble."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from beam_ensembles.errors import InvalidEnsemble, NodeError
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import Columns
from beam_ensembles.registry import KINDS
from tests.support.media import objects, pixels, png
from tests.support.nodes import load_node

if TYPE_CHECKING:
    from tests.support.transformers_models import Models

CAPTIONS: dict[str, dict[str, Any]] = {
    "blip_input": {
        "apply": "processor",
        "uri": "blip",
        "inputs": {"images": "picture"},
        "outputs": {"blip_pixels": {"from": "pixel_values", "type": "array<float>[3,32,32]"}},
    },
    "blip": {
        "model": "huggingface",
        "uri": "blip",
        "model_class": "transformers.BlipForConditionalGeneration",
        "method": "generate",
        "device": "cpu",
        "samples": 5,
        "inputs": {"pixel_values": "blip_pixels"},
        "inference_args": {"max_length": 8, "min_length": 3, "num_return_sequences": 5, "num_beams": 5},
        "outputs": {"ids": "array<array<int64>>"},
    },
    "words": {
        "apply": "processor",
        "uri": "blip",
        "call": "batch_decode",
        "inputs": ["ids"],
        "outputs": {"captions": None},
    },
    "clip_input": {
        "apply": "processor",
        "uri": "clip",
        "inputs": {"text": "captions", "images": "picture"},
        "outputs": {
            "tokens": {"from": "input_ids"},
            "mask": {"from": "attention_mask"},
            "clip_pixels": {"from": "pixel_values", "type": "array<float>[3,32,32]"},
        },
    },
    "clip": {
        "model": "huggingface",
        "uri": "clip",
        "model_class": "transformers.CLIPModel",
        "device": "cpu",
        "per_row": True,
        "inputs": {"input_ids": "tokens", "attention_mask": "mask", "pixel_values": "clip_pixels"},
        "outputs": {"logits": {"from": "logits_per_image", "type": "array<float>"}},
    },
    "probabilities": {"apply": "softmax", "inputs": ["logits"], "outputs": {"p": None}},
}
"""The nodes of the captions ensemble, with small models; it reads ``picture``."""


def run_all(
    root: Path, nodes: Mapping[str, Any], inputs: Mapping[str, str], columns: Columns
) -> dict[str, Any]:
    """Runs every node of an ensemble over a batch, and gives all columns."""
    text = json.dumps({"ensemble": "captions", "inputs": dict(inputs), "nodes": dict(nodes)})
    found = dict(columns)
    for node in check_text(text, KINDS, Files(str(root), (str(root),))).nodes:
        member = KINDS[(node.spec.kind, node.spec.target)].load(node)
        found.update(member({name: found[name] for name in node.inputs}))
    return found


def test_each_image_has_its_own_captions_and_scores(models: Models) -> None:
    import torch
    import transformers

    blip, clip = models("blip"), models("clip")
    images = [pixels(seed, 40, 40) for seed in (1, 2, 3)]
    found = run_all(blip.parent, CAPTIONS, {"picture": "bytes"}, {"picture": objects(*map(png, images))})
    blip_processor = transformers.AutoProcessor.from_pretrained(blip)
    writer = transformers.BlipForConditionalGeneration.from_pretrained(blip)
    clip_processor = transformers.AutoProcessor.from_pretrained(clip)
    judge = transformers.CLIPModel.from_pretrained(clip)
    for image, captions, p in zip(images, found["captions"], found["p"], strict=True):
        ids = writer.generate(
            blip_processor(images=image, return_tensors="pt").pixel_values,
            max_length=8, min_length=3, num_return_sequences=5, num_beams=5,
        )  # fmt: skip
        assert captions == [
            text.strip() for text in blip_processor.batch_decode(ids, skip_special_tokens=True)
        ]
        with torch.no_grad():
            encoded = clip_processor(text=captions, images=image, padding=True, return_tensors="pt")
            wanted = judge(**encoded).logits_per_image[0].softmax(0).numpy()
        np.testing.assert_allclose(p, wanted, rtol=1e-3)
        assert sum(p) == pytest.approx(1)


def test_a_row_without_captions_has_no_tokens(models: Models) -> None:
    node = CAPTIONS["clip_input"]
    member = load_node(models("clip").parent, {"captions": "array<string>", "picture": "bytes"}, node)
    image = png(pixels(1))
    found = member({"captions": objects([], ["a dog", "a red cat"]), "picture": objects(image, image)})
    assert found["tokens"][0] == found["mask"][0] == []
    assert [len(ids) for ids in found["tokens"][1]] == [5, 5]
    assert found["mask"][1] == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    np.testing.assert_array_equal(found["clip_pixels"][0], found["clip_pixels"][1])


def test_another_number_of_texts_than_said_is_refused(models: Models) -> None:
    node = {
        **CAPTIONS["blip"],
        "samples": 2,
        "inference_args": {"max_length": 8, "num_beams": 2, "num_return_sequences": 2},
    }
    member = load_node(models("blip").parent, {"blip_pixels": "array<float>[3,32,32]"}, node)
    member.inference_args["num_return_sequences"] = 1  # type: ignore[attr-defined]
    with pytest.raises(NodeError, match="2 items for 2 rows") as caught:
        member({"blip_pixels": np.zeros((2, 3, 32, 32), np.float32)})
    assert caught.value.code == "misaligned"


def test_ids_of_different_lengths_are_padded_behind_a_mask(models: Models) -> None:
    node = {
        "model": "huggingface",
        "uri": "classifier",
        "model_class": "transformers.BertForSequenceClassification",
        "device": "cpu",
        "inputs": {"input_ids": "ids"},
        "outputs": {"logits": "array<float>[3]"},
    }
    member = load_node(models("classifier").parent, {"ids": "array<int64>"}, node)
    rows = [[2, 5, 7, 3], [2, 5, 3], [2, 8, 9, 10, 11, 3]]
    together = member({"ids": objects(*rows)})["logits"]
    alone = np.concatenate([member({"ids": objects(row)})["logits"] for row in rows])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-6)


def test_a_model_that_writes_on_is_padded_in_front(models: Models) -> None:
    node = {
        "model": "huggingface",
        "uri": "gpt2",
        "model_class": "transformers.AutoModelForCausalLM",
        "method": "generate",
        "device": "cpu",
        "inputs": {"input_ids": "ids"},
        "inference_args": {"max_new_tokens": 4, "pad_token_id": 0},
        "outputs": {"written": "array<int64>"},
    }
    member = load_node(models("gpt2").parent, {"ids": "array<int64>"}, node)
    rows = [[5, 7, 9], [8], [12, 13]]
    together = [ids[-4:] for ids in member({"ids": objects(*rows)})["written"]]
    assert together == [member({"ids": objects(row)})["written"][0][-4:] for row in rows]


def test_ids_go_to_a_model_and_texts_come_back(models: Models) -> None:
    nodes = {
        "tokens": {
            "apply": "processor",
            "uri": "t5",
            "inputs": {"text": "text"},
            "outputs": {"ids": {"from": "input_ids"}, "mask": {"from": "attention_mask"}},
        },
        "model": {
            "model": "huggingface",
            "uri": "t5",
            "model_class": "transformers.T5ForConditionalGeneration",
            "method": "generate",
            "device": "cpu",
            "inputs": {"input_ids": "ids", "attention_mask": "mask"},
            "inference_args": {"max_new_tokens": 5},
            "outputs": {"written": "array<int64>"},
        },
        "words": {
            "apply": "processor",
            "uri": "t5",
            "call": "batch_decode",
            "inputs": ["written"],
            "outputs": {"summary": None},
        },
    }
    texts = objects("the film was good .", "awful")
    found = run_all(models("t5").parent, nodes, {"text": "string"}, {"text": texts})
    task = {
        "model": "huggingface", "uri": "t5", "task": "summarization", "device": "cpu", "inputs": ["text"],
        "inference_args": {"max_new_tokens": 5, "prefix": ""}, "outputs": {"text_out": {"from": "text"}},
    }  # fmt: skip
    wanted = load_node(models("t5").parent, {"text": "string"}, task)({"text": texts})["text_out"]
    assert found["summary"].tolist() == wanted.tolist()


def test_what_a_model_does_not_give_is_named(models: Models) -> None:
    node = {
        **CAPTIONS["clip"],
        "per_row": False,
        "inputs": {"pixel_values": "clip_pixels"},
        "method": "get_image_features",
        "outputs": {"logits": "array<float>"},
    }
    with pytest.raises(
        InvalidEnsemble, match=r"returned no 'logits' .*pooler_output"
    ):  # as made-up rows show
        load_node(models("clip").parent, {"clip_pixels": "array<float>[3,32,32]"}, node)
    member = load_node(
        models("clip").parent, {"clip_pixels": "array<float>[3,32,32]"}, {**node, "trial": False}
    )
    with pytest.raises(NodeError, match=r"returned no 'logits' .*pooler_output"):
        member({"clip_pixels": np.zeros((2, 3, 32, 32), np.float32)})
