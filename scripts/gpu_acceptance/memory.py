"""Batches and models that the device's memory does not hold, and the cost of copies to the device."""

from __future__ import annotations

import time
from typing import Any, Final

from scripts.gpu_acceptance import models
from scripts.gpu_acceptance.setting import Figures, Setting, demand

_FRACTION: Final = 0.1
_FLOWERS: Final = {"x": "array<double>[4]"}
_ROWS: Final = 150
_LEFT: Final = 64 << 20
"""Bytes that a nearly full device has left; a BERT-base needs 440 million."""
_TIMES: Final = 5


def out_of_memory(setting: Setting) -> Figures:
    """Scores a batch ten times as large as memory holds; returns how many rows went at once in the end.

    Raises:
        StepFailed: A row failed, or has another answer.
    """
    import numpy as np
    import torch

    from beam_ensembles import Ensemble
    from tests.support.models import iris
    from tests.support.pytorch_models import make_pytorch

    make_pytorch(setting.folder)
    model = {"model_class": "tests.support.pytorch_models.Greedy", "model_params": {"most": _ROWS // 10}}
    if setting.has_gpu:
        torch.cuda.set_per_process_memory_fraction(_FRACTION)
        free = int(torch.cuda.get_device_properties(0).total_memory * _FRACTION)
        model = {"model_class": "tests.support.pytorch_models.Hoarder", "model_params": {"row": free // 15}}
    node = {"model": "pytorch", "uri": "flowers.pt", "device": setting.device, "inputs": ["x"],
            "outputs": {"y": "array<float>[3]"}}  # fmt: skip
    rows = [{"x": row.tolist()} for row in iris().x]
    flowers = {"model_class": "tests.support.pytorch_models.Flowers"}
    answers = []
    for more in (flowers, model):
        with Ensemble(models.ensemble(setting.folder, _FLOWERS, {**node, **more})) as loaded:
            scored, failed = loaded.predict(rows, errors="split")
            demand(not failed, f"{len(failed)} rows failed: {failed[0] if failed else ''}")
            answers.append(np.array([row["y"] for row in scored]))
    difference = float(np.abs(answers[0] - answers[1]).max())
    demand(difference < 1e-4, f"answers of a batch that was split differ by {difference}")
    return {"rows": len(rows), "difference": difference}


def nearly_full(setting: Setting) -> Figures:
    """Loads a model where its device has no room; ``gpu`` must refuse, and ``auto`` must say that it takes the CPU.

    Raises:
        StepFailed: ``gpu`` loads nevertheless, so that the model lies elsewhere, or ``auto`` does not load.
    """
    import torch

    from beam_ensembles import Ensemble
    from beam_ensembles.errors import InvalidEnsemble

    models.bert_classifier(setting.folder / "bert", setting.sizes)
    held: Any = None
    if setting.has_gpu:
        free, _ = torch.cuda.mem_get_info()
        held = torch.empty(free - _LEFT, dtype=torch.uint8, device="cuda")
    node = {**models.text_classifier(setting), "device": "gpu"}
    text = ""
    try:
        with Ensemble(models.ensemble(setting.folder, {"text": "string"}, node)) as loaded:
            loaded.predict([{"text": "w200 w201"}])
    except InvalidEnsemble as error:
        text = str(error)
    demand(bool(text), "'device: gpu' has loaded a model for which the device has no room")
    with Ensemble(models.ensemble(setting.folder, {"text": "string"}, {**node, "device": "auto"})) as loaded:
        (answer,) = loaded.predict([{"text": "w200 w201"}])
    demand(answer["label"] in models.CLASSES, "'device: auto' gives no answer")
    del held
    return {"gpu_says": text.splitlines()[-1].strip()}


def copies(setting: Setting) -> Figures:
    """Times copies of a batch to the device, of memory as it comes and of pinned memory; returns milliseconds."""
    import numpy as np
    import torch

    place = "cuda" if setting.has_gpu else "cpu"
    values = np.random.default_rng(0).random(setting.sizes.copied // 4, dtype=np.float32)
    found = {
        "copied_first": _milliseconds(setting, lambda: torch.tensor(values).to(place)),
        "shared": _milliseconds(setting, lambda: torch.from_numpy(values).to(place)),
    }
    if setting.has_gpu:
        pinned = torch.empty(values.shape, dtype=torch.float32, pin_memory=True)
        pinned.numpy()[:] = values
        found["pinned"] = _milliseconds(setting, lambda: pinned.to(place, non_blocking=True))
        pin = torch.from_numpy(values).pin_memory
        found["pinned_first"] = _milliseconds(setting, lambda: pin().to(place, non_blocking=True))
    return {"bytes": setting.sizes.copied, **found}


def _milliseconds(setting: Setting, copy: Any) -> float:
    copy()
    setting.synchronize()
    start = time.perf_counter()
    for _ in range(_TIMES):
        copy()
    setting.synchronize()
    return (time.perf_counter() - start) * 1_000 / _TIMES
