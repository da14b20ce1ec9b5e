"""Where models of transformers are loaded, with a stand-in for a GPU; batches that its memory does not hold."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from beam_ensembles.errors import InvalidEnsemble, NodeError
from beam_ensembles.execution.bisecting import run_split
from tests.support.media import objects
from tests.support.nodes import load_node
from tests.support.stand_in_gpu import MOST
from tests.support.transformers_models import Models

MOOD = {
    "model": "huggingface",
    "uri": "classifier",
    "task": "text-classification",
    "inputs": {"text": "text"},
    "outputs": {"label": None},
    "trial": False,
}


@pytest.mark.parametrize(
    "spec",
    [
        MOOD,
        {**MOOD, "uri": "answers", "task": "question-answering", "outputs": {"answer": None},
         "inputs": {"question": "text", "context": "text"}},
    ],
    ids=["pipeline", "model"],
)  # fmt: skip
def test_models_of_transformers_are_loaded_there(
    models: Models, full_gpu: None, caplog: pytest.LogCaptureFixture, spec: dict[str, Any]
) -> None:
    models(str(spec["uri"]))
    with pytest.raises(InvalidEnsemble, match=MOST):
        load_node(models.root, {"text": "string"}, {**spec, "device": "gpu"})
    load_node(models.root, {"text": "string"}, {**spec, "device": "auto"})
    assert "runs on the CPU" in caplog.text


def test_a_pipeline_gives_its_inputs_to_the_device_that_its_model_is_on(
    models: Models, stand_in_gpu: None
) -> None:
    models("classifier")
    member: Any = load_node(models.root, {"text": "string"}, {**MOOD, "device": "gpu"})
    assert member.model.device == torch.device("meta")
    assert member.model.model.device == torch.device("meta")


class Small:
    """Stands in for a device: a model in front of which it stands runs out of memory above ``most`` texts."""

    def __init__(self, model: Any, most: int) -> None:
        self.most, self.seen = most, []
        model.register_forward_pre_hook(self._look, with_kwargs=True)

    seen: list[int]

    def _look(self, model: Any, args: Any, kwargs: Any) -> None:
        self.seen.append(len(kwargs["input_ids"]))
        if self.seen[-1] > self.most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


TEXTS = [" ".join(["the film was good"] * (1 + at % 7)) for at in range(64)]


def test_fewer_texts_go_through_the_model_at_once_where_memory_runs_out(models: Models) -> None:
    models("classifier")
    member: Any = load_node(models.root, {"text": "string"}, MOOD)
    wanted = member({"text": objects(*TEXTS)})["label"].tolist()
    small = Small(member.model.model, 9)
    assert member({"text": objects(*TEXTS)})["label"].tolist() == wanted
    assert small.seen[:3] == [32, 16, 8]
    assert set(small.seen[3:]) == {8}
    small.seen.clear()
    member({"text": objects(*TEXTS)})
    assert small.seen == [8] * 8


def test_the_longest_texts_are_the_first(models: Models) -> None:
    models("classifier")
    member: Any = load_node(models.root, {"text": "string"}, MOOD)
    widths: list[int] = []
    member.model.model.register_forward_pre_hook(
        lambda model, args, kwargs: widths.append(kwargs["input_ids"].shape[1]), with_kwargs=True
    )
    member({"text": objects(*TEXTS)})
    assert widths == sorted(widths, reverse=True)


def test_texts_that_do_not_fit_alone_fail_and_limit_no_others(models: Models) -> None:
    models("classifier")
    member: Any = load_node(models.root, {"text": "string"}, MOOD)
    small = Small(member.model.model, 0)
    _, faults = run_split(member, {"text": objects(*TEXTS[:3])}, 3)
    assert {error.code for error in faults.values()} == {"out_of_memory"}
    assert all(isinstance(error, NodeError) for error in faults.values())
    small.most = 64
    small.seen.clear()
    member({"text": objects(*TEXTS)})
    assert small.seen == [32, 32]
