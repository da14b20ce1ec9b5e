"""Sequences: padded lists with a mask, lists of any length, one Keras by list and by mapping, pictures of bytes."""

import numpy as np

from beam_ensembles.beam_repairs import inference_imports
from tests.support.conformance import write

inference_imports.import_handlers("tensorflow_inference")  # TensorFlow after PyTorch
import keras
import tensorflow as tf

keras.utils.set_random_seed(0)
layers = keras.layers
padded = keras.Sequential(
    [keras.Input((5,), dtype="int32"), layers.Embedding(9, 3, mask_zero=True), layers.GRU(2), layers.Dense(1)]
)
padded.save("padded.keras")
longer = keras.Sequential(
    [
        keras.Input((None,), dtype="int64", name="ids"),
        layers.Embedding(9, 3, mask_zero=True),
        layers.Bidirectional(layers.LSTM(2)),
        layers.LayerNormalization(),
    ]
)
longer.save("longer.keras")
words = keras.Sequential(
    [
        keras.Input((None,), dtype="string", name="words"),
        layers.StringLookup(vocabulary=["sat", "cat", "größer"], output_mode="count"),
        layers.Dense(2, activation="softmax"),
    ]
)
words.export("words", verbose=False)
seen = keras.Sequential(
    [
        keras.Input((4, 4, 1), dtype="uint8"),
        layers.Rescaling(1 / 255, offset=-0.5),
        layers.Conv2D(2, 3, padding="same", activation="relu"),
        layers.GlobalMaxPooling2D(),
    ]
)
seen.save("seen.keras")
rows = {
    "ids": [
        [1, 2, 3, 0, 0],
        [4, 0, 0, 0, 0],
        [5, 6, 7, 8, 1],
        [0, 0, 0, 0, 0],
        [2, 0, 3, 0, 0],
        [8, 8, 0, 0, 0],
    ],
    "open": [[1, 2, 3], [4], [5, 6, 7, 8, 1, 2, 3], [4], [2, 0, 3], [8, 8]],
    "words": [["cat", "sat"], ["the"], ["größer", "größer", "cat"], [""], ["a", "b", "c", "d"], ["sat"]],
    "picture": np.arange(6 * 16).reshape(6, 16) * 2 % 256,
}
write(
    rows,
    padded=padded(np.array(rows["ids"], np.int32), training=False).numpy()[:, 0],
    longer=[longer(np.array([ids]), training=False).numpy()[0] for ids in rows["open"]],
    topic=[words(tf.constant([texts]), training=False).numpy()[0] for texts in rows["words"]],
    seen=seen(rows["picture"].reshape(6, 4, 4, 1).astype(np.uint8), training=False).numpy(),
)
