"""Tiny models of real architectures, made from a configuration with random weights and saved to disk."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

transformers: Any = importlib.import_module("transformers")

SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS: Final = (
    *SPECIAL, "the", "a", "film", "was", "good", "bad", "great", "awful", "this", "is", "about", "sport", "politics",
    "?", ".", ",", "##s", "##ly", "who", "what", "where", "wrote", "it", "anna", "in", "paris", "lives", "and",
    "picture", "of", "dog", "cat", "red", "blue", "invoice", "number", "total", "42", "us", "-", "001", "date",
)  # fmt: skip
CLASSES: Final = ("negative", "neutral", "positive")
SIDE: Final = 32
"""Height and width of the images that the models see, in pixels."""


def _small(**more: Any) -> dict[str, Any]:
    """What makes a text model tiny."""
    return {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "vocab_size": len(_VOCABULARY),
        "max_position_embeddings": 64,
        "initializer_range": 0.5,
        **more,
    }


_VOCABULARY: Final = {word: at for at, word in enumerate(WORDS)}
_EYES: Final = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "image_size": SIDE,
    "patch_size": 16,
    "initializer_range": 0.5,
}


def bert_tokenizer(**more: Any) -> Any:
    """BERT's own tokenizer, with the words of the tests."""
    return transformers.BertTokenizerFast(vocab=_VOCABULARY, model_max_length=64, **more)


def word_tokenizer(names: Mapping[str, str], **more: Any) -> Any:
    """A tokenizer of whole words that ends every text, as those of sequence-to-sequence models do."""
    words = list(dict.fromkeys([*names.values(), *_VOCABULARY]))
    vocabulary = {word: at for at, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=names["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    end = names["eos_token"]
    begin = names.get("bos_token")
    single = f"{begin} $A {end}" if begin else f"$A {end}"
    special = [(token, vocabulary[token]) for token in (begin, end) if token]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, special_tokens=special)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=64, **names, **more
    )


def _seeded(make: Callable[[], Any], seed: int = 7) -> Any:
    torch.manual_seed(seed)
    return make().eval()


def _classes(names: tuple[str, ...] = CLASSES) -> dict[str, Any]:
    return {"id2label": dict(enumerate(names)), "label2id": {name: at for at, name in enumerate(names)}}


def bert_classifier(folder: Path, *, seed: int = 7, **settings: Any) -> Any:
    """Saves a BERT that classifies texts, and its tokenizer.

    Args:
        folder: Where to.
        seed: What its weights are drawn with.
        settings: More of its configuration.

    Returns:
        The model.
    """
    config = transformers.BertConfig(**_small(**settings))
    model = _seeded(lambda: transformers.BertForSequenceClassification(config), seed)
    model.save_pretrained(folder)
    bert_tokenizer().save_pretrained(folder)
    return model


def _text_classifier(folder: Path) -> None:
    bert_classifier(folder, **_classes())


def _entailment(folder: Path) -> None:
    bert_classifier(folder, **_classes(("contradiction", "neutral", "entailment")))


def _entities(folder: Path) -> None:
    config = transformers.BertConfig(**_small(), **_classes(("O", "B-PER", "B-LOC")))
    _seeded(lambda: transformers.BertForTokenClassification(config)).save_pretrained(folder)
    bert_tokenizer().save_pretrained(folder)


def _encoder(folder: Path) -> None:
    _seeded(lambda: transformers.BertModel(transformers.BertConfig(**_small()))).save_pretrained(folder)
    bert_tokenizer().save_pretrained(folder)


def _answers(folder: Path) -> None:
    config = transformers.BertConfig(**_small())
    _seeded(lambda: transformers.BertForQuestionAnswering(config)).save_pretrained(folder)
    bert_tokenizer().save_pretrained(folder)


def _image_processor() -> Any:
    return transformers.ViTImageProcessor(size={"height": SIDE, "width": SIDE})


def _vit(folder: Path) -> None:
    config = transformers.ViTConfig(**_EYES, **_classes(("cat", "dog", "horse")))
    _seeded(lambda: transformers.ViTForImageClassification(config)).save_pretrained(folder)
    _image_processor().save_pretrained(folder)


def _yolos(folder: Path) -> None:
    eyes = {**_EYES, "image_size": [SIDE, SIDE], "num_detection_tokens": 5}
    config = transformers.YolosConfig(**eyes, **_classes(("cat", "dog", "horse")))
    _seeded(lambda: transformers.YolosForObjectDetection(config)).save_pretrained(folder)
    transformers.YolosImageProcessor(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)


def _clip(folder: Path) -> None:
    names = {"unk_token": "<unk>", "bos_token": "<start>", "eos_token": "<end>", "pad_token": "<end>"}
    tokenizer = word_tokenizer(names)
    text = _small(
        vocab_size=len(tokenizer), max_position_embeddings=64, projection_dim=16, initializer_factor=9.0
    )
    text |= {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = transformers.CLIPConfig(
        text_config=text,
        vision_config={**_EYES, "projection_dim": 16, "initializer_factor": 9.0},
        projection_dim=16,
    )
    _seeded(lambda: transformers.CLIPModel(config)).save_pretrained(folder)
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}
    )
    transformers.CLIPProcessor(images, tokenizer).save_pretrained(folder)


def _blip_config() -> Any:
    text = _small(encoder_hidden_size=16, projection_dim=16)
    text |= {"bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3, "pad_token_id": 0, "is_decoder": True}
    eyes = {**_EYES, "projection_dim": 16}
    return transformers.BlipConfig(text_config=text, vision_config=eyes, projection_dim=16)


def _save_blip(model_class: Any, folder: Path) -> None:
    _seeded(lambda: model_class(_blip_config())).save_pretrained(folder)
    images = transformers.BlipImageProcessor(size={"height": SIDE, "width": SIDE})
    transformers.BlipProcessor(images, bert_tokenizer()).save_pretrained(folder)


def _blip(folder: Path) -> None:
    _save_blip(transformers.BlipForConditionalGeneration, folder)


def _blip_questions(folder: Path) -> None:
    _save_blip(transformers.BlipForQuestionAnswering, folder)


def _vilt(folder: Path) -> None:
    config = transformers.ViltConfig(**{**_EYES, **_small()}, **_classes(("yes", "no", "red", "blue")))
    _seeded(lambda: transformers.ViltForQuestionAnswering(config)).save_pretrained(folder)
    images = transformers.ViltImageProcessor(size={"shortest_edge": SIDE}, size_divisor=16)
    transformers.ViltProcessor(images, bert_tokenizer()).save_pretrained(folder)


_SEQUENCES: Final = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


def _t5(folder: Path) -> None:
    tokenizer = word_tokenizer(_SEQUENCES)
    config = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=0,
        initializer_factor=20.0,
        task_specific_params={
            "summarization": {"prefix": "the film . ", "max_new_tokens": 5},
            "translation_en_to_fr": {"prefix": "a picture . ", "max_new_tokens": 4},
        },
    )  # fmt: skip
    _seeded(lambda: transformers.T5ForConditionalGeneration(config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _marian(folder: Path) -> None:
    tokenizer = word_tokenizer(_SEQUENCES)
    config = transformers.MarianConfig(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=1, init_std=0.5,
    )  # fmt: skip
    _seeded(lambda: transformers.MarianMTModel(config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _mbart(folder: Path) -> None:
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *(f"\u2581{word}" for word in _VOCABULARY if word.isalpha())]
    tokenizer = transformers.MBart50Tokenizer(vocab=[(piece, -float(at)) for at, piece in enumerate(pieces)])
    config = transformers.MBartConfig(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64,
        pad_token_id=1, eos_token_id=2, bos_token_id=0, decoder_start_token_id=2, init_std=0.5,
    )  # fmt: skip
    _seeded(lambda: transformers.MBartForConditionalGeneration(config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _whisper(folder: Path) -> None:
    letters = [*"abcdefghijklmnopqrstuvwxyz .", "<|endoftext|>", "<|startoftranscript|>", "<|notimestamps|>"]
    tokenizer = transformers.WhisperTokenizerFast(
        vocab={letter: at for at, letter in enumerate(letters)}, merges=[]
    )
    end, start = letters.index("<|endoftext|>"), letters.index("<|startoftranscript|>")
    config = transformers.WhisperConfig(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=50,
        max_target_positions=32, num_mel_bins=80, pad_token_id=end, eos_token_id=end, bos_token_id=end,
        decoder_start_token_id=start, suppress_tokens=[], begin_suppress_tokens=[], init_std=0.5,
    )  # fmt: skip
    model = _seeded(lambda: transformers.WhisperForConditionalGeneration(config))
    model.generation_config.max_new_tokens = 5
    model.save_pretrained(folder)
    transformers.WhisperFeatureExtractor(chunk_length=1).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _wav2vec2(folder: Path) -> None:
    letters = dict.fromkeys(["<pad>", "<s>", "</s>", "<unk>", "|", *"abcdefghijklmnopqrstuvwxyz"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({letter: at for at, letter in enumerate(letters)}))
    tokenizer = transformers.Wav2Vec2CTCTokenizer(str(folder / "vocab.json"))
    config = transformers.Wav2Vec2Config(
        vocab_size=len(letters), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        conv_dim=(16, 16), conv_stride=(20, 16), conv_kernel=(20, 16), num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2, pad_token_id=0,
    )  # fmt: skip
    _seeded(lambda: transformers.Wav2Vec2ForCTC(config)).save_pretrained(folder)
    extractor = transformers.Wav2Vec2FeatureExtractor(return_attention_mask=True)
    transformers.Wav2Vec2Processor(extractor, tokenizer).save_pretrained(folder)


def _sounds(folder: Path) -> None:
    config = transformers.Wav2Vec2Config(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, conv_dim=(16, 16),
        conv_stride=(20, 16), conv_kernel=(20, 16), num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2,
        initializer_range=0.5, classifier_proj_size=8, **_classes(("bark", "meow", "neigh")),
    )  # fmt: skip
    _seeded(lambda: transformers.Wav2Vec2ForSequenceClassification(config)).save_pretrained(folder)
    transformers.Wav2Vec2FeatureExtractor(return_attention_mask=True).save_pretrained(folder)


def _layoutlm(folder: Path) -> None:
    config = transformers.LayoutLMConfig(**_small(), max_2d_position_embeddings=1024)
    _seeded(lambda: transformers.LayoutLMForQuestionAnswering(config)).save_pretrained(folder)
    bert_tokenizer().save_pretrained(folder)


def _gpt2(folder: Path) -> None:
    tokenizer = word_tokenizer({"unk_token": "<unk>", "eos_token": "<end>"})
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=16,
        n_layer=1,
        n_head=2,
        n_positions=64,
        initializer_range=0.5,
        bos_token_id=1,
        eos_token_id=1,
    )
    _seeded(lambda: transformers.GPT2LMHeadModel(config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


MAKERS: Final[Mapping[str, Callable[[Path], None]]] = {
    "answers": _answers,
    "blip": _blip,
    "blip_questions": _blip_questions,
    "classifier": _text_classifier,
    "clip": _clip,
    "encoder": _encoder,
    "entailment": _entailment,
    "entities": _entities,
    "gpt2": _gpt2,
    "layoutlm": _layoutlm,
    "marian": _marian,
    "mbart": _mbart,
    "sounds": _sounds,
    "t5": _t5,
    "vilt": _vilt,
    "vit": _vit,
    "wav2vec2": _wav2vec2,
    "whisper": _whisper,
    "yolos": _yolos,
}
"""Name of a folder -> what writes the model into it."""


@dataclasses.dataclass(frozen=True)
class Models:
    """A folder of models, each made when it is first asked for.

    Attributes:
        root: The folder.
    """

    root: Path

    def __call__(self, name: str) -> Path:
        """Returns the folder of one model."""
        folder = self.root / name
        if not folder.exists():
            MAKERS[name](folder)
        return folder
