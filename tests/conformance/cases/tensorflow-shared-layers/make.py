"""Keras models of which one layer gives several outputs: it is called twice, or gives its states too."""

import numpy as np

from beam_ensembles.beam_repairs import inference_imports
from tests.support.conformance import write

inference_imports.import_handlers("tensorflow_inference")  # TensorFlow after PyTorch
import keras

keras.utils.set_random_seed(0)
left, right = keras.Input((3,), name="second"), keras.Input((3,), name="first")
shared = keras.layers.Dense(2, name="shared")
gap = keras.layers.Subtract(name="gap")([shared(left), keras.layers.Dense(2)(right)])
twins = keras.Model([left, right], [shared(left), shared(right), gap])
twins.save("twins.keras")
steps = keras.Input((None, 2), name="steps")
states = keras.Model(steps, keras.layers.LSTM(2, return_sequences=True, return_state=True)(steps))
states.save("states.keras")
x = np.linspace(-1, 1, 21, dtype=np.float32).reshape(7, 3)
s = np.linspace(-2, 2, 42, dtype=np.float32).reshape(7, 3, 2)
one, two, between = (given.numpy() for given in twins([x, x[::-1]], training=False))
every, last, carry = (given.numpy() for given in states(s, training=False))
rows = {"x": x, "y": x[::-1], "steps": s.reshape(7, 6)}
write(rows, one=one, two=two, gap=between, every=every.reshape(7, 6), last=last, carry=carry)
