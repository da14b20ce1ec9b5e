"""Builds a Mask R-CNN without training, and draws pictures to look for things in.

The weights are random, so what it finds means nothing, but they are as many as those that torchvision publishes.
README.md says how to get these.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw
from torchvision.models.detection import maskrcnn_resnet50_fpn

HERE = Path(__file__).resolve().parent
ROWS = Path("build", "examples", "detection", "images")
SEED = 5
LABELS_SEED = 12
PICTURES = 3
SIZES = ((320, 240), (240, 320), (224, 224))
FORMATS = ("jpg", "png", "webp")
SHAPES = 5


def weights() -> dict[str, torch.Tensor]:
    """Returns random weights with which the model is sure of some things, as one that has learnt is."""
    torch.manual_seed(SEED)
    model = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    for name, layer in model.backbone.named_modules():
        if name.endswith(
            "bn3"
        ):  # the last one of each block: without it what 16 blocks add grows without bound
            torch.nn.init.constant_(layer.weight, 0.2)
    random = torch.Generator().manual_seed(LABELS_SEED)
    torch.nn.init.normal_(model.roi_heads.box_predictor.cls_score.weight, std=3, generator=random)
    return dict(model.state_dict())


def draw(random: np.random.Generator, size: tuple[int, int]) -> Image.Image:
    """Draws a picture of some coloured shapes."""
    picture = Image.new("RGB", size, tuple(random.integers(0, 256, 3).tolist()))
    pen = ImageDraw.Draw(picture)
    for _ in range(SHAPES):
        left, top, right, bottom = (random.random((2, 2)) * size).astype(int).ravel().tolist()
        box = (min(left, right), min(top, bottom), max(left, right), max(top, bottom))
        shape = pen.ellipse if random.random() < 0.5 else pen.rectangle
        shape(box, fill=tuple(random.integers(0, 256, 3).tolist()))
    return picture


def main() -> None:
    """Saves the weights, and the pictures; one of the files is none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--models", type=Path, default=HERE / "models", help="folder of the weights (%(default)s)"
    )
    parser.add_argument("--rows", type=Path, default=ROWS, help="folder of the pictures (%(default)s)")
    flags = parser.parse_args()

    flags.models.mkdir(parents=True, exist_ok=True)
    torch.save(weights(), flags.models / "maskrcnn_resnet50_fpn.pth")

    flags.rows.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(SEED)
    for at in range(PICTURES):
        picture = draw(random, SIZES[at % len(SIZES)])
        picture.save(flags.rows / f"picture-{at}.{FORMATS[at % len(FORMATS)]}")
    (flags.rows / "notes.jpg").write_text("No picture, whatever its name says.\n", encoding="utf-8")
    print(f"{PICTURES} pictures, and a file that is none, in {flags.rows}")


if __name__ == "__main__":
    main()
