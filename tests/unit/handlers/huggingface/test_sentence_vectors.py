"""Folders of sentence-transformers: their vectors are the library's, or the folder is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import transformers

from beam_ensembles.errors import EnsembleError, NodeError
from tests.support.media import objects
from tests.support.nodes import load_node
from tests.support.transformers_models import bert_tokenizer
from tests.unit.handlers.huggingface.test_tasks import node_of

if TYPE_CHECKING:
    from tests.support.transformers_models import Models

TEXTS = ["the film was good .", "Awful", "who lives in Paris ?"]
OLD, NEW = "sentence_transformers.models.", "sentence_transformers.base.modules.x."
POOLING = "1_Pooling/config.json"
LENGTH = "sentence_bert_config.json"
PROMPTS = "config_sentence_transformers.json"
Files = Mapping[str, Any]


def modules(*names: str, of: str = OLD, **paths: str) -> dict[str, Any]:
    listed = [{"type": of + name, "path": paths.get(name, "")} for name in names]
    return {"modules.json": listed}


def sentences(models: Models, tmp_path: Path, files: Files) -> Path:
    """Returns a folder of an encoder, whose tokenizer keeps capitals, with files of sentence-transformers."""
    folder = tmp_path / "sentences"
    shutil.copytree(models("encoder"), folder)
    bert_tokenizer(do_lower_case=False).save_pretrained(folder)
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return folder


def embedded(folder: Path, **args: Any) -> Any:
    node = node_of(folder.name, "feature-extraction", ["text"], ["embedding"], inference_args=args)
    return load_node(folder.parent, {"text_in": "string"}, node)({"text_in": objects(*TEXTS)})["embedding"]


SAID: list[tuple[Files, str, dict[str, Any]]] = [
    ({POOLING: {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}}, "cls", {}),
    ({POOLING: {"pooling_mode_mean_tokens": False}}, "mean", {}),
    ({POOLING: {"embedding_dimension": 16, "pooling_mode": "cls"}}, "cls", {}),
    ({POOLING: {"pooling_mode": "lasttoken", "include_prompt": True}}, "last", {}),
    ({POOLING: {"pooling_mode": ["max"]}}, "max", {}),
    (
        {**modules("Transformer", "Pooling", Pooling="2_Pool"), "2_Pool/config.json": {"pooling_mode": "max"}},
        "max",
        {},
    ),
    (
        {**modules("Transformer", "Pooling", "Normalize", of=NEW), POOLING: {"pooling_mode": "cls"}},
        "cls",
        {"norm": True},
    ),
    ({LENGTH: {"max_seq_length": 30, "do_lower_case": True}}, "mean", {"lower": True}),
    ({PROMPTS: {"prompts": {"query": "is it ? "}, "default_prompt_name": "query"}}, "mean", {"prompt": "is it ? "}),
    ({PROMPTS: {"prompts": {"query": "is it ? "}, "default_prompt_name": None}}, "mean", {}),
]  # fmt: skip


@pytest.mark.parametrize(("files", "pooling", "wanted"), SAID)
def test_vectors_are_made_as_the_folder_says(
    models: Models, tmp_path: Path, files: Files, pooling: str, wanted: dict[str, Any]
) -> None:
    folder = sentences(models, tmp_path, files)
    model = transformers.AutoModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for text, found in zip(TEXTS, embedded(folder), strict=True):
        whole = wanted.get("prompt", "") + (text.lower() if wanted.get("lower") else text)
        with torch.no_grad():
            tokens = model(**tokenizer(whole, return_tensors="pt")).last_hidden_state[0].numpy()
        vector = {
            "mean": tokens.mean(axis=0), "cls": tokens[0], "max": tokens.max(axis=0), "last": tokens[-1]
        }[pooling]  # fmt: skip
        length = np.linalg.norm(vector) if wanted.get("norm") else 1
        np.testing.assert_allclose(found, vector / length, rtol=1e-3, atol=1e-5)


def test_the_node_says_otherwise(models: Models, tmp_path: Path) -> None:
    prompts = {"prompts": {"query": "is it ? "}, "default_prompt_name": "query"}
    files = {POOLING: {"pooling_mode": ["mean", "max"], "include_prompt": False}, PROMPTS: prompts}
    folder = sentences(models, tmp_path, files)
    plain = sentences(models, tmp_path / "plain", {})
    np.testing.assert_array_equal(embedded(folder, pooling="max", prompt=""), embedded(plain, pooling="max"))


@pytest.mark.parametrize("name", ["bert", "distilbert", "xlm-roberta"])
def test_a_folder_says_how_many_tokens_it_reads(models: Models, tmp_path: Path, name: str) -> None:
    folder = sentences(models, tmp_path, {f"sentence_{name}_config.json": {"max_seq_length": 5}})
    with pytest.raises(NodeError, match="the model reads 5"):
        embedded(folder)


REFUSED: list[tuple[Files, str]] = [
    ({POOLING: {"pooling_mode_mean_sqrt_len_tokens": True}}, "it pools by mean_sqrt_len_tokens, .* set 'pooling'"),
    ({POOLING: {"pooling_mode_of_tomorrow": True}}, "it pools by pooling_mode_of_tomorrow"),
    ({POOLING: {"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}}, "it pools by cls, max"),
    ({POOLING: {"pooling_mode": ["mean", "max"]}}, "it pools by mean, max"),
    ({POOLING: {"pooling_mode": "weightedmean"}}, "it pools by weightedmean"),
    (modules("Transformer", "Pooling", "Dense"), "calls Transformer, Pooling, Dense one after the other"),
    (modules("Transformer", "Pooling", "Pooling"), "calls Transformer, Pooling, Pooling one after"),
    (modules("Transformer", "Pooling", Pooling="../elsewhere"), "which is not a folder in it"),
    (
        {
            POOLING: {"pooling_mode": "mean", "include_prompt": False},
            PROMPTS: {"prompts": {"query": "is it ? "}, "default_prompt_name": "query"},
        },
        "leaves its prompt 'is it . ' out of the average; set 'prompt'",
    ),
    ({LENGTH: {"transformer_task": "fill-mask"}}, "its vectors are made of 'fill-mask'"),
    (
        {LENGTH: {"modality_config": {"text": {"method": "get_text_features", "method_output_name": "x"}}}},
        "its vectors are made of 'x'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("files", "said"), REFUSED)
def test_a_folder_does_no_more_than_the_task(models: Models, tmp_path: Path, files: Files, said: str) -> None:
    folder = sentences(models, tmp_path, files)
    with pytest.raises(EnsembleError, match=f"{said}.*, or run the model in code of your own"):
        embedded(folder)
