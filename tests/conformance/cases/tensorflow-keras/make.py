"""Keras with two inputs, two outputs, dropout and batch norm; the same as a SavedModel; and a file of HDF5."""

import numpy as np

from beam_ensembles.beam_repairs import inference_imports
from tests.support.conformance import write

inference_imports.import_handlers("tensorflow_inference")  # TensorFlow after PyTorch
import keras

keras.utils.set_random_seed(0)
x, n = keras.Input((3,), name="x"), keras.Input((2,), name="n", dtype="int32")
words = keras.layers.Flatten()(keras.layers.Embedding(5, 2)(n))
joined = keras.layers.BatchNormalization()(keras.layers.Concatenate()([keras.layers.Dropout(0.5)(x), words]))
score = keras.layers.Dense(1, name="score")(joined)
kinds = keras.layers.Dense(2, activation="softmax", name="kinds")(joined)
model = keras.Model({"x": x, "n": n}, {"score": score, "kinds": kinds})
model.save("two.keras")
model.export("saved", verbose=False)
old = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
old.save("old.h5")
rows = {
    "x": np.linspace(-1, 1, 21, dtype=np.float32).reshape(7, 3),
    "n": np.array([[at % 5, (at * 3) % 5] for at in range(7)], np.int32),
}
given = {name: value.numpy() for name, value in model(rows, training=False).items()}
write(
    rows,
    score=given["score"][:, 0],
    kinds=given["kinds"],
    saved_score=given["score"],
    saved_kinds=given["kinds"],
    old=old(rows["x"], training=False).numpy(),
)
