"""Keras with a dictionary of inputs and one of outputs, which computes in 16 bits between heads of 32; and exported."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from tests.support.conformance import write

keras.utils.set_random_seed(1)
inputs = {
    "num": keras.Input((4,), name="num"),
    "city": keras.Input((1,), name="city", dtype="string"),
    "kids": keras.Input((1,), name="kids", dtype="int32"),
}
scale = layers.Normalization(mean=[1.0, 2.0, 3.0, 4.0], variance=[1.0, 4.0, 0.25, 9.0])
known = layers.StringLookup(vocabulary=["Ulm", "Köln"], output_mode="one_hot")
counts = layers.IntegerLookup(vocabulary=[1, 2, 5], output_mode="one_hot")
joined = layers.Concatenate()([scale(inputs["num"]), known(inputs["city"]), counts(inputs["kids"])])
hidden = layers.Dense(8, activation="relu", dtype="mixed_float16")(joined)
outputs = {
    "cls": layers.Dense(3, activation="softmax", name="cls", dtype="float32")(hidden),
    "reg": layers.Dense(1, name="reg", dtype="float32")(hidden),
}
model = keras.Model(inputs, outputs)
model.save("heads.keras")
model.export("exported", verbose=False)
cities, kids = ["Ulm", "Köln", "", "ulm", "Ulm", "?"], [1, 2, 5, 7, 0, -1]
numbers = np.linspace(-4, 4, 24).round().reshape(6, 4).astype("float32")
rows = {"num": numbers, "city": np.array(cities, dtype=object)[:, None], "kids": np.array(kids)[:, None]}
found = model(
    {name: tf.constant(values, "string" if name == "city" else None) for name, values in rows.items()}
)
cls, reg = found["cls"].numpy(), found["reg"].numpy()[:, 0]
write({"num": numbers, "city": cities, "kids": kids}, cls=cls, reg=reg, cls2=cls, reg2=reg)
