"""What a row draws with a seed is its own: the same in every batch, and nobody else's draws change with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from beam_ensembles.graph.kinds import Columns
from beam_ensembles.handlers.huggingface.drawing import drawing, row_seed
from tests.support.media import objects, pixels, png
from tests.support.nodes import load_node, problems_of

if TYPE_CHECKING:
    from tests.support.transformers_models import Models

IMAGES = [png(pixels(at, 40, 40)) for at in range(4)]
TEXTS = ["the film was good .", "awful", "what is this film about ?", "anna lives in paris"]


def task(model: str, name: str, port: str, **more: Any) -> dict[str, Any]:
    """Creates a node that draws two texts of five words for each row."""
    return {
        "model": "huggingface", "uri": model, "task": name, "device": "cpu", "samples": 2, "inputs": {port: "given"},
        "inference_args": {"do_sample": True, "max_new_tokens": 5, "temperature": 5.0},
        "outputs": {"said": {"from": "text"}}, **more,
    }  # fmt: skip


DESCRIBE = task("blip", "image-to-text", "image")
GO_ON = task("gpt2", "text-generation", "text")
SUMMARIZE = task("t5", "summarization", "text")
GENERATE = {
    "model": "huggingface", "uri": "gpt2", "model_class": "transformers.AutoModelForCausalLM", "method": "generate",
    "device": "cpu", "samples": 2, "inputs": {"input_ids": "given"},
    "inference_args": {"max_new_tokens": 4, "do_sample": True, "pad_token_id": 0},
    "outputs": {"said": "array<array<int64>>"},
}  # fmt: skip
IDS = [[5, 7, 9], [8], [12, 13], [4, 4]]
WAYS = [
    (DESCRIBE, "bytes", IMAGES),
    (GO_ON, "string", TEXTS),
    (SUMMARIZE, "string", TEXTS),
    (GENERATE, "array<int64>", IDS),
]
each_way = pytest.mark.parametrize(
    ("node", "type_", "rows"), WAYS, ids=["batches", "pipeline", "texts", "tensors"]
)


def saying(models: Models, node: Mapping[str, Any], type_: str) -> Callable[..., list[Any]]:
    """Loads a node; gives what says of each row what it draws: of ids the last ones, which are those it wrote."""
    member = load_node(models(node["uri"]).parent, {"given": type_}, node)

    def said(*rows: Any) -> list[Any]:
        given: Columns = {"given": objects(*rows)}
        found = member(given)["said"].tolist()
        return [[ids[-4:] for ids in row] for row in found] if "method" in node else found

    return said


@each_way
def test_a_row_draws_the_same_in_every_batch(
    models: Models, node: Mapping[str, Any], type_: str, rows: list[Any]
) -> None:
    seeded = {**node, "seed": 7}
    said = saying(models, seeded, type_)
    together = said(*rows)
    assert together == [said(row)[0] for row in rows]
    assert saying(models, seeded, type_)(*reversed(rows)) == together[::-1]
    assert any(one != two for one, two in together), "each text of a row is drawn by itself"


@each_way
def test_another_seed_draws_otherwise_and_none_draws_anew(
    models: Models, node: Mapping[str, Any], type_: str, rows: list[Any]
) -> None:
    seven, eight, none = (saying(models, {**node, **seed}, type_) for seed in ({"seed": 7}, {"seed": 8}, {}))
    found = [said(*rows) for said in (seven, eight, none, none)]
    assert all(one != two for at, one in enumerate(found) for two in found[at + 1 :])


def test_beams_are_drawn_too(models: Models) -> None:
    node = {**DESCRIBE, "seed": 7}
    node["inference_args"] = {**node["inference_args"], "num_beams": 3}
    said = saying(models, node, "bytes")
    assert said(*IMAGES) == [said(image)[0] for image in IMAGES]


def test_a_row_that_is_a_batch_of_its_own_draws_its_own(models: Models) -> None:
    node = {**GENERATE, "seed": 7, "per_row": True, "outputs": {"said": "array<array<int64>>"}}
    del node["samples"]
    rows = [[[5, 7], [8, 9]], [[12, 13]], [[5, 7], [8, 9]]]
    member = load_node(models("gpt2").parent, {"given": "array<array<int64>>"}, node)
    found = member({"given": objects(*rows)})["said"].tolist()
    assert [len(row) for row in found] == [2, 1, 2]
    assert found[0] == found[2] != found[1]
    assert found[1] == member({"given": objects(rows[1])})["said"].tolist()[0]


def test_others_draw_what_they_would_have_drawn(models: Models) -> None:
    import torch

    member = load_node(models("blip").parent, {"given": "bytes"}, {**DESCRIBE, "seed": 7})
    before = torch.get_rng_state()
    member({"given": objects(*IMAGES)})
    assert torch.equal(torch.get_rng_state(), before)


def test_draws_follow_the_probabilities() -> None:
    import torch

    probabilities = torch.tensor([[0.1, 0.2, 0.7]])
    rows = 4000
    with drawing([row_seed(7, [at]) for at in range(rows)]):
        drawn = torch.multinomial(probabilities.expand(rows, 3), num_samples=1)
    shares = torch.bincount(drawn[:, 0], minlength=3) / rows
    np.testing.assert_allclose(shares.numpy(), [0.1, 0.2, 0.7], atol=0.03)


def test_a_rows_seed_is_the_same_in_every_release() -> None:
    values = ["a", b"\x00\xff", 1.5, None, np.array([1, 2], np.int32), objects("b", [1, 2])]
    assert row_seed(7, values) == 16106272099790245483
    assert len({row_seed(7, ["ab", "c"]), row_seed(7, ["a", "bc"]), row_seed(8, ["ab", "c"])}) == 3


@pytest.mark.parametrize(
    ("node", "code"),
    [
        ({**GO_ON, "seed": -1}, "bad_value"),
        ({**GO_ON, "seed": "7"}, "wrong_type"),
        (
            {"model": "huggingface", "uri": "m", "task": "text-classification", "inputs": ["given"], "seed": 7,
             "outputs": {"label": None}},
            "unsupported_option",
        ),
        (
            {"model": "huggingface", "uri": "m", "model_class": "transformers.BertModel", "seed": 7,
             "inputs": {"input_ids": "ids"}, "outputs": {"pooler_output": "array<float>[4]"}},
            "unsupported_option",
        ),
    ],
)  # fmt: skip
def test_a_seed_is_a_number_for_what_draws(tmp_path: Path, node: dict[str, Any], code: str) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "vocab.txt").write_text("")
    types = {"given": "string", "ids": "array<int64>"}
    assert problems_of(tmp_path, types, {**node, "uri": "m"}) == [(code, "seed")]
