"""Models of the run, made here from transformers' default configurations with random weights, and their nodes."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from scripts.gpu_acceptance.setting import Setting, Sizes

_PAD, _UNKNOWN, _FIRST, _END, _MASK = 0, 100, 101, 102, 103
_WORDS: Final = 30_524
"""Words of BLIP's text model; BERT knows two fewer."""
CLASSES: Final = ("bad", "neutral", "good")
LABELS: Final = tuple(f"w{number}" for number in range(200, 210))
"""The classes among which CLIP chooses."""


def bert_classifier(folder: Path, sizes: Sizes) -> Any:
    """Saves a BERT-base that classifies texts, with its tokenizer.

    Returns:
        The model.
    """
    import torch
    import transformers

    config = transformers.BertConfig(
        vocab_size=_WORDS,
        id2label=dict(enumerate(CLASSES)),
        label2id={name: at for at, name in enumerate(CLASSES)},
        **sizes.text_model,
    )
    torch.manual_seed(0)
    model: Any = transformers.BertForSequenceClassification(config).eval()
    model.save_pretrained(folder)
    _bert_tokenizer().save_pretrained(folder)
    return model


def blip(folder: Path, sizes: Sizes) -> Any:
    """Saves a BLIP-base that describes pictures, with its processor.

    Returns:
        The model.
    """
    import torch
    import transformers

    text = {"sep_token_id": _END, "eos_token_id": _END, "bos_token_id": _FIRST, "pad_token_id": _PAD}
    small = {"projection_dim": 16} if sizes.tower else {}
    width = {"encoder_hidden_size": sizes.tower["hidden_size"]} if sizes.tower else {}
    config = transformers.BlipConfig(
        text_config={**text, **sizes.tower, **small, **width},
        vision_config={"image_size": sizes.side, **sizes.tower, **small},
        **small,
    )
    torch.manual_seed(0)
    model: Any = transformers.BlipForConditionalGeneration(config).eval()
    model.save_pretrained(folder)
    images = transformers.BlipImageProcessor(size={"height": sizes.side, "width": sizes.side})
    transformers.BlipProcessor(images, _bert_tokenizer()).save_pretrained(folder)
    return model


def clip(folder: Path, sizes: Sizes) -> Any:
    """Saves a CLIP-B/32, with its processor.

    Returns:
        The model.
    """
    import torch
    import transformers

    from tests.support.transformers_models import word_tokenizer

    names = {"unk_token": "<unk>", "bos_token": "<start>", "eos_token": "<end>", "pad_token": "<end>"}
    tokenizer = word_tokenizer(names)
    small = {"projection_dim": 16} if sizes.tower else {}
    side = 32 if sizes.tower else 224
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = transformers.CLIPConfig(
        text_config={**ends, **sizes.tower, **small},
        vision_config={"image_size": side, **sizes.tower, **small},
        **small,
    )
    torch.manual_seed(0)
    model: Any = transformers.CLIPModel(config).eval()
    model.save_pretrained(folder)
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": side}, crop_size={"height": side, "width": side}
    )
    transformers.CLIPProcessor(images, tokenizer).save_pretrained(folder)
    return model


def _bert_tokenizer() -> Any:
    """Creates BERT's tokenizer, with words of our own in the places of its words."""
    import transformers

    special = {_PAD: "[PAD]", _UNKNOWN: "[UNK]", _FIRST: "[CLS]", _END: "[SEP]", _MASK: "[MASK]"}
    words = {special.get(at, f"w{at}"): at for at in range(_WORDS)}
    return transformers.BertTokenizerFast(vocab=words, model_max_length=512)


def texts(sizes: Sizes) -> list[str]:
    """Returns texts of many lengths, the same in every run."""
    draw = random.Random(0)  # noqa: S311 - nothing secret
    return [
        " ".join(f"w{draw.randrange(200, 30_000)}" for _ in range(draw.randint(8, sizes.words)))
        for _ in range(sizes.texts)
    ]


def pictures(sizes: Sizes) -> list[bytes]:
    """Returns JPEG files of different pictures."""
    import io

    import numpy as np
    from PIL import Image

    draw, found = np.random.default_rng(0), []
    for _ in range(sizes.pictures):
        coarse = draw.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        file = io.BytesIO()
        Image.fromarray(coarse).resize((sizes.side, sizes.side)).save(file, "JPEG")
        found.append(file.getvalue())
    return found


def ensemble(
    folder: Path, inputs: Mapping[str, str], node: Mapping[str, Any], name: str = "ensemble.yaml"
) -> Path:
    """Writes an ensemble of one node; returns its file."""
    path = folder / name
    document = {"ensemble": "acceptance", "inputs": dict(inputs), "nodes": {"node": dict(node)}}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def text_classifier(setting: Setting, **more: Any) -> dict[str, Any]:
    """Returns a node that classifies texts with the model in the folder ``bert``."""
    return {
        "model": "huggingface",
        "uri": "bert",
        "task": "text-classification",
        "device": setting.device,
        "inputs": {"text": "text"},
        "outputs": {"label": None, "probabilities": f"array<double>[{len(CLASSES)}]"},
        **more,
    }
