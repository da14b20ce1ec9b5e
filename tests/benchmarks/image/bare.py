"""The network of the image ensemble, and how its pictures are decoded."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.benchmarks.bare import Array, Columns, Score

ROWS: Final = 64
OUTPUTS: Final[Mapping[str, str]] = {"label": "string", "confidence": "double"}
ANSWER: Final = ("confidence", None)
LABELS: Final = ("airplane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
MEAN: Final = (0.485, 0.456, 0.406)
STD: Final = (0.229, 0.224, 0.225)


def load(models: Path) -> Score:
    """Loads the network."""
    import torch

    network = new_network()
    network.load_state_dict(torch.load(models / "network.pt", weights_only=True))
    names = np.array(LABELS, object)

    def score(columns: Columns) -> dict[str, Array]:
        with torch.inference_mode():
            proba = network(scaled(columns["picture"])).softmax(-1).numpy()
        return {"label": names[proba.argmax(axis=1)], "confidence": proba.max(axis=1).astype(np.float64)}

    return score


def new_network() -> Any:
    """Makes the network, with weights by chance."""
    from torchvision.models import squeezenet1_1

    return squeezenet1_1(weights=None, num_classes=len(LABELS)).eval()


def scaled(pictures: Array) -> Any:
    """Decodes pictures and scales them as the network takes them: a tensor ``[N, 3, 64, 64]`` of float."""
    import torch
    from PIL import Image

    pixels = np.stack([np.asarray(Image.open(io.BytesIO(one)).convert("RGB")) for one in pictures])
    mean, std = (torch.tensor(values).reshape(3, 1, 1) for values in (MEAN, STD))
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float().div_(255).sub_(mean).div_(std)
