"""Texts and sounds that are longer than a model reads: each task fails the row, unless its arguments say otherwise."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from beam_ensembles.errors import EnsembleError, NodeError
from beam_ensembles.handlers.huggingface.lengths import settle_limit
from beam_ensembles.handlers.huggingface.tasks import TASKS
from tests.support.media import noise, objects, pixels, png
from tests.support.nodes import load_node
from tests.unit.handlers.huggingface.test_tasks import node_of, run
from tests.unit.handlers.huggingface.test_whole_folders import TYPES

if TYPE_CHECKING:
    from tests.support.transformers_models import Models

LONG = "film " * 100
PICTURE = png(pixels(1))
PAGE = {"words": ["total", "42"] * 50, "boxes": [[0, 0, 10, 10]] * 100}
Row = Mapping[str, Any]

TOO_LONG: list[tuple[str, str, Row, dict[str, Any], str]] = [
    ("text-classification", "classifier", {"text": LONG}, {}, "truncation: true"),
    ("text-classification", "classifier", {"text": "good", "text_pair": LONG}, {}, "truncation: true"),
    ("text-classification", "classifier", {"text": "film " * 20}, {"max_length": 10}, "reads 10: .*truncation: true"),
    ("zero-shot-classification", "entailment", {"text": LONG}, {"candidate_labels": ["a"]}, "truncation: true"),
    ("zero-shot-classification", "entailment", {"text": "film", "candidate_labels": [LONG]}, {}, "truncation: true"),
    (
        "zero-shot-classification", "entailment", {"text": LONG}, {"candidate_labels": ["a"], "truncation": False},
        "truncation: true",
    ),
    (
        "zero-shot-classification", "entailment", {"text": "film " * 58},
        {"candidate_labels": ["b b b"], "truncation": False}, "68 tokens; the model reads 64",
    ),
    (
        "text-classification", "classifier", {"text": "film " * 40, "text_pair": "film " * 40}, {"truncation": False},
        "83 tokens; the model reads 64",
    ),
    ("token-classification", "entities", {"text": LONG}, {}, "truncation: true.*stride: 16"),
    ("token-classification", "entities", {"text": LONG}, {"truncation": None}, "truncation: true.*stride: 16"),
    ("token-classification", "entities", {"text": LONG}, {"truncation": False}, "truncation: true"),
    ("token-classification", "entities", {"text": LONG}, {"truncation": "do_not_truncate"}, "truncation: true"),
    ("feature-extraction", "encoder", {"text": LONG}, {}, "truncation: true"),
    ("feature-extraction", "encoder", {"text": "film " * 20}, {"max_length": 10}, "reads 10: .*truncation: true"),
    ("summarization", "t5", {"text": LONG}, {}, "truncation: true"),
    ("translation", "marian", {"text": LONG}, {"max_new_tokens": 4}, "truncation: true"),
    ("text-generation", "gpt2", {"text": LONG}, {"max_new_tokens": 4, "do_sample": False}, "shorten it before"),
    ("text-generation", "gpt2", {"text": "film " * 60}, {"max_new_tokens": 8, "do_sample": False}, "and 8 are to be"),
    ("text-generation", "gpt2", {"text": "film " * 60}, {"do_sample": False}, "set 'max_new_tokens'"),
    (
        "text-generation", "gpt2", {"text": "film " * 20}, {"max_length": 10, "do_sample": False},
        "21 tokens, and 1 are to be .* reads 10: set 'max_new_tokens' instead of 'max_length'",
    ),
    ("question-answering", "answers", {"question": LONG, "context": "anna wrote it"}, {}, "a question has 100 tokens"),
    ("question-answering", "answers", {"question": "who " * 40, "context": LONG}, {}, "say a smaller 'doc_stride'"),
    ("document-question-answering", "layoutlm", {"question": LONG, **PAGE}, {}, "a question has 100 tokens"),
    ("document-question-answering", "layoutlm", {"question": "who " * 40, **PAGE}, {}, "say a smaller 'doc_stride'"),
    ("image-to-text", "blip", {"image": PICTURE, "text": LONG}, {"max_new_tokens": 4}, "shorten it before"),
    ("image-text-to-text", "blip", {"image": PICTURE, "text": LONG}, {"max_new_tokens": 4}, "shorten it before"),
    ("visual-question-answering", "vilt", {"image": PICTURE, "question": LONG}, {}, "truncation: true"),
    ("visual-question-answering", "blip_questions", {"image": PICTURE, "question": LONG}, {}, "truncation: true"),
    ("zero-shot-image-classification", "clip", {"image": PICTURE}, {"candidate_labels": [LONG]}, "shorter classes"),
    ("automatic-speech-recognition", "whisper", {"audio": noise(1, 24_000).tolist()}, {}, "1.5 s; .* hears 1.0 s"),
]  # fmt: skip
SAID_OTHERWISE: list[tuple[str, str, Row, dict[str, Any]]] = [
    ("text-classification", "classifier", {"text": LONG}, {"truncation": True}),
    (
        "zero-shot-classification",
        "entailment",
        {"text": LONG},
        {"candidate_labels": ["sport"], "truncation": True},
    ),
    ("token-classification", "entities", {"text": LONG}, {"truncation": True}),
    ("token-classification", "entities", {"text": LONG}, {"stride": 16, "aggregation_strategy": "simple"}),
    ("feature-extraction", "encoder", {"text": LONG}, {"truncation": True}),
    ("summarization", "t5", {"text": LONG}, {"truncation": True}),
    ("summarization", "t5", {"text": LONG}, {"truncation": False}),
    ("translation", "marian", {"text": LONG}, {"truncation": True, "max_new_tokens": 4}),
    ("question-answering", "answers", {"question": "who " * 40, "context": LONG}, {"doc_stride": 8}),
    ("question-answering", "answers", {"question": "who " * 40, "context": "anna wrote it"}, {}),
    ("document-question-answering", "layoutlm", {"question": "who ?", **PAGE}, {}),
    ("visual-question-answering", "vilt", {"image": PICTURE, "question": LONG}, {"truncation": True}),
    ("automatic-speech-recognition", "whisper", {"audio": noise(1, 24_000).tolist()}, {"chunk_length_s": 1}),
]
NO_TEXTS = ("audio-classification", "image-classification", "object-detection")


def run_row(models: Models, task: str, model: str, row: Row, args: dict[str, Any]) -> Any:
    output = next(iter(TASKS[task].outputs))
    types = {port: TYPES[port] for port in row}
    columns = {port: objects(value) for port, value in row.items()}
    return run(models, model, task, types, columns, [output], inference_args=args)[output]


def test_every_task_is_looked_at() -> None:
    assert {task for task, *_ in TOO_LONG} | set(NO_TEXTS) == set(TASKS)


@pytest.mark.parametrize(("task", "model", "row", "args", "said"), TOO_LONG)
def test_an_input_that_is_too_long_fails_its_row(
    models: Models, task: str, model: str, row: Row, args: dict[str, Any], said: str
) -> None:
    with pytest.raises(NodeError, match=said) as caught:
        run_row(models, task, model, row, args)
    assert caught.value.code == "wrong_value"


@pytest.mark.parametrize(("task", "model", "row", "args"), SAID_OTHERWISE)
def test_it_is_cut_or_read_in_parts_where_the_node_says_so(
    models: Models, task: str, model: str, row: Row, args: dict[str, Any]
) -> None:
    assert len(run_row(models, task, model, row, args)) == 1


def test_parts_that_overlap_find_names_to_the_end(models: Models) -> None:
    text = "film " * 80 + "anna"
    types, columns = {"text": "string"}, {"text": objects(text)}
    args = {"stride": 16, "aggregation_strategy": "simple", "ignore_labels": []}
    found = run(models, "entities", "token-classification", types, columns, ["ends"], inference_args=args)
    assert max(found["ends"][0]) == len(text)
    with pytest.raises(NodeError, match="'stride' is 62; the model reads 64 tokens"):
        run(
            models, "entities", "token-classification", types, columns, ["ends"],
            inference_args={**args, "stride": 62},
        )  # fmt: skip


def test_the_limit_is_the_least_of_what_model_tokenizer_and_folder_say(
    models: Models, tmp_path: Path
) -> None:
    shutil.copytree(models("encoder"), tmp_path / "encoder")
    (tmp_path / "encoder" / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 20}))
    node = node_of("encoder", "feature-extraction", ["text"], ["embedding"])
    member = load_node(tmp_path, {"text_in": "string"}, node)
    assert member({"text_in": objects("film " * 18)})
    with pytest.raises(NodeError, match="a text has 21 tokens; the model reads 20"):
        member({"text_in": objects("film " * 19)})


def test_a_models_places_behind_the_padding_are_its_limit() -> None:
    """RoBERTa's 514 places are for 512 tokens."""
    import transformers

    config = transformers.RobertaConfig(
        vocab_size=10, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        max_position_embeddings=34,
    )  # fmt: skip
    tokenizer = type("Tokenizer", (), {"model_max_length": int(1e30)})()
    settle_limit(transformers.RobertaModel(config), tokenizer)
    assert tokenizer.model_max_length == 32


def test_a_text_without_any_token_fails_its_row(models: Models, tmp_path: Path) -> None:
    shutil.copytree(models("gpt2"), tmp_path / "gpt2")
    path = tmp_path / "gpt2" / "tokenizer.json"
    content = json.loads(path.read_text())
    content["post_processor"] = None  # as GPT-2's own, which adds no token to a text
    path.write_text(json.dumps(content))
    node = node_of("gpt2", "feature-extraction", ["text"], ["embedding"])
    member = load_node(tmp_path, {"text_in": "string"}, node)
    assert member({"text_in": objects("film")})
    for text in ("", " \n"):
        with pytest.raises(NodeError, match="a text is empty for the model") as caught:
            member({"text_in": objects(text)})
        assert caught.value.code == "wrong_value"


@pytest.mark.parametrize(
    ("task", "model"),
    [
        ("text-classification", "classifier"),
        ("feature-extraction", "encoder"),
        ("token-classification", "entities"),
    ],
)
@pytest.mark.parametrize("text", ["", "\u200b", "\x00\x01", "[SEP] [CLS]", "\U0001f600"])
def test_a_text_of_special_characters_is_answered_alike_alone_and_together(
    models: Models, task: str, model: str, text: str
) -> None:
    output = {"feature-extraction": "embedding", "token-classification": "scores"}.get(task, "score")
    types = {"text": "string"}
    together, alone = (
        run(models, model, task, types, {"text": objects(*texts)}, [output])[output][0]
        for texts in ((text, "the film was good ."), (text,))
    )
    np.testing.assert_allclose(np.asarray(together), np.asarray(alone), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("task", ["audio-classification", "automatic-speech-recognition"])
@pytest.mark.parametrize("masks", [True, False])
def test_a_sound_is_heard_alike_alone_and_beside_longer_ones(
    models: Models, tmp_path: Path, task: str, masks: bool
) -> None:
    model, output = ("sounds", "score") if task.startswith("audio") else ("wav2vec2", "text")
    shutil.copytree(models(model), tmp_path / model)
    name = "preprocessor_config.json" if model == "sounds" else "processor_config.json"
    path = tmp_path / model / name
    path.write_text(
        path.read_text().replace(
            '"return_attention_mask": true', f'"return_attention_mask": {str(masks).lower()}'
        )
    )
    sounds = [noise(1, 1_000).tolist(), noise(2, 16_000).tolist(), noise(3, 1_000).tolist()]
    member = load_node(tmp_path, {"audio_in": "array<float>"}, node_of(model, task, ["audio"], [output]))
    together = member({"audio_in": objects(*sounds)})[output].tolist()
    alone = [member({"audio_in": objects(sound)})[output][0] for sound in sounds]
    assert together == (alone if output == "text" else pytest.approx(alone, rel=1e-5))


@pytest.mark.parametrize("task", ["audio-classification", "automatic-speech-recognition"])
@pytest.mark.parametrize(
    ("sound", "said"), [([], "a sound is empty"), ([0.0, float("nan")] * 800, "no numbers")]
)
def test_what_is_no_sound_fails_its_row(models: Models, task: str, sound: list[float], said: str) -> None:
    model = "sounds" if task.startswith("audio") else "whisper"
    with pytest.raises(NodeError, match=said) as caught:
        run_row(models, task, model, {"audio": sound}, {})
    assert caught.value.code == "wrong_value"


def test_a_processor_cuts_nothing_by_itself(models: Models) -> None:
    node = {
        "apply": "processor", "uri": "classifier", "inputs": {"text": "text"},
        "outputs": {"input_ids": "array<int64>[16]"},
    }  # fmt: skip
    root = models("classifier").parent
    assert load_node(root, {"text": "string"}, node)({"text": objects("film")})["input_ids"].shape == (1, 16)
    for types in ("array<int64>[16]", "array<int64>"):
        long = {**node, "outputs": {"input_ids": types}}
        with pytest.raises(
            (NodeError, EnsembleError), match=r"a text has 102 tokens; .*'truncation: true' in call_args"
        ):
            load_node(root, {"text": "string"}, long)({"text": objects(LONG)})
    cut = {**node, "call_args": {"truncation": True}}
    assert load_node(root, {"text": "string"}, cut)({"text": objects(LONG)})["input_ids"].shape == (1, 16)
