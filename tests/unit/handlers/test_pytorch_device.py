"""Where models of PyTorch are loaded, with a stand-in for a GPU; indices that embeddings lack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from beam_ensembles.errors import InvalidEnsemble, NodeError
from beam_ensembles.handlers.pytorch.embedding_guard import EmbeddingGuard, GuardedMember
from tests.support.models import iris
from tests.support.nodes import load_node
from tests.support.pytorch_models import make_pytorch
from tests.support.stand_in_gpu import MOST

FOUR = {"x": "array<double>[4]"}
HERE = "tests.support.pytorch_models"
FORMATS = [
    ("flowers.pt", "Flowers"),
    ("flowers.safetensors", "Flowers"),
    ("module.pt", None),
    ("script.pt", None),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pytorch")
    make_pytorch(found)
    return found


def node(uri: str, of: str | None, **more: Any) -> dict[str, Any]:
    found = {
        "model": "pytorch",
        "uri": uri,
        "inputs": ["x"],
        "outputs": {"y": "array<float>[3]"},
        "trial": False,
    }
    return found | ({} if of is None else {"model_class": f"{HERE}.{of}"}) | more


@pytest.mark.parametrize(("uri", "of"), FORMATS[:3])  # TorchScript does not know the stand-in
@pytest.mark.parametrize("wanted", ["gpu", "auto"])
def test_every_format_is_loaded_there(
    folder: Path, stand_in_gpu: None, uri: str, of: str | None, wanted: str
) -> None:
    member: Any = load_node(folder, FOUR, node(uri, of, device=wanted))
    assert {one.device.type for one in member.model.parameters()} == {"meta"}
    assert member.handler._device == torch.device("meta")


@pytest.mark.parametrize(("uri", "of"), FORMATS)
def test_a_gpu_that_cannot_hold_the_model_is_an_error_or_with_auto_a_warning(
    folder: Path, full_gpu: None, caplog: pytest.LogCaptureFixture, uri: str, of: str | None
) -> None:
    with pytest.raises(InvalidEnsemble, match=rf"\[load_failed\] nodes\.node\.device: {MOST}"):
        load_node(folder, FOUR, node(uri, of, device="gpu"))
    member: Any = load_node(folder, FOUR, node(uri, of, device="auto"))
    assert "node 'node' runs on the CPU: its memory does not hold the model" in caplog.text
    assert (member({"x": iris().x})["y"].argmax(1) == iris().y).mean() > 0.9


def test_a_model_that_stays_on_the_cpu_is_an_error(folder: Path, stand_in_gpu: None) -> None:
    with pytest.raises(InvalidEnsemble, match=r"the weight 'layers.0.weight' stays elsewhere"):
        load_node(folder, FOUR, node("flowers.pt", "Stubborn", device="gpu"))


def test_an_error_of_the_file_is_not_taken_for_one_of_the_gpu(folder: Path, stand_in_gpu: None) -> None:
    with pytest.raises(InvalidEnsemble, match=r"\[load_failed\] nodes\.node\.uri"):
        load_node(folder, FOUR, node("patients.pt", "Flowers", device="auto"))


class Table(torch.nn.Module):
    """Looks words up, and where they stand."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(20, 3)
        self.position_embeddings = torch.nn.Embedding(8, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        places = torch.arange(ids.shape[1]).expand_as(ids)
        found: torch.Tensor = self.words(ids) + self.position_embeddings(places)
        return found


def guarded_table() -> tuple[Table, GuardedMember]:
    model = Table()

    def call(columns: Any) -> Any:
        with torch.inference_mode():
            return {"y": model(torch.from_numpy(columns["ids"])).numpy()}

    return model, GuardedMember(call, EmbeddingGuard(model))


@pytest.mark.parametrize("wrong", [20, -1, 1 << 40])
def test_an_id_that_an_embedding_lacks_never_reaches_it(wrong: int) -> None:
    _, member = guarded_table()
    ids = np.array([[1, 2], [3, wrong]])
    with pytest.raises(
        NodeError, match=r"'words' has the rows 0 to 19: an id that it is given is another"
    ) as caught:
        member({"ids": ids})
    assert caught.value.code == "wrong_value"
    assert member({"ids": ids[:1]})["y"].shape == (1, 2, 3)


def test_more_tokens_than_there_are_places_for_never_reach_the_embedding() -> None:
    _, member = guarded_table()
    with pytest.raises(
        NodeError, match=r"'position_embeddings' has the rows 0 to 7: it is given more tokens"
    ):
        member({"ids": np.zeros((2, 9), np.int64)})


def test_a_guard_changes_no_answer() -> None:
    model, member = guarded_table()
    ids = np.array([[0, 19], [3, 4]])
    with torch.inference_mode():
        wanted = model(torch.from_numpy(ids)).numpy()
    np.testing.assert_array_equal(member({"ids": ids})["y"], wanted)
