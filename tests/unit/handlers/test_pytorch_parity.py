"""A node of PyTorch gives exactly what Beam's bare RunInference gives with its own handlers, and both are metered."""

from __future__ import annotations

import functools
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.beam_repairs import inference_imports
from tests.support.models import diabetes, iris
from tests.support.parity import assert_parity

torch = pytest.importorskip("torch")

from tests.support import pytorch_models as models  # noqa: E402

ROWS = 40

# Sums of floats depend on their order, and so in the last bit on how many rows come together, in Beam as in an
# ensemble. Weights and features that are multiples of a power of two have sums without any rounding.


def _even(values: Any, parts: int) -> Any:
    return np.round(values * parts) / parts


def _flowers() -> Any:
    return _even(iris().x[:: 150 // ROWS][:ROWS], 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with PyTorch models."""
    folder = tmp_path_factory.mktemp("pytorch")
    models.make_pytorch(folder, parts=64)
    return folder


@pytest.fixture(scope="module")
def beams() -> Any:
    """Beam's module of handlers."""
    return inference_imports.import_handlers("pytorch_inference")


def _y(inference: Any) -> dict[str, Any]:
    return {"y": inference.float().numpy() if inference.dtype == torch.bfloat16 else inference.numpy()}


@pytest.mark.parametrize(
    ("file", "dtype", "type_"),
    [
        ("flowers", "float32", "float"),
        ("double", "float64", "double"),
        ("half", "float16", "float"),
        ("brain", "bfloat16", "float"),
    ],
)
def test_state_dicts(folder: Path, beams: Any, file: str, dtype: str, type_: str) -> None:
    handler = beams.PytorchModelHandlerTensor(str(folder / f"{file}.pt"), models.typed, {"dtype": dtype})
    x = _flowers()
    node = {
        "model": "pytorch", "uri": f"{file}.pt", "model_class": f"{models.HERE}.typed", "inputs": ["x"],
        "model_params": {"dtype": dtype}, "outputs": {"y": f"array<{type_}>[3]"},
    }  # fmt: skip
    rows = [{"x": row.tolist()} for row in x]
    examples = list(torch.tensor(x).to(getattr(torch, dtype)))
    assert_parity(folder, {"x": "array<double>[4]"}, node, rows, handler, examples, values=_y)


def test_torchscript(folder: Path, beams: Any) -> None:
    handler = beams.PytorchModelHandlerTensor(torch_script_model_path=str(folder / "script.pt"))
    handler.load_model = functools.partial(_quietly, handler.load_model)
    x = _flowers()
    node = {"model": "pytorch", "uri": "script.pt", "inputs": ["x"], "outputs": {"y": "array<float>[3]"}}
    rows = [{"x": row.tolist()} for row in x]
    assert_parity(
        folder, {"x": "array<double>[4]"}, node, rows, handler, list(torch.tensor(x).float()), values=_y
    )


def _quietly(load: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load()


def test_methods(folder: Path, beams: Any) -> None:
    call = beams.make_tensor_model_fn("proba")
    handler = beams.PytorchModelHandlerTensor(str(folder / "flowers.pt"), models.Flowers, inference_fn=call)
    x = _flowers()
    node = {
        "model": "pytorch", "uri": "flowers.pt", "model_class": f"{models.HERE}.Flowers", "inputs": ["x"],
        "method": "proba", "outputs": {"y": "array<float>[3]"},
    }  # fmt: skip
    rows = [{"x": row.tolist()} for row in x]
    assert_parity(
        folder, {"x": "array<double>[4]"}, node, rows, handler, list(torch.tensor(x).float()), values=_y
    )


def test_keyed_tensors_and_answers_by_name(folder: Path, beams: Any) -> None:
    x = _even(diabetes().x[:ROWS], 1024)
    handler = beams.PytorchModelHandlerKeyedTensor(str(folder / "patients.pt"), models.Whole)
    examples = [{"bmi": torch.tensor(row[2]), "others": torch.tensor(np.delete(row, 2))} for row in x]
    node = {
        "model": "pytorch", "uri": "patients.pt", "model_class": f"{models.HERE}.Whole",
        "inputs": {"bmi": "bmi", "others": "rest"},
        "outputs": {"progress": "double", "all": {"from": "inputs", "type": "array<double>[10]"}},
    }  # fmt: skip
    rows = [{"bmi": row[2], "rest": np.delete(row, 2).tolist()} for row in x]
    assert_parity(
        folder,
        {"bmi": "double", "rest": "array<double>[9]"},
        node,
        rows,
        handler,
        examples,
        values=lambda found: {"progress": found["progress"].item(), "all": found["inputs"].numpy()},
    )


def test_whole_numbers_and_generate(folder: Path, beams: Any) -> None:
    call = beams.make_keyed_tensor_model_fn("generate")
    handler = beams.PytorchModelHandlerKeyedTensor(str(folder / "words.pt"), models.Words, inference_fn=call)
    ids = np.arange(ROWS).reshape(-1, 2) % models.VOCABULARY
    node = {
        "model": "pytorch", "uri": "words.pt", "model_class": f"{models.HERE}.Words", "inputs": {"ids": "ids"},
        "method": "generate", "outputs": {"y": "array<int64>"},
    }  # fmt: skip
    rows = [{"ids": row.tolist()} for row in ids]
    examples = [{"ids": torch.tensor(row)} for row in ids]
    assert_parity(folder, {"ids": "array<int64>[2]"}, node, rows, handler, examples, values=_y)


def test_members_travel_unloaded(folder: Path) -> None:
    """What a pipeline carries to its workers names the model; it does not hold it."""
    from tests.support.nodes import check_node

    node = {"model": "pytorch", "uri": "script.pt", "inputs": ["x"], "outputs": {"y": "array<float>[3]"}}
    assert len(pickle.dumps(check_node(folder, {"x": "array<float>[4]"}, node))) < 2_000
