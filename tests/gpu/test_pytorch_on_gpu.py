"""Nodes of PyTorch on a GPU: the same answers as on the processor, and batches that its memory does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.handlers.support.fitting_rows import FittingRows
from tests.support.models import iris
from tests.support.nodes import load_node

FOUR = {"x": "array<double>[4]"}


@pytest.fixture(scope="session")
def folder(torch_on_gpu: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with PyTorch models."""
    from tests.support.pytorch_models import make_pytorch

    folder = tmp_path_factory.mktemp("pytorch")
    make_pytorch(folder)
    return folder


def node(uri: str, of: str | None = None, **more: Any) -> dict[str, Any]:
    found = {"model": "pytorch", "uri": uri, "inputs": ["x"], "outputs": {"y": "array<float>[3]"}} | more
    return found if of is None else {"model_class": f"tests.support.pytorch_models.{of}", **found}


@pytest.mark.parametrize(
    ("uri", "of"),
    [
        ("flowers.pt", "Flowers"),
        ("flowers.safetensors", "Flowers"),
        ("module.pt", None),
        ("script.pt", None),
        ("flowers.pt2", None),
    ],
)
def test_every_format_runs_there_and_says_the_same(folder: Path, uri: str, of: str | None) -> None:
    here = load_node(folder, FOUR, node(uri, of, device="cpu"))({"x": iris().x})["y"]
    there: Any = load_node(folder, FOUR, node(uri, of, device="gpu"))
    assert str(there.member.handler._device).startswith("cuda")
    np.testing.assert_allclose(there({"x": iris().x})["y"], here, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("uri", "dtype"), [("half.pt", "float16"), ("brain.pt", "bfloat16")])
def test_small_floats(folder: Path, uri: str, dtype: str) -> None:
    spec = node(uri, "typed", model_params={"dtype": dtype}, device="gpu")
    answer = load_node(folder, FOUR, spec)({"x": iris().x})["y"]
    assert (answer.argmax(1) == iris().y).mean() > 0.9


def test_auto_takes_the_gpu(folder: Path) -> None:
    member: Any = load_node(folder, FOUR, node("flowers.pt", "Flowers"))
    assert next(member.model.parameters()).is_cuda


def test_a_batch_that_its_memory_does_not_hold_is_halved_and_no_row_is_bad(
    folder: Path, torch_on_gpu: Any
) -> None:
    free, _ = torch_on_gpu.cuda.mem_get_info()
    spec = node("flowers.pt", "Hoarder", model_params={"row": free // 10}, device="gpu")
    member: Any = load_node(folder, FOUR, spec)
    fitting = FittingRows("node")
    columns, faults = run_split(member, {"x": iris().x}, 150, fitting=fitting)
    assert not faults
    assert len(columns["y"]) == 150
    assert fitting.most is not None
    assert 2 <= fitting.most <= 10
    here = load_node(folder, FOUR, node("flowers.pt", "Flowers", device="cpu"))({"x": iris().x})["y"]
    np.testing.assert_allclose(columns["y"], here, rtol=1e-4, atol=1e-4)


def test_a_row_that_its_memory_does_not_hold_fails_alone(folder: Path, torch_on_gpu: Any) -> None:
    free, _ = torch_on_gpu.cuda.mem_get_info()
    spec = node("flowers.pt", "Hoarder", model_params={"row": free * 2}, device="gpu", trial=False)
    _, faults = run_split(load_node(folder, FOUR, spec), {"x": iris().x[:3]}, 3)
    assert [fault.code for fault in faults.values()] == ["out_of_memory"] * 3


def test_a_model_that_its_memory_does_not_hold_never_ends_on_the_processor(
    folder: Path, torch_on_gpu: Any
) -> None:
    free, _ = torch_on_gpu.cuda.mem_get_info()
    held = torch_on_gpu.empty(free - (1 << 20), dtype=torch_on_gpu.uint8, device="cuda")
    torch_on_gpu.cuda.set_per_process_memory_fraction(1e-6)
    try:
        with pytest.raises(InvalidEnsemble, match="the model cannot run on the GPU"):
            load_node(folder, FOUR, node("flowers.pt", "Flowers", device="gpu"))
        member: Any = load_node(folder, FOUR, node("flowers.pt", "Flowers", device="auto"))
        assert member.handler._device.type == "cpu"
    finally:
        torch_on_gpu.cuda.set_per_process_memory_fraction(1.0)
        del held


def test_an_id_that_an_embedding_lacks_fails_alone_and_the_next_batch_goes_well(folder: Path) -> None:
    spec = node("words.pt", "Words", device="gpu", inputs={"ids": "ids", "mask": "mask"}, trial=False)
    member = load_node(folder, {"ids": "array<int64>[2]", "mask": "array<float>[2]"}, spec)
    ids, mask = np.ones((8, 2), np.int64), np.ones((8, 2), np.float32)
    ids[3, 1] = 99
    columns, faults = run_split(member, {"ids": ids, "mask": mask}, 8)
    assert {at: fault.code for at, fault in faults.items()} == {3: "wrong_value"}
    assert len(columns["y"]) == 7
    assert not run_split(member, {"ids": ids[:3], "mask": mask[:3]}, 3)[1]
