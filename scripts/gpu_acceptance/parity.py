"""The same answers on the device as on the processor, over tasks: tiny models, batches against single rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final

from scripts.gpu_acceptance.models import ensemble
from scripts.gpu_acceptance.setting import Figures, Setting, demand

_ROWS: Final = 24
_CLOSE: Final = 1e-4
_CLEAR: Final = 0.05
"""Labels are compared where the processor's two best scores differ by more: bfloat16 has three digits."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Case:
    """A task.

    Attributes:
        task: Its name.
        model: The folder of ``transformers_models``.
        inputs: What it reads, with types.
        outputs: The outputs that are compared, with types.
        args: Its ``inference_args``.
    """

    task: str
    model: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str | None]
    args: Mapping[str, Any] = dataclasses.field(default_factory=dict)


_RANKED: Final = {"label": None, "scores": None}
_CHOICE: Final = {"candidate_labels": ["sport", "politics", "film"]}
_CASES: Final = (
    _Case("text-classification", "classifier", {"text": "string"}, _RANKED),
    _Case("token-classification", "entities", {"text": "string"}, {"labels": None, "scores": None}),
    _Case(
        "question-answering", "answers", {"question": "string", "context": "string"},
        {"answer": None, "score": None, "start": None},
    ),
    _Case("feature-extraction", "encoder", {"text": "string"}, {"embedding": None}),
    _Case("zero-shot-classification", "entailment", {"text": "string"}, _RANKED, _CHOICE),
    _Case("image-classification", "vit", {"image": "bytes"}, _RANKED),
    _Case("zero-shot-image-classification", "clip", {"image": "bytes"}, _RANKED, _CHOICE),
)  # fmt: skip


def parity(setting: Setting) -> Figures:
    """Compares answers of float32 to 1e-4 and of bfloat16 by label; returns the greatest difference of each task.

    Raises:
        StepFailed: They differ by more.
    """
    from tests.support.transformers_models import Models

    models, found = Models(setting.folder), {}
    for case in _CASES:
        models(case.model)
        here = _answers(setting, case, device="cpu", rows=1)
        there = _answers(setting, case, device=setting.device, rows=8)
        found[f"{case.task}.difference"] = _difference(case.task, here, there)
        if "label" in case.outputs:
            brain = _answers(setting, case, device=setting.device, rows=8, dtype="bfloat16")
            found[f"{case.task}.bfloat16_labels"] = _same_labels(case.task, here, brain)
    return found


def _answers(
    setting: Setting, case: _Case, *, device: str, rows: int, dtype: str = "float32"
) -> list[dict[str, Any]]:
    from beam_ensembles import Ensemble

    node: dict[str, Any] = {
        "model": "huggingface",
        "uri": case.model,
        "task": case.task,
        "device": device,
        "inputs": {port: port for port in case.inputs},
        "outputs": dict(case.outputs),
        "inference_args": {"batch_size": rows, **case.args},
    }
    has_pipeline = case.task != "question-answering"
    node["config"] = {"load_pipeline_args" if has_pipeline else "load_model_args": {"dtype": dtype}}
    if not has_pipeline:
        del node["inference_args"]["batch_size"]
    with Ensemble(ensemble(setting.folder, case.inputs, node)) as loaded:
        found: list[dict[str, Any]] = loaded.predict(_given(case))
    return [{name: row[name] for name in case.outputs} for row in found]


def _given(case: _Case) -> list[dict[str, Any]]:
    from tests.support.media import pixels, png
    from tests.support.transformers_models import WORDS

    words = [word for word in WORDS[5:] if word.isalpha()]
    texts = [
        " ".join(words[(at * 7 + step * 3) % len(words)] for step in range(3 + at % 9)) for at in range(_ROWS)
    ]
    values: dict[str, list[Any]] = {
        "text": texts,
        "context": [f"anna lives in paris and wrote {text}" for text in texts],
        "question": ["who lives in paris ?"] * _ROWS,
        "image": [png(pixels(seed)) for seed in range(_ROWS)],
    }
    return [{name: values[name][at] for name in case.inputs} for at in range(_ROWS)]


def _difference(task: str, here: list[dict[str, Any]], there: list[dict[str, Any]]) -> float:
    """Returns the greatest difference between numbers; all else must be equal."""
    greatest = 0.0
    pairs = list(zip(_leaves(here), _leaves(there), strict=False))
    demand(
        len(list(_leaves(here))) == len(list(_leaves(there))), f"{task}: other lengths than on the processor"
    )
    for one, other in pairs:
        if isinstance(one, float) and isinstance(other, float):
            greatest = max(greatest, abs(one - other))
        else:
            demand(one == other, f"{task}: {other!r}, and on the processor {one!r}")
    demand(greatest <= _CLOSE, f"{task}: differs by {greatest:.2g} from the processor, allowed: {_CLOSE}")
    return greatest


def _same_labels(task: str, here: list[dict[str, Any]], there: list[dict[str, Any]]) -> int:
    """Returns how many labels were compared."""
    clear = [
        (one["label"], other["label"])
        for one, other in zip(here, there, strict=True)
        if one["scores"][0] - one["scores"][1] > _CLEAR
    ]
    differ = sum(one != other for one, other in clear)
    demand(differ == 0, f"{task}: {differ} of {len(clear)} labels differ in bfloat16")
    return len(clear)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _leaves(part)
    elif hasattr(value, "tolist"):
        yield from _leaves(value.tolist())
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    else:
        yield value
