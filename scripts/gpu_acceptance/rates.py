"""Rows per second of a node against a bare loop of PyTorch over the same batches, which does the same work."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from scripts.gpu_acceptance import models
from scripts.gpu_acceptance.setting import Figures, Setting, demand

_LEAST_OF_TEXTS: Final = 0.9
_LEAST_OF_PICTURES: Final = 0.8
_WARM: Final = 2
"""Batches before anything is timed."""


def texts(setting: Setting) -> Figures:
    """Classifies texts with a BERT-base in float32, TF32 and bfloat16; returns tokens per second of both.

    Raises:
        StepFailed: On a GPU, the node has less than 0.9 of the rate of the loop.
    """
    import torch

    model = models.bert_classifier(setting.folder / "bert", setting.sizes)
    tokenizer = _loaded("AutoTokenizer", setting, "bert")
    given = models.texts(setting.sizes)
    tokens = sum(len(ids) for ids in tokenizer(given, truncation=False).input_ids)
    found: dict[str, Any] = {"texts": len(given), "tokens": tokens}
    ways = (("float32", "highest", "float32"), ("tf32", "high", "float32"), ("bfloat16", "high", "bfloat16"))
    for way, precision, dtype in ways:
        if way == "tf32" and not setting.has_gpu:
            continue
        torch.set_float32_matmul_precision(precision)
        placed = model.to(_place(setting), getattr(torch, dtype))

        def bare(some: list[str], placed: Any = placed) -> None:
            for batch in _by_length(some, setting.sizes.batch):
                encoded = tokenizer(batch, padding=True, return_tensors="pt").to(placed.device)
                placed(**encoded).logits.float().softmax(-1).cpu()

        with torch.inference_mode():
            loop = _rate(setting, bare, given, tokens)
        placed.to("cpu")
        node = models.text_classifier(
            setting,
            inference_args={"batch_size": setting.sizes.batch},
            config={"load_pipeline_args": {"dtype": dtype}},
        )
        rate = _rate_of_node(setting, {"text": "string"}, node, {"text": given}, tokens)
        found |= {f"{way}.loop": loop, f"{way}.node": rate, f"{way}.ratio": rate / loop}
    _check(setting, found, _LEAST_OF_TEXTS)
    return found


def pictures(setting: Setting) -> Figures:
    """Describes pictures with a BLIP-base and classifies them with a CLIP-B/32; returns pictures per second of both.

    Raises:
        StepFailed: On a GPU, a node has less than 0.8 of the rate of its loop.
    """
    import torch

    given = models.pictures(setting.sizes)
    found: dict[str, Any] = {"pictures": len(given)}
    for name, loop_of, more in (("blip", _blip_loop, _blip_node), ("clip", _clip_loop, _clip_node)):
        with torch.inference_mode():
            loop = _rate(setting, loop_of(setting), given, len(given))
        outputs, args = more(setting)
        node = {
            "model": "huggingface",
            "uri": name,
            "device": setting.device,
            "inputs": {"image": "image"},
            "inference_args": {"batch_size": setting.sizes.batch, **args},
            **outputs,
        }
        rate = _rate_of_node(setting, {"image": "bytes"}, node, {"image": given}, len(given))
        found |= {f"{name}.loop": loop, f"{name}.node": rate, f"{name}.ratio": rate / loop}
    _check(setting, found, _LEAST_OF_PICTURES)
    return found


def _blip_node(setting: Setting) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"task": "image-to-text", "outputs": {"text": None}}, _blip_args(setting)


def _blip_args(setting: Setting) -> dict[str, Any]:
    """Returns what has every picture get as many tokens, so that both do the same work."""
    return {
        "max_new_tokens": setting.sizes.written,
        "min_new_tokens": setting.sizes.written,
        "do_sample": False,
    }


def _blip_loop(setting: Setting) -> Callable[[list[bytes]], None]:
    model = models.blip(setting.folder / "blip", setting.sizes).to(_place(setting))
    processor = _loaded("AutoProcessor", setting, "blip")

    def run(some: list[bytes]) -> None:
        for batch in _batches(some, setting.sizes.batch):
            encoded = processor(images=[_decoded(one) for one in batch], return_tensors="pt").to(model.device)
            processor.batch_decode(model.generate(**encoded, **_blip_args(setting)), skip_special_tokens=True)

    return run


def _clip_node(setting: Setting) -> tuple[dict[str, Any], dict[str, Any]]:
    node = {"task": "zero-shot-image-classification", "outputs": {"label": None, "scores": None}}
    return node, {"candidate_labels": list(models.LABELS)}


def _clip_loop(setting: Setting) -> Callable[[list[bytes]], None]:
    model = models.clip(setting.folder / "clip", setting.sizes).to(_place(setting))
    processor = _loaded("AutoProcessor", setting, "clip")
    labels = [f"This is a photo of {label}." for label in models.LABELS]

    def run(some: list[bytes]) -> None:
        for batch in _batches(some, setting.sizes.batch):
            encoded = processor(
                text=labels, images=[_decoded(one) for one in batch], return_tensors="pt", padding=True
            )
            model(**encoded.to(model.device)).logits_per_image.softmax(-1).cpu()

    return run


def _decoded(picture: bytes) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(picture)).convert("RGB")


def _rate(setting: Setting, call: Callable[[list[Any]], None], given: list[Any], items: int) -> float:
    """Returns items per second of a call, which is warm."""
    call(given[: _WARM * setting.sizes.batch])
    setting.synchronize()
    start = time.perf_counter()
    call(given)
    setting.synchronize()
    return items / (time.perf_counter() - start)


def _rate_of_node(
    setting: Setting, inputs: dict[str, str], node: dict[str, Any], given: dict[str, list[Any]], items: int
) -> float:
    """Returns items per second of an ensemble of one node, whose models are loaded and warm."""
    import pyarrow as pa

    from beam_ensembles import Ensemble

    with Ensemble(models.ensemble(setting.folder, inputs, node)) as loaded:
        (column,) = given
        return _rate(setting, lambda some: loaded.predict(pa.table({column: some})), given[column], items)


def _by_length(some: list[str], size: int) -> Iterator[list[str]]:
    return _batches(sorted(some, key=len), size)


def _batches(some: list[Any], size: int) -> Iterator[list[Any]]:
    return (some[at : at + size] for at in range(0, len(some), size))


def _place(setting: Setting) -> str:
    return "cuda" if setting.has_gpu else "cpu"


def _loaded(kind: str, setting: Setting, name: str) -> Any:
    import transformers

    return getattr(transformers, kind).from_pretrained(setting.folder / name)


def _check(setting: Setting, found: dict[str, Any], least: float) -> None:
    slow = {
        name: round(value, 2) for name, value in found.items() if name.endswith(".ratio") and value < least
    }
    shown = {name: round(value, 2) for name, value in found.items() if isinstance(value, float)}
    demand(
        not slow or not setting.has_gpu, f"slower than {least} of the bare loop: {slow}; measured: {shown}"
    )
