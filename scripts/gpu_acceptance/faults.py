"""Rows that a model cannot take: they fail alone, and the process goes on."""

from __future__ import annotations

from typing import Any

from scripts.gpu_acceptance import models
from scripts.gpu_acceptance.setting import Figures, Setting, demand


def long_text(setting: Setting) -> Figures:
    """Scores a batch with a text that is too long, then a good one; returns what the long one's error says.

    Raises:
        StepFailed: Another row failed, or the good batch did.
    """
    from beam_ensembles import Ensemble

    models.bert_classifier(setting.folder / "bert", setting.sizes)
    good = [{"text": text} for text in models.texts(setting.sizes)[:32]]
    long = {"text": " ".join(["w200"] * 600)}
    file = models.ensemble(setting.folder, {"text": "string"}, models.text_classifier(setting))
    with Ensemble(file) as loaded:
        before = _labels(loaded.predict(good))
        scored, failed = loaded.predict([*good, long], errors="split")
        demand(len(failed) == 1, f"{len(failed)} rows failed where one is too long")
        demand(_labels(scored) == before, "rows beside the long text have other answers")
        demand(_labels(loaded.predict(good)) == before, "the batch after it has other answers")
    return {"error": f"{failed[0]['error_code']}: {failed[0]['error_msg']}"}


def _labels(rows: list[dict[str, Any]]) -> list[Any]:
    return [row["label"] for row in rows]
