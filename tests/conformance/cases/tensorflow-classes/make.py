"""Classifiers of Keras: one probability (sigmoid), one each of three classes, raw scores; two of them vote."""

import numpy as np

from beam_ensembles.beam_repairs import inference_imports
from tests.support.conformance import write

inference_imports.import_handlers("tensorflow_inference")  # TensorFlow after PyTorch
import keras
from sklearn.datasets import load_iris

keras.utils.set_random_seed(0)
data = load_iris()


def classifier(units, activation):
    norm = keras.layers.BatchNormalization()
    model = keras.Sequential(
        [
            keras.Input((4,), name="petals"),
            keras.layers.Rescaling(0.2),
            keras.layers.Dropout(0.2),
            norm,
            keras.layers.Dense(units, activation=activation, name="out"),
        ]
    )
    norm.moving_mean.assign([1.1, 0.6, 0.7, 0.2])
    return model


two = classifier(1, "sigmoid")
three = classifier(3, "softmax")
raw = classifier(3, None)
two.save("two.keras")
three.export("three", verbose=False)
raw.save("raw.h5")
rows = data.data[::13].astype(np.float32)
odds, scores = three(rows, training=False).numpy(), raw(rows, training=False).numpy()
shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
one = two(rows, training=False).numpy()[:, 0]
mean = (odds.astype(float) + shares[:, ::-1]) / 2
kinds = {"is_virginica": one >= 0.5, "species": data.target_names[mean.argmax(axis=1)]}
write({"petals": rows}, virginica=one, **kinds, confidence=mean.max(axis=1))
