"""Trains a small BLIP that writes captions, one that answers questions, and a small CLIP; draws images to show to them.

They have the classes, files and processors of the public checkpoints, and know nothing but coloured shapes. It takes
about a minute on two cores.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tokenizers
import torch
import transformers
from pictures import KINDS, QUESTIONS, SENTENCES, SIDE, Kind, answer, draw, sentence  # type: ignore[import-not-found]

HERE = Path(__file__).resolve().parent
ROWS = Path("build", "examples", "captions", "rows.jsonl")
KNOWN, SHOWN = 200, 5
"""How many pictures of each kind train the models, and how many others are shown to them."""
STEPS, BATCH = 320, 48
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "bos_token": "[BOS]", "eos_token": "[EOS]"}
SMALL = {"hidden_size": 96, "intermediate_size": 192, "num_attention_heads": 4, "projection_dim": 64}
EYES = {**SMALL, "num_hidden_layers": 3, "image_size": SIDE, "patch_size": 8}

Batch = Mapping[str, Any]


class Album(NamedTuple):
    """Pictures as a model takes them, and what they show."""

    pixels: torch.Tensor
    kinds: Sequence[Kind]


def tokenizer() -> Any:
    """Creates a tokenizer that knows all words of the sentences, questions and answers."""
    texts = [*(sentence(kind, at) for kind in KINDS for at in range(len(SENTENCES))), *QUESTIONS]
    words = [*SPECIAL.values(), *sorted({word for text in texts for word in text.split()})]
    ids = {word: at for at, word in enumerate(words)}
    found = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token=SPECIAL["unk_token"]))
    found.normalizer = tokenizers.normalizers.Lowercase()
    found.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    found.post_processor = tokenizers.processors.TemplateProcessing(
        single="[BOS] $A [EOS]", special_tokens=[(word, ids[word]) for word in ("[BOS]", "[EOS]")]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=found, model_input_names=["input_ids", "attention_mask"], **SPECIAL
    )


def learn(model: Any, batch: Callable[[], Batch]) -> None:
    """Trains a model on batches that bring their loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=STEPS)
    model.train()
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(**batch()).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


def encoded(words: Any, texts: Iterable[str]) -> Batch:
    """Returns texts as a model takes them, padded to the longest."""
    found: Batch = words(list(texts), padding=True, return_tensors="pt")
    return found


def labels(texts: Batch) -> Any:
    """Returns the words that a model is to write; none where texts are padded."""
    return texts["input_ids"].masked_fill(texts["attention_mask"] == 0, -100)


def blip_config(words: Any) -> Any:
    """Returns how large the BLIP models are."""
    text = {
        **SMALL, "num_hidden_layers": 2, "encoder_hidden_size": SMALL["hidden_size"], "max_position_embeddings": 64,
        "vocab_size": len(words), "pad_token_id": words.pad_token_id, "bos_token_id": words.bos_token_id,
        "eos_token_id": words.eos_token_id, "sep_token_id": words.eos_token_id,
    }  # fmt: skip
    return transformers.BlipConfig(
        text_config=text, vision_config=EYES, projection_dim=SMALL["projection_dim"]
    )


def captioner(album: Album, words: Any, chance: np.random.Generator) -> Any:
    """Trains the model that writes captions: of the sentences about a picture it hears one at a time."""
    model = transformers.BlipForConditionalGeneration(blip_config(words))

    def batch() -> Batch:
        chosen = chance.integers(len(album.kinds), size=BATCH)
        said = [sentence(album.kinds[at], int(chance.integers(len(SENTENCES)))) for at in chosen]
        texts = encoded(words, said)
        return {**texts, "pixel_values": album.pixels[chosen], "labels": labels(texts)}

    learn(model, batch)
    return model


def answerer(album: Album, words: Any, chance: np.random.Generator, blip: Any) -> Any:
    """Trains the model that answers questions; it sees, and reads, as the captioner does from the start."""
    model = transformers.BlipForQuestionAnswering(blip_config(words))
    model.vision_model.load_state_dict(blip.vision_model.state_dict())
    model.text_encoder.load_state_dict(blip.text_decoder.bert.state_dict())
    questions = list(QUESTIONS)

    def batch() -> Batch:
        chosen = chance.integers(len(album.kinds), size=BATCH)
        asked = [questions[at] for at in chance.integers(len(questions), size=BATCH)]
        answers = encoded(
            words, (answer(album.kinds[at], one) for at, one in zip(chosen, asked, strict=True))
        )
        return {**encoded(words, asked), "pixel_values": album.pixels[chosen], "labels": labels(answers)}

    learn(model, batch)
    return model


def judge(album: Album, words: Any, chance: np.random.Generator) -> Any:
    """Trains the model that compares pictures and texts: each batch has a picture of every kind."""
    text = {
        **SMALL, "num_hidden_layers": 2, "max_position_embeddings": 64, "vocab_size": len(words),
        "pad_token_id": words.pad_token_id, "bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id,
    }  # fmt: skip
    config = transformers.CLIPConfig(
        text_config=text, vision_config=EYES, projection_dim=SMALL["projection_dim"]
    )
    model = transformers.CLIPModel(config)
    of_kind = np.array([[at for at, kind in enumerate(album.kinds) if kind == one] for one in KINDS])

    def batch() -> Batch:
        chosen = [int(chance.choice(these)) for these in of_kind]
        said = (sentence(kind, int(chance.integers(len(SENTENCES)))) for kind in KINDS)
        return {**encoded(words, said), "pixel_values": album.pixels[chosen], "return_loss": True}

    learn(model, batch)
    return model


def train(models: Path, chance: np.random.Generator) -> None:
    """Trains all models, and saves them with their processors."""
    side = {"height": SIDE, "width": SIDE}
    words, blip_images = tokenizer(), transformers.BlipImageProcessor(size=side)
    clip_images = transformers.CLIPImageProcessor(size={"shortest_edge": SIDE}, crop_size=side)
    kinds = [kind for kind in KINDS for _ in range(KNOWN)]
    pictures = [draw(kind, chance) for kind in kinds]
    album = Album(blip_images(pictures, return_tensors="pt").pixel_values, kinds)
    blip = captioner(album, words, chance)
    vqa = answerer(album, words, chance, blip)
    clip = judge(
        album._replace(pixels=clip_images(pictures, return_tensors="pt").pixel_values), words, chance
    )
    blip_processor = transformers.BlipProcessor(blip_images, words)
    clip_processor = transformers.CLIPProcessor(clip_images, words)
    for name, model, processor in (
        ("blip", blip, blip_processor),
        ("vqa", vqa, blip_processor),
        ("clip", clip, clip_processor),
    ):
        model.save_pretrained(models / name)
        processor.save_pretrained(models / name)
        print(f"{name}: {sum(one.numel() for one in model.parameters()):,} parameters")


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Writes rows as JSON lines and, for Beam YAML, as Parquet."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(list(rows)), path.with_suffix(".parquet"))


def show(rows: Path, chance: np.random.Generator) -> None:
    """Draws other pictures, and writes the rows of the three ensembles; two of the first have no image to show."""
    folder = rows.parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    shown = []
    for at, kind in enumerate(kind for _ in range(SHOWN) for kind in KINDS):
        draw(kind, chance).save(folder / f"{at:03}.png")
        shown.append(({"id": at, "url": f"pictures/{at:03}.png"}, kind))
    (folder / "broken.png").write_bytes((folder / "000.png").read_bytes()[:100])
    unreadable = [
        {"id": len(shown) + at, "url": f"pictures/{name}.png", "truth": ""}
        for at, name in enumerate(("broken", "missing"))
    ]
    write(rows, [*({**row, "truth": str(kind)} for row, kind in shown), *unreadable])
    questions = list(QUESTIONS)
    asked = [(one, questions[(at + at // len(KINDS)) % len(questions)]) for at, one in enumerate(shown)]
    write(
        rows.with_name("questions.jsonl"),
        [{**row, "question": one, "truth": answer(kind, one)} for (row, kind), one in asked],
    )
    texts = [sentence(kind, 0) for kind in KINDS]
    write(
        rows.with_name("retrieval.jsonl"),
        [
            {**row, "texts": chance.permutation(texts).tolist(), "truth": sentence(kind, 0)}
            for row, kind in shown[: 2 * len(KINDS)]
        ],
    )
    print(f"{len(shown)} pictures in {folder}")


def main() -> None:
    """Trains, saves, and writes the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--models", type=Path, default=HERE / "models", help="folder of the models (%(default)s)"
    )
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the images to caption (%(default)s)")
    flags = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(7)
    torch.set_num_threads(1)  # the same weights on any number of cores
    flags.models.mkdir(parents=True, exist_ok=True)
    train(flags.models, np.random.default_rng(7))
    show(flags.rows, np.random.default_rng(8))


if __name__ == "__main__":
    main()
