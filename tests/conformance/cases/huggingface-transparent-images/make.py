"""Images with one transparent colour: a processor that converts to RGB makes it white; else transparency is dropped."""

import base64
import io

import numpy as np
import torch
import transformers
from PIL import Image
from transformers.image_utils import load_image

from tests.support.conformance import write
from tests.support.transformers_models import MAKERS, Path

MAKERS["clip"](Path("model"))
rng = np.random.default_rng(5)
drawing = Image.fromarray(rng.integers(0, 255, (40, 60, 3), np.uint8)).quantize(4)
photo = Image.fromarray(rng.integers(0, 255, (40, 60, 4), np.uint8))


def encoded(image: Image.Image, kind: str = "PNG", **settings: object) -> bytes:
    """Returns the bytes of an image's file."""
    file = io.BytesIO()
    image.save(file, kind, **settings)
    return file.getvalue()


files = [
    encoded(drawing, transparency=1),
    encoded(drawing, "GIF", transparency=2),
    encoded(drawing),
    encoded(drawing.convert("L"), transparency=int(np.asarray(drawing.convert("L"))[0, 0])),
    encoded(photo),
]
pipe = transformers.pipeline("zero-shot-image-classification", "model", device="cpu")
classes = ["a cat", "the red dog", "anna in paris"]
said = []
with torch.no_grad():
    for file in files:
        image = load_image(Image.open(io.BytesIO(file)))
        said.append({one["label"]: one["score"] for one in pipe(image, candidate_labels=classes)})
ranked = [sorted(one, key=one.__getitem__, reverse=True) for one in said]
write(
    {"image": [base64.b64encode(file).decode() for file in files], "classes": [classes] * len(files)},
    labels=ranked,
    scores=[[one[name] for name in names] for one, names in zip(said, ranked, strict=True)],
)
