"""``apply: processor``: what it makes of texts, images and sounds, and what is wrong with a node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from beam_ensembles.errors import InvalidEnsemble, NodeError
from tests.support.media import noise, objects, pixels, png, sound, wav
from tests.support.nodes import load_node, problems_of, types_of

if TYPE_CHECKING:
    from tests.support.transformers_models import Models

TEXTS = objects("the film was good .", "awful", "anna lives in paris")


def node_of(model: str, inputs: Any, outputs: Any, **more: Any) -> dict[str, Any]:
    """Creates a processor's node."""
    return {"apply": "processor", "uri": model, "inputs": inputs, "outputs": outputs, **more}


def tokenizer_of(models: Models, name: str) -> Any:
    """Loads a tokenizer by itself."""
    import transformers

    return transformers.AutoTokenizer.from_pretrained(models(name))


def test_ids_have_the_length_of_their_text(models: Models) -> None:
    node = node_of("classifier", {"text": "t"}, {"input_ids": None, "mask": {"from": "attention_mask"}})
    folder, tokenizer = models("classifier").parent, tokenizer_of(models, "classifier")
    assert types_of(folder, {"t": "string"}, node) == {"input_ids": "array<int64>", "mask": "array<int64>"}
    found = load_node(folder, {"t": "string"}, node)({"t": TEXTS})
    assert found["input_ids"].tolist() == [tokenizer(text).input_ids for text in TEXTS]
    assert [len(mask) for mask in found["mask"]] == [len(ids) for ids in found["input_ids"]]


def test_ids_are_padded_to_the_declared_length(models: Models) -> None:
    node = node_of(
        "classifier",
        {"text": "t"},
        {"input_ids": "array<int64>[5]", "attention_mask": "array<int64>[5]"},
        call_args={"truncation": True},
    )
    found = load_node(models("classifier").parent, {"t": "string"}, node)({"t": TEXTS})
    tokenizer = tokenizer_of(models, "classifier")
    wanted = tokenizer(
        TEXTS.tolist(), padding="max_length", truncation=True, max_length=5, return_tensors="np"
    )
    np.testing.assert_array_equal(found["input_ids"], wanted["input_ids"])
    np.testing.assert_array_equal(found["attention_mask"], wanted["attention_mask"])


def test_ids_are_padded_in_the_batch_where_that_is_asked_for(models: Models) -> None:
    node = node_of(
        "classifier", {"text": "t", "text_pair": "u"}, {"input_ids": None}, call_args={"padding": True}
    )
    member = load_node(models("classifier").parent, {"t": "string", "u": "string"}, node)
    found = member({"t": TEXTS, "u": TEXTS[::-1]})["input_ids"]
    wanted = tokenizer_of(models, "classifier")(TEXTS.tolist(), TEXTS[::-1].tolist(), padding=True).input_ids
    assert found.tolist() == wanted
    assert len({len(ids) for ids in wanted}) == 1


def test_images_become_pixels(models: Models) -> None:
    import transformers

    node = node_of("vit", {"images": "i"}, {"pixel_values": "array<float>[3,32,32]"})
    pictures = [pixels(1), pixels(2, 30, 70)]
    found = load_node(models("vit").parent, {"i": "bytes"}, node)({"i": objects(*map(png, pictures))})
    processor = transformers.AutoImageProcessor.from_pretrained(models("vit"))
    wanted = processor(pictures, return_tensors="np")["pixel_values"]
    np.testing.assert_allclose(found["pixel_values"], wanted, rtol=1e-5)


def test_sounds_become_features(models: Models) -> None:
    import transformers

    node = node_of("whisper", {"audio": "s"}, {"input_features": "array<float>[80,100]"})
    sounds = [noise(1, 8_000), noise(2, 12_000)]
    folder = models("whisper").parent
    found = load_node(folder, {"s": "array<float>"}, node)(
        {"s": objects(*(sound.tolist() for sound in sounds))}
    )
    extractor = transformers.AutoFeatureExtractor.from_pretrained(models("whisper"))
    wanted = extractor(sounds, sampling_rate=16_000, return_tensors="np")["input_features"]
    np.testing.assert_allclose(found["input_features"], wanted, rtol=1e-4, atol=1e-5)
    files = load_node(folder, {"s": "bytes"}, node)({"s": objects(*map(wav, sounds))})
    np.testing.assert_allclose(files["input_features"], wanted, atol=0.05)
    with pytest.raises(NodeError, match="'s' holds no sound that can be read"):
        load_node(folder, {"s": "bytes"}, node)({"s": objects(b"no sound")})


def test_sounds_of_any_format_and_rate_are_brought_to_the_models_own(models: Models) -> None:
    import soxr
    import transformers

    node = node_of("whisper", {"audio": "s"}, {"input_features": "array<float>[80,100]"})
    slow = noise(3, 8_000)
    data = objects(sound(slow, "FLAC", 8_000, "PCM_24"))
    found = load_node(models("whisper").parent, {"s": "bytes"}, node)({"s": data})["input_features"]
    extractor = transformers.AutoFeatureExtractor.from_pretrained(models("whisper"))
    wanted = extractor([soxr.resample(slow, 8_000, 16_000)], sampling_rate=16_000, return_tensors="np")
    np.testing.assert_allclose(found, wanted["input_features"], atol=0.01)


@pytest.mark.parametrize(
    ("type_", "answer"), [("array<int64>", "string"), ("array<array<int64>>", "array<string>")]
)
def test_ids_become_texts(models: Models, type_: str, answer: str) -> None:
    node = node_of("classifier", ["ids"], {"words": None}, call="batch_decode")
    folder = models("classifier").parent
    assert types_of(folder, {"ids": type_}, node) == {"words": answer}
    tokenizer = tokenizer_of(models, "classifier")
    ids = [tokenizer(text).input_ids for text in TEXTS]
    texts = [tokenizer.decode(one, skip_special_tokens=True) for one in ids]
    nested = type_ == "array<array<int64>>"
    rows = objects(ids[:2], [], ids[2:]) if nested else objects(*ids)
    found = load_node(folder, {"ids": type_}, node)({"ids": rows})["words"]
    assert found.tolist() == ([texts[:2], [], texts[2:]] if nested else texts)


def test_special_tokens_stay_where_that_is_asked_for(models: Models) -> None:
    node = node_of(
        "classifier", ["ids"], {"words": None}, call="batch_decode", call_args={"skip_special_tokens": False}
    )
    member = load_node(models("classifier").parent, {"ids": "array<int64>[4]"}, node)
    assert member({"ids": np.array([[2, 5, 7, 3]])})["words"].tolist() == ["[CLS] the film [SEP]"]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"inputs": ["t"]}, [("unknown_port", "inputs")]),
        ({"inputs": {"txt": "t"}}, [("unknown_port", "inputs.txt")]),
        ({"inputs": {"text": "x"}}, [("type_mismatch", "inputs.text")]),
        ({"inputs": {"images": "t"}}, [("type_mismatch", "inputs.images")]),
        ({"outputs": {"pixel_values": None}}, [("missing_type", "outputs.pixel_values")]),
        ({"outputs": {"input_ids": "array<string>"}}, [("signature_mismatch", "outputs.input_ids")]),
        ({"call": "save_pretrained"}, [("bad_value", "call")]),
        ({"call_args": {"paddin": True}}, [("unknown_option", "call_args.paddin")]),
        ({"call": "batch_decode"}, [("type_mismatch", "inputs.text")]),
        ({"revision": "main"}, [("unsupported_option", "revision")]),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_is_wrong(tmp_path: Path, change: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    (tmp_path / "model").mkdir()
    for name in ("preprocessor_config.json", "vocab.txt"):
        (tmp_path / "model" / name).write_text("")
    node = {**node_of("model", {"text": "t"}, {"input_ids": None}), **change}
    assert sorted(problems_of(tmp_path, {"t": "string", "x": "array<float>[4]"}, node)) == sorted(wanted)


def test_what_a_processor_does_not_give_is_named(models: Models) -> None:
    node = node_of("classifier", {"text": "t"}, {"pixel_values": "array<float>[3,32,32]"})
    member = load_node(models("classifier").parent, {"t": "string"}, node)
    with pytest.raises(NodeError, match=r"returned no 'pixel_values' \(it returned: input_ids"):
        member({"t": TEXTS})


def test_a_folder_without_a_processor_is_said(tmp_path: Path, models: Models) -> None:
    (tmp_path / "model").mkdir()
    node = node_of("model", {"text": "t"}, {"input_ids": None})
    with pytest.raises(InvalidEnsemble, match="has no tokenizer") as caught:
        load_node(tmp_path, {"t": "string"}, node)
    assert caught.value.problems[0].code == "bad_model_file"
    (tmp_path / "model" / "vocab.txt").write_text("")
    with pytest.raises(InvalidEnsemble, match=r"knows no words|cannot load"):
        load_node(tmp_path, {"t": "string"}, node)
