"""One PNG file per row and a small convolutional network: bytes cross, and decoding them is part of the work.

The network has learned nothing, which takes as long.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from scripts.made import Made
from tests.benchmarks.workload import FEW, Array, Columns, Score, Workload

LABELS: Final = ("airplane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
MEAN: Final = (0.485, 0.456, 0.406)
STD: Final = (0.229, 0.224, 0.225)
SEED: Final = 29
SIDE: Final = 64
SHAPES: Final = 6
GRAIN: Final = 6.0
"""Standard deviation of the noise on the pictures, of 255."""


class Image(Workload):
    """The image ensemble."""

    name = "image"
    fields: ClassVar = {"picture": bytes}
    outputs: ClassVar = {"label": "string", "confidence": "double"}
    answer = ("confidence", None)
    rows_at_once = 64
    different = FEW

    def prepare(self) -> Array:
        """Creates the network if needed; the pictures are made up, the same on every run."""
        product, sources = self.models / "network.pt", [self.folder / "workload.py"]
        Made(self.models / ".made", (product,), lambda: sources).make(self._make)
        random = np.random.default_rng(SEED)
        return np.array([_png(random) for _ in range(FEW)], object)

    def _make(self) -> None:
        import torch

        self.models.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(SEED)
        network = new_network()
        torch.nn.init.normal_(network.classifier[1].weight, std=0.1)  # or all pictures get the same answer
        torch.save(network.state_dict(), self.models / "network.pt")

    def load(self) -> Score:
        import torch

        network = new_network()
        network.load_state_dict(torch.load(self.models / "network.pt", weights_only=True))
        names = np.array(LABELS, object)

        def score(columns: Columns) -> dict[str, Array]:
            with torch.inference_mode():
                proba = network(_scaled(columns["picture"])).softmax(-1).numpy()
            return {"label": names[proba.argmax(axis=1)], "confidence": proba.max(axis=1).astype(np.float64)}

        return score

    def features(self, row: Any) -> Any:
        """Returns the picture, decoded and scaled: ``[3, 64, 64]``."""
        return _scaled(np.array([row.picture], object))[0]

    def handlers(self) -> Mapping[str, Any]:
        from beam_ensembles.beam_repairs.inference_imports import import_handlers
        from tests.benchmarks import members

        inference = import_handlers("pytorch_inference")
        handler = inference.PytorchModelHandlerTensor(
            state_dict_path=str(self.models / "network.pt"), model_class=new_network, model_params={},
            **members.batches_of(self.rows_at_once),
        )  # fmt: skip
        return {"network": handler}

    def joined(self, found: Mapping[str, Any]) -> dict[str, Any]:
        proba = found["network"].inference.softmax(-1)
        best = int(proba.argmax())
        return {"label": LABELS[best], "confidence": float(proba[best])}


def new_network() -> Any:
    """Creates the network, with random weights."""
    from torchvision.models import squeezenet1_1

    return squeezenet1_1(weights=None, num_classes=len(LABELS)).eval()


def _scaled(pictures: Array) -> Any:
    """Decodes pictures and scales them as the network takes them: a tensor ``[N, 3, 64, 64]`` of float."""
    import torch
    from PIL import Image as Pictures

    pixels = np.stack([np.asarray(Pictures.open(io.BytesIO(one)).convert("RGB")) for one in pictures])
    mean, std = (torch.tensor(values).reshape(3, 1, 1) for values in (MEAN, STD))
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float().div_(255).sub_(mean).div_(std)


def _png(random: np.random.Generator) -> bytes:
    """Creates a PNG file: shapes on a ground that gets darker to one side, with grain, as of a camera."""
    from PIL import Image as Pictures
    from PIL import ImageDraw

    first, last = random.integers(0, 256, (2, 3))
    slope = np.linspace(0, 1, SIDE)[:, None, None]
    ground = np.broadcast_to(first * (1 - slope) + last * slope, (SIDE, SIDE, 3))
    picture = Pictures.fromarray(ground.astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    for _ in range(SHAPES):
        left, top = (int(at) for at in random.integers(0, SIDE - 8, 2))
        width, height = (int(size) for size in random.integers(8, SIDE // 2, 2))
        shape: Any = draw.ellipse if random.random() < 0.5 else draw.rectangle
        shape((left, top, left + width, top + height), fill=tuple(map(int, random.integers(0, 256, 3))))
    grained = np.asarray(picture) + random.normal(0, GRAIN, (SIDE, SIDE, 1))
    file = io.BytesIO()
    Pictures.fromarray(grained.clip(0, 255).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


WORKLOAD = Image()
