"""What tasks give, beyond what Beam's handler of pipelines can be compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import Columns
from tests.support.media import noise, objects, pixels, png, wav
from tests.support.nodes import load_node, types_of

if TYPE_CHECKING:
    from tests.support.transformers_models import Models

TEXTS = objects("the film was good .", "awful", "what is this film about ? anna lives in paris")
PICTURES = [pixels(1), pixels(2), pixels(3, 60, 30)]
IMAGES = objects(*map(png, PICTURES))


def node_of(
    model: str, task: str, ports: Sequence[str], outputs: Sequence[str], **more: Any
) -> dict[str, Any]:
    """Creates a node whose columns are named like its ports."""
    return {
        "model": "huggingface",
        "uri": model,
        "task": task,
        "device": "cpu",
        "inputs": {port: f"{port}_in" for port in ports},
        "outputs": dict.fromkeys(outputs),
        **more,
    }


def run(
    models: Models,
    model: str,
    task: str,
    types: Mapping[str, str],
    columns: Columns,
    outputs: Sequence[str],
    **more: Any,
) -> Columns:
    """Loads a node and runs it."""
    node = node_of(model, task, list(types), outputs, **more)
    inputs = {f"{port}_in": type_ for port, type_ in types.items()}
    member = load_node(models(model).parent, inputs, node)
    return member({f"{port}_in": values for port, values in columns.items()})


@pytest.mark.parametrize(
    ("model", "task", "port"),
    [
        ("classifier", "text-classification", "text"),
        ("entailment", "zero-shot-classification", "text"),
        ("vit", "image-classification", "image"),
        ("vilt", "visual-question-answering", "image"),
        ("blip_questions", "visual-question-answering", "image"),
        ("t5", "summarization", "text"),
        ("marian", "translation", "text"),
        ("blip", "image-to-text", "image"),
    ],
)
def test_rows_that_go_through_the_model_together_change_no_answer(
    models: Models, model: str, task: str, port: str
) -> None:
    args: dict[str, Any] = {"candidate_labels": ["sport", "a film"]} if model == "entailment" else {}
    if model in ("marian", "blip", "blip_questions"):
        args = {"max_new_tokens": 5}
    outputs = ["text"] if model in ("t5", "marian", "blip") else ["label", "score"]
    types, columns = (
        {port: "bytes" if port == "image" else "string"},
        {port: IMAGES if port == "image" else TEXTS},
    )
    if port == "image" and task == "visual-question-answering":
        outputs = ["answer", "score"] if model == "vilt" else ["answer"]
        types["question"], columns["question"] = "string", TEXTS
    together, alone = (
        run(models, model, task, types, columns, outputs, inference_args={**args, "batch_size": size})
        for size in (3, 1)
    )
    for name in outputs:
        if together[name].dtype == object:
            assert together[name].tolist() == alone[name].tolist()
        else:
            np.testing.assert_allclose(together[name], alone[name], rtol=1e-4)


def test_texts_of_about_one_length_go_through_the_model_together(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.pipelines import TextClassificationPipeline

    calls: list[tuple[int, ...]] = []
    forward = TextClassificationPipeline._forward

    def noting(pipe: Any, inputs: Any) -> Any:
        calls.append(tuple(inputs["input_ids"].shape))
        return forward(pipe, inputs)

    monkeypatch.setattr(TextClassificationPipeline, "_forward", noting)
    texts = objects("awful", "the film was good . " * 3, "film", "the film was good . " * 4)

    def scores(size: int) -> Columns:
        args = {"inference_args": {"batch_size": size}}
        return run(
            models,
            "classifier",
            "text-classification",
            {"text": "string"},
            {"text": texts},
            ["score"],
            **args,
        )

    together = scores(2)["score"]
    (many, long), (few, short) = calls  # the longest first
    assert (few, many) == (2, 2)
    assert short < long / 2
    np.testing.assert_allclose(together, scores(1)["score"], rtol=1e-4)


def test_probabilities_are_in_the_order_of_the_models_classes(models: Models) -> None:
    found = run(
        models, "classifier", "text-classification", {"text": "string"}, {"text": TEXTS},
        ["label", "score", "labels", "scores", "probabilities"], inference_args={"top_k": 2},
    )  # fmt: skip
    order = ["negative", "neutral", "positive"]
    assert [order[at] for at in found["probabilities"].argmax(axis=1)] == found["label"].tolist()
    np.testing.assert_array_equal(found["probabilities"].max(axis=1), found["score"])
    np.testing.assert_allclose(found["probabilities"].sum(axis=1), 1, rtol=1e-6)
    assert [len(labels) for labels in found["labels"]] == [2, 2, 2]
    assert found["scores"][0][0] == found["score"][0]


@pytest.mark.parametrize("task", ["text-classification", "zero-shot-classification"])
def test_an_empty_text_is_a_text(models: Models, task: str) -> None:
    zero_shot = task.startswith("zero")
    args = {"candidate_labels": ["sport", "cat"]} if zero_shot else {}
    found = run(
        models, "entailment" if zero_shot else "classifier", task, {"text": "string"},
        {"text": objects("", "awful")}, ["label", "score"], inference_args=args,
    )  # fmt: skip
    assert all(0 < score <= 1 for score in found["score"])


def test_each_row_may_name_its_own_classes(models: Models) -> None:
    types = {"text": "string", "candidate_labels": "array<string>"}
    labels = objects(["sport", "politics"], ["a", "cat"], ["dog"])
    found = run(
        models,
        "entailment",
        "zero-shot-classification",
        types,
        {"text": TEXTS, "candidate_labels": labels},
        ["labels"],
    )
    assert [sorted(one) for one in found["labels"]] == [["politics", "sport"], ["a", "cat"], ["dog"]]
    columns = {"text": TEXTS, "candidate_labels": objects(["sport"], [], ["dog"])}
    with pytest.raises(NodeError, match="no candidate labels") as caught:
        run(models, "entailment", "zero-shot-classification", types, columns, ["labels"])
    assert caught.value.code == "wrong_value"


def test_entities_are_rows(models: Models) -> None:
    found = run(
        models, "entities", "token-classification", {"text": "string"}, {"text": TEXTS},
        ["entities", "labels", "starts"],
        inference_args={"aggregation_strategy": "simple"},
    )  # fmt: skip
    for text, entities in zip(TEXTS, found["entities"], strict=True):
        assert entities
        for entity in entities:
            assert entity["label"] in ("PER", "LOC")
            assert entity["word"].replace(" ", "") == text[entity["start"] : entity["end"]].replace(" ", "")
    assert found["starts"].tolist() == [[entity["start"] for entity in one] for one in found["entities"]]


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_embeddings_leave_the_padding_out(models: Models, pooling: str) -> None:
    import torch
    import transformers

    folder = models("encoder")
    found = run(
        models, "encoder", "feature-extraction", {"text": "string"}, {"text": TEXTS}, ["embedding", "tokens"],
        inference_args={"pooling": pooling, "normalize": True},
    )  # fmt: skip
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder)
    for text, embedding, tokens in zip(TEXTS, found["embedding"], found["tokens"], strict=True):
        with torch.no_grad():
            vectors = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
        np.testing.assert_allclose(np.asarray(tokens), vectors, rtol=1e-3, atol=1e-5)
        wanted = {"mean": vectors.mean(axis=0), "cls": vectors[0], "max": vectors.max(axis=0)}[pooling]
        np.testing.assert_allclose(embedding, wanted / np.linalg.norm(wanted), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "task", "args", "prefix", "more"),
    [
        ("t5", "summarization", {}, "the film . ", {"max_new_tokens": 5}),
        ("t5", "summarization", {"prefix": "sport ", "num_beams": 2}, "sport ", {"max_new_tokens": 5, "num_beams": 2}),
        ("t5", "translation", {"src_lang": "en", "tgt_lang": "fr"}, "a picture . ", {"max_new_tokens": 4}),
        ("marian", "translation", {"max_new_tokens": 6}, "", {"max_new_tokens": 6}),
    ],
)  # fmt: skip
def test_texts_are_written_as_the_model_writes_them(
    models: Models, model: str, task: str, args: dict[str, Any], prefix: str, more: dict[str, Any]
) -> None:
    import transformers

    folder = models(model)
    found = run(models, model, task, {"text": "string"}, {"text": TEXTS}, ["text"], inference_args=args)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    writer = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    assert any(found["text"])
    for text, written in zip(TEXTS, found["text"], strict=True):
        ids = writer.generate(tokenizer(prefix + text, return_tensors="pt").input_ids, **more)
        assert written == tokenizer.decode(ids[0], skip_special_tokens=True).strip()


def test_a_model_of_many_languages_is_told_which(models: Models) -> None:
    import transformers

    folder = models("mbart")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, src_lang="de_DE")
    writer = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    args = {"src_lang": "de_DE", "tgt_lang": "fr_XX", "max_new_tokens": 6}
    found = run(
        models, "mbart", "translation", {"text": "string"}, {"text": TEXTS}, ["text"], inference_args=args
    )
    for text, written in zip(TEXTS, found["text"], strict=True):
        start = tokenizer.convert_tokens_to_ids("fr_XX")
        ids = writer.generate(
            tokenizer(text, return_tensors="pt").input_ids, forced_bos_token_id=start, max_new_tokens=6
        )
        assert written == tokenizer.decode(ids[0], skip_special_tokens=True).strip()
    with pytest.raises(NodeError, match="no language 'klingon'"):
        run(
            models, "mbart", "translation", {"text": "string"}, {"text": TEXTS}, ["text"],
            inference_args={**args, "tgt_lang": "klingon"},
        )  # fmt: skip
    with pytest.raises(NodeError, match="no language 'klingon'"):
        run(
            models, "mbart", "translation", {"text": "string"}, {"text": TEXTS}, ["text"],
            inference_args={**args, "src_lang": "klingon"},
        )  # fmt: skip
    with pytest.raises(NodeError, match="has no option for the language 'de'; leave 'src_lang' out"):
        run(
            models, "marian", "translation", {"text": "string"}, {"text": TEXTS}, ["text"],
            inference_args={"src_lang": "de"},
        )  # fmt: skip


def test_several_texts_a_row_are_put_together(models: Models) -> None:
    args = {"num_beams": 4, "max_new_tokens": 4}
    node = node_of("t5", "summarization", ["text"], ["text"], samples=3, inference_args=args)
    assert types_of(models("t5").parent, {"text_in": "string"}, node) == {"text": "array<string>"}
    several = load_node(models("t5").parent, {"text_in": "string"}, node)({"text_in": TEXTS})["text"]
    one = run(
        models, "t5", "summarization", {"text": "string"}, {"text": TEXTS}, ["text"], inference_args=args
    )["text"]
    assert [len(texts) for texts in several] == [3, 3, 3]
    assert [texts[0] for texts in several] == one.tolist()


@pytest.mark.parametrize("task", ["image-to-text", "image-text-to-text"])
def test_several_texts_an_image_stay_with_it(models: Models, task: str) -> None:
    types, columns = (
        {"image": "bytes", "text": "string"},
        {"image": IMAGES, "text": objects("a", "a dog", "the")},
    )
    args = {"num_beams": 2, "max_new_tokens": 4}
    several = run(models, "blip", task, types, columns, ["text"], samples=2, inference_args=args)["text"]
    one = run(models, "blip", task, types, columns, ["text"], inference_args=args)["text"]
    assert [len(texts) for texts in several] == [2, 2, 2]
    assert [texts[0] for texts in several] == one.tolist()


def test_a_question_is_answered_by_the_best_span(models: Models) -> None:
    import torch
    import transformers

    folder = models("answers")
    questions = objects("who wrote it ?", "where ?")
    contexts = objects("anna wrote it in paris , and it was good .", "this film is about politics")
    columns = {"question": questions, "context": contexts}
    types = dict.fromkeys(columns, "string")
    found = run(models, "answers", "question-answering", types, columns, ["answer", "score", "start", "end"])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(folder)
    for at, (question, context) in enumerate(zip(questions, contexts, strict=True)):
        encoded = tokenizer(question, context, return_tensors="pt")
        with torch.no_grad():
            logits = model(**encoded)
        places = [0, *(place for place, part in enumerate(encoded.sequence_ids(0)) if part == 1)]
        starts = logits.start_logits[0][places].double().softmax(0)[1:]
        ends = logits.end_logits[0][places].double().softmax(0)[1:]
        best = max(
            (float(starts[a] * ends[b]), a, b)
            for a in range(len(starts))
            for b in range(a, min(a + 15, len(ends)))
        )
        start = encoded.token_to_chars(0, places[best[1] + 1]).start
        end = encoded.token_to_chars(0, places[best[2] + 1]).end
        assert found["score"][at] == pytest.approx(best[0], rel=1e-4)
        assert (found["start"][at], found["end"][at]) == (start, end)
        assert found["answer"][at] == context[start:end]


def test_a_long_text_is_searched_in_windows(models: Models) -> None:
    long = " ".join(["anna lives in paris ."] * 30)
    columns = {"question": objects("where ?"), "context": objects(long)}
    types = dict.fromkeys(columns, "string")
    outputs = ["answer", "score", "start", "end"]
    options = {"max_seq_len": 32, "doc_stride": 8, "max_answer_len": 3}
    found = run(models, "answers", "question-answering", types, columns, outputs, inference_args=options)
    (answer,), (start,), (end,) = (found[name] for name in ("answer", "start", "end"))
    assert answer == long[start:end]
    assert 1 <= len(answer.split()) <= 3


def test_no_answer_is_an_empty_one(models: Models) -> None:
    from beam_ensembles.handlers.huggingface import spans

    class Loaded:
        """Scores the first token, which stands for no answer, above all others."""

        def __init__(self, tokenizer: Any) -> None:
            self.tokenizer = tokenizer
            self.model = self
            self.device = "cpu"

        def __call__(self, input_ids: Any, **_: Any) -> Any:
            self.start_logits = self.end_logits = (input_ids == 2) * 9.0
            return self

    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(models("answers"))
    rows = {"question": ["where ?"], "context": ["anna lives in paris ."]}
    found = spans.answer(Loaded(tokenizer), rows, {"handle_impossible_answer": True}, 8)  # type: ignore[arg-type]
    assert (found["answer"], found["start"], found["end"]) == ([""], [0], [0])
    assert found["score"][0] > 0.99
    assert spans.answer(Loaded(tokenizer), rows, {}, 8)["answer"] != [""]  # type: ignore[arg-type]


def test_a_page_is_read_from_its_words(models: Models) -> None:
    types = {"question": "string", "words": "array<string>", "boxes": "array<array<int64>[4]>"}
    words = (["invoice", "number", "us", "-", "001"], ["total", "42"])
    boxes = [[[at * 10, 0, at * 10 + 9, 9] for at in range(len(one))] for one in words]
    columns = {
        "question": objects("what number ?", "what total ?"), "words": objects(*words), "boxes": objects(*boxes)
    }  # fmt: skip
    outputs = ["answer", "score", "start", "end"]
    found = run(models, "layoutlm", "document-question-answering", types, columns, outputs)
    for one, answer, start, end in zip(words, found["answer"], found["start"], found["end"], strict=True):
        assert answer == " ".join(one[start : end + 1])
    with pytest.raises(NodeError, match="5 words, but 2 boxes"):
        run(
            models, "layoutlm", "document-question-answering", types,
            {**columns, "boxes": objects(boxes[1], boxes[1])}, outputs,
        )  # fmt: skip


def test_an_image_and_a_prompt_make_a_text(models: Models) -> None:
    types, columns = (
        {"image": "bytes", "text": "string"},
        {"image": IMAGES, "text": objects("a picture of", "a", "a dog")},
    )
    args = {"max_new_tokens": 4}
    answers = run(models, "blip", "image-text-to-text", types, columns, ["text"], inference_args=args)["text"]
    described = run(models, "blip", "image-to-text", types, columns, ["text"], inference_args=args)["text"]
    for prompt, answer, description in zip(columns["text"], answers, described, strict=True):
        assert description == (prompt + answer).strip()
    assert len(set(described.tolist())) == 3


def test_a_chat_model_is_given_a_chat() -> None:
    from beam_ensembles.handlers.huggingface.pipelines import answer_image_and_text

    class Pipe:
        """Stands in for the pipeline of a model with a chat template, which are all too large to be made here."""

        tokenizer = type("Tokenizer", (), {"model_max_length": 64, "unk_token": "?"})
        processor = type("Processor", (), {"chat_template": "...", "tokenizer": tokenizer})
        asked: list[Any] = []  # noqa: RUF012

        def __call__(self, text: Any, **options: Any) -> Any:
            self.asked.append((text, options))
            return [{"generated_text": text[0]["content"][1]["text"].upper()}]

    found = answer_image_and_text(
        Pipe(), {"image": ["<picture>"], "text": ["what is it ?"]}, {"max_new_tokens": 9}, 4
    )
    assert found == {"text": ["WHAT IS IT ?"]}
    ((chat, options),) = Pipe.asked
    assert chat[0]["role"] == "user"
    assert chat[0]["content"][0] == {"type": "image", "image": "<picture>"}
    assert options == {"return_full_text": False, "generate_kwargs": {"max_new_tokens": 9}}


def test_visual_questions_are_answered_by_choice(models: Models) -> None:
    types, columns = {"image": "bytes", "question": "string"}, {"image": IMAGES, "question": TEXTS}
    outputs = ["answer", "score", "answers", "scores"]
    found = run(
        models, "vilt", "visual-question-answering", types, columns, outputs, inference_args={"top_k": 2}
    )
    for at in range(3):
        assert found["answers"][at][0] == found["answer"][at]
        assert found["scores"][at] == sorted(found["scores"][at], reverse=True)
        assert len(found["answers"][at]) == 2
    assert set(found["answer"]) <= {"yes", "no", "red", "blue"}


def test_visual_questions_are_answered_in_words(models: Models) -> None:
    types, columns = {"image": "bytes", "question": "string"}, {"image": IMAGES, "question": TEXTS}
    args = {"max_new_tokens": 4}
    found = run(
        models, "blip_questions", "visual-question-answering", types, columns, ["answer"], inference_args=args
    )
    assert all(isinstance(answer, str) and answer for answer in found["answer"])
    with pytest.raises(NodeError, match="score"):
        run(
            models,
            "blip_questions",
            "visual-question-answering",
            types,
            columns,
            ["answer", "score"],
            inference_args=args,
        )


def test_objects_are_rows(models: Models) -> None:
    found = run(
        models, "yolos", "object-detection", {"image": "bytes"}, {"image": IMAGES}, ["objects", "boxes"],
        inference_args={"threshold": 0.0},
    )  # fmt: skip
    corners = ("xmin", "ymin", "xmax", "ymax")
    boxes = [[[thing[corner] for corner in corners] for thing in one] for one in found["objects"]]
    assert found["boxes"].tolist() == boxes
    assert [len(one) for one in boxes] == [5, 5, 5]


def test_pixels_and_files_are_the_same_image(models: Models) -> None:
    square = [pixels(seed, 40, 40) for seed in (1, 2)]
    outputs = ["label", "score"]
    files = run(
        models,
        "vit",
        "image-classification",
        {"image": "bytes"},
        {"image": objects(*map(png, square))},
        outputs,
    )
    for name, dtype in (("uint8", np.uint8), ("int64", np.int64)):
        columns = {"image": np.stack(square).astype(dtype)}
        found = run(models, "vit", "image-classification", {"image": f"array<{name}>[40,40,3]"}, columns, outputs) \
            if name != "uint8" else files  # fmt: skip
        np.testing.assert_array_equal(found["score"], files["score"])


def test_samples_and_files_are_the_same_sound(models: Models) -> None:
    sounds = [noise(1, 8_000), noise(2, 12_000)]
    rounded = [(sound * 32_767).astype(np.int16).astype(np.float32) / 32_768 for sound in sounds]
    task = "automatic-speech-recognition"
    samples = run(
        models,
        "wav2vec2",
        task,
        {"audio": "array<float>"},
        {"audio": objects(*(one.tolist() for one in rounded))},
        ["text"],
    )
    for channels in (1, 2):
        files = objects(*(wav(sound, channels=channels) for sound in sounds))
        found = run(models, "wav2vec2", task, {"audio": "bytes"}, {"audio": files}, ["text"])
        assert found["text"].tolist() == samples["text"].tolist()


def test_parts_of_speech_have_times(models: Models) -> None:
    sounds = objects(noise(1, 8_000).tolist())
    found = run(
        models, "wav2vec2", "automatic-speech-recognition", {"audio": "array<float>"}, {"audio": sounds},
        ["text", "chunks"], inference_args={"return_timestamps": "word"},
    )  # fmt: skip
    (chunks,) = found["chunks"]
    assert " ".join(chunk["text"] for chunk in chunks) == found["text"][0]
    assert all(0 <= chunk["start"] <= chunk["end"] <= 0.5 for chunk in chunks)


def test_a_text_that_is_too_long_is_said(models: Models) -> None:
    types, columns = {"text": "string"}, {"text": objects("film " * 100)}
    with pytest.raises(
        NodeError, match="102 tokens; the model reads 64: cut it with 'truncation: true'"
    ) as caught:
        run(models, "classifier", "text-classification", types, columns, ["label"])
    assert caught.value.code == "wrong_value"
    args = {"truncation": True}
    assert run(models, "classifier", "text-classification", types, columns, ["label"], inference_args=args)[
        "label"
    ][0]


def test_a_language_model_writes_on(models: Models) -> None:
    args = {"max_new_tokens": 4, "num_beams": 3}
    node = node_of("gpt2", "text-generation", ["text"], ["text"], samples=2, inference_args=args)
    found = load_node(models("gpt2").parent, {"text_in": "string"}, node)({"text_in": TEXTS})["text"]
    assert [len(texts) for texts in found] == [2, 2, 2]
    assert len({text for texts in found for text in texts}) > 2


@pytest.mark.parametrize("value", [b"no image", png(pixels(1))[:200], b""])
def test_what_is_no_image_is_said(models: Models, value: bytes) -> None:
    with pytest.raises(NodeError, match="'image_in' holds no image") as caught:
        run(models, "vit", "image-classification", {"image": "bytes"}, {"image": objects(value)}, ["label"])
    assert caught.value.code == "wrong_value"


def test_pixels_outside_of_their_range_are_refused(models: Models) -> None:
    with pytest.raises(NodeError, match="outside of 0 to 255"):
        run(
            models, "vit", "image-classification", {"image": "array<int32>[2,2,3]"},
            {"image": np.full((1, 2, 2, 3), 256, np.int32)}, ["label"],
        )  # fmt: skip


def test_columns_may_be_read_only(models: Models) -> None:
    sounds = np.stack([noise(1, 8_000), noise(2, 8_000)])
    ids = np.array([[2, 5, 7, 3], [2, 8, 9, 3]])
    for column in (sounds, ids):
        column.flags.writeable = False
    run(
        models,
        "wav2vec2",
        "automatic-speech-recognition",
        {"audio": "array<float>[8000]"},
        {"audio": sounds},
        ["text"],
    )
    node = {
        "model": "huggingface", "uri": "classifier", "model_class": "transformers.BertForSequenceClassification",
        "device": "cpu", "inputs": {"input_ids": "ids"}, "outputs": {"logits": "array<float>[3]"},
    }  # fmt: skip
    load_node(models("classifier").parent, {"ids": "array<int64>[4]"}, node)({"ids": ids})
