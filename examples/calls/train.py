"""Trains a tiny Whisper and two tiny text classifiers, and records calls that they have not met.

Nobody speaks here: a word is three chords, always the same ones, and a speaker has a pitch, a pace, a loudness and a
noisy line. The speech model learns from words in random order, the text models from three quarters of the sentences;
the calls are the other quarter, by other speakers, recorded at a telephone's rate. One file is not a sound at all.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import string
import wave
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import soxr
import torch

# Its own annotations lack some of its classes.
transformers: Any = importlib.import_module("transformers")

HERE = Path(__file__).resolve().parent
ROWS = Path("build", "examples", "calls", "rows.jsonl")
SEED = 7
RECORDED, HEARD = 8_000, 16_000
"""Samples a second: of the recordings, and of what Whisper hears."""
SECONDS = 2
"""The longest call that the tiny Whisper hears; those of the hub hear 30 at a time."""
SOUNDS, STEPS, BATCH = 2_500, 600, 32
SPEAKERS = 2
"""How often each of the calls is recorded."""
END, START, WITHOUT_TIMES = "<|endoftext|>", "<|startoftranscript|>", "<|notimestamps|>"
"""The tokens of Whisper's that are needed here; it takes those that follow the last one for times."""

REQUESTS = {
    "cancellation": ("cancel contract", "cancel my contract", "close my account", "end my contract"),
    "bill": ("wrong bill", "explain my bill", "check my bill", "my bill changed"),
    "fault": ("slow internet", "internet is broken", "phone is dead", "router is broken"),
    "upgrade": ("faster internet", "want another phone", "want another router", "want faster internet"),
}
MOODS = {"NEGATIVE": ("terrible", "useless", "sadly"), "POSITIVE": ("please", "thanks", "great")}
EXPECTED = {
    ("cancellation", "NEGATIVE"): "call_back",
    ("cancellation", "POSITIVE"): "offer_discount",
    ("fault", "NEGATIVE"): "send_technician",
    ("fault", "POSITIVE"): "open_ticket",
    ("upgrade", "POSITIVE"): "send_offer",
}
"""What an experienced clerk does; all others are answered by mail."""

SENTENCES = [
    (f"{first} {second}", intent, sentiment)
    for intent, sentiment in itertools.product(REQUESTS, MOODS)
    for request, mood in itertools.product(REQUESTS[intent], MOODS[sentiment])
    for first, second in ((request, mood), (mood, request))
]
WORDS = sorted({word for text, _, _ in SENTENCES for word in text.split()})


def spoken(text: str, rng: np.random.Generator) -> np.ndarray:
    """Returns a text: samples of -1 to 1 at a telephone's rate, float32 ``[n]``."""
    pitch, pace = rng.uniform(0.97, 1.03), rng.uniform(0.85, 1.15)
    parts = []
    for word in text.split():
        for chord in np.random.default_rng(zlib.crc32(word.encode())).uniform(300, 3_000, (3, 2)):
            time = np.arange(int(0.1 * pace * RECORDED)) / RECORDED
            parts.append(np.sin(2 * np.pi * pitch * chord[:, None] * time).sum(0) * np.hanning(len(time)))
        parts.append(np.zeros(int(rng.uniform(0.02, 0.08) * RECORDED)))
    sound = np.concatenate(parts)
    noise = rng.normal(0, rng.uniform(0.001, 0.03), len(sound))
    return (rng.uniform(0.1, 0.45) * sound + noise).clip(-1, 1).astype(np.float32)


def record(sound: np.ndarray, file: Path) -> None:
    """Writes a WAV file of 16 bits a sample."""
    with wave.open(str(file), "wb") as recording:
        recording.setnchannels(1)
        recording.setsampwidth(2)
        recording.setframerate(RECORDED)
        recording.writeframes((sound * 32_767).astype("<i2").tobytes())


def fit(model: Any, examples: Mapping[str, torch.Tensor], steps: int, rate: float) -> Any:
    """Trains a model on random batches of examples."""
    count = len(examples["labels"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    model.train()
    for _ in range(steps):
        part = torch.randint(count, (BATCH,))
        model(**{name: values[part] for name, values in examples.items()}).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return model.eval()


def whisper_tokenizer() -> Any:
    """Returns Whisper's tokenizer with a token for each word: letters are merged from its first one on."""
    merges = dict.fromkeys((f"Ġ{word[:at]}", word[at]) for word in WORDS for at in range(len(word)))
    pieces = ["Ġ", *string.ascii_lowercase, *(first + second for first, second in merges)]
    vocabulary = {piece: at for at, piece in enumerate([*pieces, END, START, WITHOUT_TIMES])}
    return transformers.WhisperTokenizerFast(vocab=vocabulary, merges=list(merges), pad_token=END)


def save_speech(folder: Path, rng: np.random.Generator) -> None:
    """Trains a Whisper on words in random order."""
    tokenizer = whisper_tokenizer()
    end, start = tokenizer.convert_tokens_to_ids([END, START])
    extractor = transformers.WhisperFeatureExtractor(chunk_length=SECONDS, hop_length=320, feature_size=40)
    config = transformers.WhisperConfig(
        vocab_size=len(tokenizer), d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=128, decoder_ffn_dim=128, num_mel_bins=40,
        max_source_positions=extractor.nb_max_frames // 2, max_target_positions=16, init_std=0.1, pad_token_id=end,
        eos_token_id=end, bos_token_id=end, decoder_start_token_id=start, suppress_tokens=[], begin_suppress_tokens=[],
    )  # fmt: skip
    # Some have one word only: without them it takes much longer to learn where to listen.
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 5))) for _ in range(SOUNDS)]
    sounds = [soxr.resample(spoken(text, rng), RECORDED, HEARD) for text in texts]
    features = extractor(sounds, sampling_rate=HEARD, return_tensors="pt").input_features
    tokens = [[*tokenizer.encode(f" {text}", add_special_tokens=False), end] for text in texts]
    labels = torch.tensor([row + [-100] * (5 - len(row)) for row in tokens])
    model = transformers.WhisperForConditionalGeneration(config)
    fit(model, {"input_features": features, "labels": labels}, STEPS, 3e-3)
    model.generation_config.max_length = config.max_target_positions
    for part in (model, extractor, tokenizer):
        part.save_pretrained(folder)


def save_classifier(folder: Path, texts: Sequence[str], labels: Sequence[str]) -> None:
    """Trains a BERT to say which label a text has."""
    names = sorted(set(labels))
    vocabulary = {word: at for at, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    tokenizer = transformers.BertTokenizerFast(vocab=vocabulary, model_max_length=16)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=16, initializer_range=0.1, id2label=dict(enumerate(names)),
        label2id={name: at for at, name in enumerate(names)},
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(config)
    encoded = tokenizer(list(texts), padding=True, return_tensors="pt")
    fit(model, {**encoded, "labels": torch.tensor([names.index(label) for label in labels])}, 200, 5e-3)
    for part in (model, tokenizer):
        part.save_pretrained(folder)


def save_calls(file: Path, calls: Sequence[tuple[str, str, str]], rng: np.random.Generator) -> None:
    """Records the calls; writes the list of the recordings as JSON lines and, with the sounds, as Parquet."""
    folder = file.resolve().parent / "recordings"
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for id_, (text, intent, sentiment) in enumerate([*calls] * SPEAKERS):
        recording = folder / f"{id_:03}.wav"
        record(spoken(text, rng), recording)
        expected = EXPECTED.get((intent, sentiment), "answer_by_mail")
        rows.append({"id": id_, "recording": str(recording), "said": text, "expected": expected})
    broken = folder / f"{len(rows):03}.wav"
    broken.write_bytes(b"The recorder was out of order.")
    rows.append({"id": len(rows), "recording": str(broken), "said": "", "expected": ""})
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    sounds = [{**row, "audio": Path(row["recording"]).read_bytes()} for row in rows]
    pq.write_table(pa.Table.from_pylist(sounds), file.with_suffix(".parquet"))


def main() -> None:
    """Trains, saves, and records the calls."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--models", type=Path, default=HERE / "models", help="folder of the models (%(default)s)"
    )
    parser.add_argument("--rows", type=Path, default=ROWS, help="file that lists the calls (%(default)s)")
    flags = parser.parse_args()

    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)  # so small that others would only wait
    rng = np.random.default_rng(SEED)
    sentences = [SENTENCES[at] for at in rng.permutation(len(SENTENCES))]
    calls, known = sentences[: len(sentences) // 4], sentences[len(sentences) // 4 :]
    texts, intents, sentiments = zip(*known, strict=True)
    save_speech(flags.models / "speech", rng)
    save_classifier(flags.models / "intent", texts, intents)
    save_classifier(flags.models / "sentiment", texts, sentiments)
    save_calls(flags.rows, calls, rng)
    print(
        f"a Whisper of {len(WORDS)} words, {len(known)} known sentences, {len(calls)} others in {flags.rows}"
    )


if __name__ == "__main__":
    main()
