"""The calls example: what it gets right of held-out calls, what becomes of a broken recording, public models."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from examples.calls import pipeline, summary
from scripts.examples.table import EXAMPLES
from tests.support.transformers_fixture import models
from tests.support.transformers_models import Models

__all__ = ("models",)

(CALLS,) = [example for example in EXAMPLES if example.name == "calls"]
Answers = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def recommended(rows: Path, output: Path, *flags: str) -> Answers:
    """Runs the pipeline; gives what it recommends and what it could not hear."""
    pipeline.main([f"--input={rows}", f"--output={output}", "--runner=FnApiRunner", *flags])
    files = (output, output.with_name(f"{output.name}.errors"))
    scored, failed = ([json.loads(line) for line in file.read_text().splitlines()] for file in files)
    return scored, failed


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What the example's own models say of all its calls."""
    CALLS.make_models()
    return recommended(CALLS.input, tmp_path_factory.mktemp("calls") / "recommended.jsonl")


def test_most_calls_are_heard_and_recommended_right(found: Answers) -> None:
    rows, _ = found
    assert len(rows) == CALLS.scored
    shares = summary.shares(rows)
    assert shares["transcript"] >= 0.9
    assert shares["recommendation"] >= 0.9


def test_every_recommendation_is_made(found: Answers) -> None:
    rows, _ = found
    assert len({row["recommendation"] for row in rows} - {"ask_a_person"}) == 6


def test_a_file_that_is_no_audio_is_one_error(found: Answers) -> None:
    _, failed = found
    (row,) = failed
    assert (row["id"], row["node"], row["code"]) == (CALLS.scored, "listen", "wrong_value")
    assert "no sound" in row["msg"]


def test_the_public_checkpoints_take_and_give_the_same(
    found: Answers, models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no hub here: tiny models of the same classes lie in its cache under the public names."""
    import huggingface_hub

    hub = {
        "openai/whisper-tiny": with_timestamps(CALLS.models / "speech", tmp_path / "speech"),
        "facebook/bart-large-mnli": models("entailment"),
        "distilbert/distilbert-base-uncased-finetuned-sst-2-english": CALLS.models / "sentiment",
    }
    for name, folder in hub.items():
        place = tmp_path / "hub" / f"models--{name.replace('/', '--')}"
        shutil.copytree(folder, place / "snapshots" / ("0" * 40))
        (place / "refs").mkdir()
        (place / "refs" / "main").write_text("0" * 40)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    few = tmp_path / "few.jsonl"
    lines = CALLS.input.read_text().splitlines(keepends=True)
    few.write_text("".join(lines[:4] + lines[-1:]))
    public = CALLS.folder / "public.yaml"
    rows, failed = recommended(few, tmp_path / "public.jsonl", f"--ensemble={public}")
    assert [sorted(row) for row in rows] == [sorted(row) for row in found[0][:4]]
    assert {row["intent"] for row in rows} <= {"cancellation", "bill", "fault", "upgrade"}
    assert [(row["node"], row["code"]) for row in failed] == [("listen", "wrong_value")]


def with_timestamps(folder: Path, copy: Path) -> Path:
    """Copies a Whisper, with the tokens for times that those of the hub have."""
    import transformers

    model = transformers.WhisperForConditionalGeneration.from_pretrained(folder)
    tokenizer = transformers.WhisperTokenizerFast.from_pretrained(folder)
    tokenizer.add_tokens([f"<|{step * 0.02:.2f}|>" for step in range(101)])
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    model.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=model.config.decoder_start_token_id,
        no_timestamps_token_id=tokenizer.convert_tokens_to_ids("<|notimestamps|>"),
        max_length=model.config.max_target_positions,
        **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), tokenizer.eos_token_id),
    )
    for part in (model, tokenizer, transformers.WhisperFeatureExtractor.from_pretrained(folder)):
        part.save_pretrained(copy)
    return copy
