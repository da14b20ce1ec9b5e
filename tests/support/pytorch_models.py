"""Small PyTorch models, trained on scikit-learn's data, in every way in which PyTorch saves one."""

from __future__ import annotations

import copy
import functools
import threading
import warnings
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import safetensors.torch
import torch
from torch import nn

from tests.support.models import diabetes, iris

HERE: Final = "tests.support.pytorch_models"
VOCABULARY: Final = 20


class Flowers(nn.Module):
    """Classifies iris flowers: ``[N, 4]`` to logits ``[N, 3]``."""

    def __init__(self, hidden: int = 8) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Dropout(0.5), nn.Linear(hidden, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.layers(x)
        return logits

    def proba(self, x: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
        return torch.softmax(self.layers(x) / temperature, -1)


class Patients(nn.Module):
    """Predicts a number from ten features, named or together with how sure it is."""

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(10, 1, dtype=torch.float64)

    def forward(self, bmi: torch.Tensor, others: torch.Tensor, scale: float = 1.0) -> dict[str, torch.Tensor]:
        x = torch.cat([bmi[:, None], others], 1)
        return {"progress": self.line(x)[:, 0] * scale, "inputs": x, "loss": x.sum()}


class Whole(Patients):
    """The same without the sum of all, which Beam's pairing of rows with answers cannot take."""

    def forward(self, bmi: torch.Tensor, others: torch.Tensor, scale: float = 1.0) -> dict[str, torch.Tensor]:
        found = super().forward(bmi, others, scale)
        return {name: found[name] for name in ("progress", "inputs")}


class Threads(nn.Module):
    """Returns for every row the thread in which this was loaded, and the one in which it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded = threading.get_native_id()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tensor([[self.loaded, threading.get_native_id()]] * len(x))


def typed(dtype: str) -> Flowers:
    """Creates the model with weights of a dtype."""
    return Flowers().to(getattr(torch, dtype))


class Answer(NamedTuple):
    logits: torch.Tensor
    label: torch.Tensor


class Shapes(nn.Module):
    """Returns its answer in the requested form."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.flowers = Flowers()

    def forward(self, x: torch.Tensor) -> Any:
        logits = self.flowers(x)
        label = logits.argmax(-1)
        if self.way == "tuple":
            return logits, {"label": label}, None
        if self.way == "named":
            return Answer(logits, label)
        if self.way == "list":
            return [row[: at % 2 + 1] for at, row in enumerate(logits)]
        return [{"boxes": row[None].expand(at % 3, 3), "score": row.max()} for at, row in enumerate(logits)]


class Words(nn.Module):
    """Sums the vectors of words that are not masked; ``generate`` says each row's first word over and over."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = nn.Embedding(VOCABULARY, 3)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.vectors(ids) * mask[..., None]
        return found.sum(1)

    def generate(self, ids: torch.Tensor, length: int = 2, times: int = 1) -> torch.Tensor:
        again = ids[:, :1].repeat_interleave(times, 0).repeat(1, length)
        return again + torch.arange(times).repeat(len(ids))[:, None]


class Greedy(Flowers):
    """Asks for more memory than there is as soon as it is given more than ``most`` rows."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.seen: list[int] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.append(len(x))
        if len(x) > self.most:
            torch.empty(1 << 60)
        return super().forward(x)


class Hoarder(Flowers):
    """Takes as much memory of its device for each row as it is told to."""

    def __init__(self, row: int) -> None:
        super().__init__()
        self.row = row

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        taken = torch.empty(len(x) * self.row, dtype=torch.uint8, device=x.device)
        return super().forward(x) + 0 * len(taken)


class Stubborn(Flowers):
    """Stays on the CPU."""

    def to(self, *args: Any, **kwargs: Any) -> Any:
        return self


class Spoiling(nn.Module):
    """Changes what it is given."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mul_(2)


def flowers(dtype: torch.dtype = torch.float32) -> Flowers:
    """Returns the model that tells iris flowers apart."""
    return copy.deepcopy(_trained()).to(dtype)


@functools.cache
@torch.enable_grad()
def _trained() -> Flowers:
    torch.manual_seed(0)
    model = Flowers()
    x, y = torch.tensor(iris().x, dtype=torch.float32), torch.tensor(iris().y)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(150):
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(model(x), y))
        optimizer.step()
    return model.eval()


def patients() -> Patients:
    """Fits a line to diabetes."""
    model, data = Patients(), diabetes()
    x = np.c_[data.x[:, 2], np.delete(data.x, 2, axis=1), np.ones(len(data.x))]
    found = np.linalg.lstsq(x, data.y, rcond=None)[0]
    model.line.weight.data, model.line.bias.data = torch.tensor(found[None, :-1]), torch.tensor(found[-1:])
    return model.eval()


def rounded(model: nn.Module, parts: int | None) -> nn.Module:
    """Rounds a model's weights to multiples of ``1 / parts``."""
    if parts is None:
        return model
    for weight in model.parameters():
        weight.data = torch.round(weight.data * parts) / parts
    return model


def make_pytorch(folder: Path, parts: int | None = None) -> None:
    """Writes the models; ``flowers`` in every way.

    Args:
        folder: Where.
        parts: Rounds the weights to multiples of ``1 / parts``; None leaves them as they are.
    """
    model = rounded(flowers(), parts)
    torch.save(model.state_dict(), folder / "flowers.pt")
    torch.save(model.state_dict(), folder / "legacy.bin", _use_new_zipfile_serialization=False)
    torch.save(model, folder / "module.pt")
    torch.save({"weights": model.state_dict(), "path": Path("x")}, folder / "checkpoint.pt")
    safetensors.torch.save_file(model.state_dict(), folder / "flowers.safetensors")
    for name, dtype in (("half", torch.float16), ("brain", torch.bfloat16), ("double", torch.float64)):
        torch.save(rounded(flowers(), parts).to(dtype).state_dict(), folder / f"{name}.pt")
    torch.save({f"flowers.{name}": value for name, value in model.state_dict().items()}, folder / "shapes.pt")
    torch.save(rounded(patients(), parts).state_dict(), folder / "patients.pt")
    torch.save({}, folder / "nothing.pt")
    torch.manual_seed(1)
    torch.save(Words().state_dict(), folder / "words.pt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is on its way out
        torch.jit.save(torch.jit.script(model), folder / "script.pt")
        torch.jit.save(torch.jit.script(patients()), folder / "patients_script.pt")
    export(model, (torch.zeros(2, 4),), {"x": {0: torch.export.Dim("rows")}}, folder / "flowers.pt2")
    export(model, (torch.zeros(2, 4),), None, folder / "fixed.pt2")
    named = {"bmi": {0: torch.export.Dim("rows")}, "others": {0: torch.export.Dim("rows")}, "scale": None}
    export(patients(), (torch.zeros(2).double(),), named, folder / "patients.pt2",
           {"others": torch.zeros(2, 9).double(), "scale": 2.0})  # fmt: skip


def export(
    model: nn.Module, given: tuple[Any, ...], open_: Any, path: Path, named: dict[str, Any] | None = None
) -> None:
    """Writes an exported program."""
    torch.export.save(torch.export.export(model, given, named, dynamic_shapes=open_), path)
