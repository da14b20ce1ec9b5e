"""Keras for tables, an input a column: scaled, looked up, hashed, tags counted; and the same as a SavedModel."""

import numpy as np

from beam_ensembles.beam_repairs import inference_imports
from tests.support.conformance import write

inference_imports.import_handlers("tensorflow_inference")  # TensorFlow after PyTorch
import keras
import tensorflow as tf

keras.utils.set_random_seed(0)
layers = keras.layers
size = keras.Input((1,), name="size")
rooms = keras.Input((1,), name="rooms", dtype="int64")
city = keras.Input((1,), name="city", dtype="string")
tags = keras.Input((3,), name="tags", dtype="string")
scale = layers.Normalization(axis=-1)
scale.adapt(np.array([[20.0], [70.0], [180.0]]))
joined = layers.Concatenate()(
    [
        scale(size),
        layers.Discretization([50.0, 100.0], output_mode="one_hot")(size),
        layers.IntegerLookup(vocabulary=[1, 3, 2], output_mode="one_hot")(rooms),
        layers.CategoryEncoding(4, output_mode="one_hot")(
            layers.StringLookup(vocabulary=["Köln", "Bonn"])(city)
        ),
        layers.StringLookup(vocabulary=["new", "lift", "quiet"], output_mode="multi_hot")(tags),
    ]
)
price = keras.Model([size, city, rooms, tags], layers.Dense(1, name="price")(joined))
price.save("price.keras")
price.export("served", verbose=False)
hashed = layers.Embedding(8, 2)(layers.Hashing(8, salt=3)(city))
bucket = keras.Model({"city": city}, {"code": layers.Flatten(name="code")(hashed)})
bucket.save("bucket.keras")
rows = {
    "size": np.array([20, 55.5, 180, 0, 99.9, 100, 1e6], np.float32),
    "rooms": [1, 2, 3, 4, -1, 0, 2],
    "city": ["Bonn", "Köln", "", "Ulm", "bonn", "Köln", "Bonn"],
    "tags": [
        ["new", "lift", ""],
        ["quiet"] * 3,
        ["", "", ""],
        ["old", "new", "quiet"],
        *[["lift", "x", "y"]] * 3,
    ],
}
given = {name: tf.constant(values) for name, values in rows.items()}
given |= {name: given[name][:, None] for name in ("size", "rooms", "city")}
said = price({**given, "rooms": tf.cast(given["rooms"], tf.int64)}, training=False).numpy()
write(rows, price=said[:, 0], served=said, code=bucket({"city": given["city"]})["code"].numpy())
