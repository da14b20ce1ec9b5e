"""Sounds of different lengths: the silence that would pad a short one beside a long one changes its answer."""

import numpy as np
import torch
import transformers

from tests.support.conformance import write_pairs
from tests.support.transformers_models import MAKERS, Path

MAKERS["sounds"](Path("model"))
extractor = transformers.AutoFeatureExtractor.from_pretrained("model")
model = transformers.AutoModelForAudioClassification.from_pretrained("model")
rng = np.random.default_rng(4)
said = []
for size in (800, 4_000, 800, 1_600, 4_000):
    sound = rng.normal(0, 0.1, size).astype(np.float32)
    given = extractor(sound, sampling_rate=extractor.sampling_rate, return_tensors="pt")
    with torch.no_grad():
        odds = model(**given).logits[0].softmax(0)
    label = model.config.id2label[int(odds.argmax())]
    said.append(({"sound": sound}, {"label": label, "probabilities": odds}))
write_pairs([*said, ({"sound": []}, {"error": "animal wrong_value"})])
