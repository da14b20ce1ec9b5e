"""Makes the network of the image ensemble and its pictures, the same ones on every run.

Nobody taught the network anything: it takes as long as one that was taught.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image, ImageDraw

from tests.benchmarks.image import bare

SEED: Final = 29
SIDE: Final = 64
SHAPES: Final = 6
GRAIN: Final = 6.0
"""Standard deviation of the noise on the pictures, of 255."""


def pictures(count: int) -> list[bytes]:
    """Makes PNG files: shapes on a ground that gets darker to one side, with grain, as of a camera."""
    random = np.random.default_rng(SEED)
    return [_png(random) for _ in range(count)]


def _png(random: np.random.Generator) -> bytes:
    first, last = random.integers(0, 256, (2, 3))
    slope = np.linspace(0, 1, SIDE)[:, None, None]
    ground = np.broadcast_to(first * (1 - slope) + last * slope, (SIDE, SIDE, 3))
    picture = Image.fromarray(ground.astype(np.uint8))
    _draw(ImageDraw.Draw(picture), random)
    grained = np.asarray(picture) + random.normal(0, GRAIN, (SIDE, SIDE, 1))
    file = io.BytesIO()
    Image.fromarray(grained.clip(0, 255).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


def _draw(draw: ImageDraw.ImageDraw, random: np.random.Generator) -> None:
    for _ in range(SHAPES):
        left, top = (int(at) for at in random.integers(0, SIDE - 8, 2))
        width, height = (int(size) for size in random.integers(8, SIDE // 2, 2))
        shape: Any = draw.ellipse if random.random() < 0.5 else draw.rectangle
        shape((left, top, left + width, top + height), fill=tuple(map(int, random.integers(0, 256, 3))))


def train(folder: Path) -> None:
    """Makes the network and saves its weights as PyTorch does."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    network = bare.new_network()
    torch.nn.init.normal_(network.classifier[1].weight, std=0.1)  # or it would say of all pictures the same
    torch.save(network.state_dict(), folder / "network.pt")
