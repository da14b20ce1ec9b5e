"""A module with signatures for several uses: inputs in no order, of every type, lists of any length.

Rows of any language have whole numbers of 32 and 64 bits: those that a smaller type has no room for fail.
"""

import numpy as np

from beam_ensembles.beam_repairs import inference_imports
from tests.support.conformance import write_pairs

inference_imports.import_handlers("tensorflow_inference")  # TensorFlow after PyTorch
import tensorflow as tf


def spec(name, dtype, *shape):
    return tf.TensorSpec([None, *shape], dtype, name=name)


class Module(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable([[1.5], [-2.0]])
        self.names = tf.constant(["low", "größer", "high"])

    @tf.function(input_signature=[spec("z", tf.float32, 2), spec("B", tf.float32, 2)])
    def difference(self, z, B):
        return {"score": (z - 2.0 * B) @ self.weight}

    @tf.function(input_signature=[spec("z", tf.float32, 2)])
    def label(self, z):
        place = tf.argmax(tf.concat([z, z[:, :1] * z[:, 1:]], 1), axis=1)
        return {"place": place, "label": tf.gather(self.names, place), "high": place == 2}

    @tf.function(
        input_signature=[
            spec("u", tf.uint8, 2),
            spec("i", tf.int64),
            spec("d", tf.float64),
            spec("h", tf.float16),
            spec("f", tf.bool),
        ]
    )
    def types(self, u, i, d, h, f):
        return {
            "bytes": tf.cast(u + tf.constant(200, tf.uint8), tf.int32),  # beyond 255 it begins anew
            "whole": i * 3,
            "long": d / 3.0,
            "half": tf.cast(h * tf.constant(1.1, tf.float16), tf.float32),
            "brain": tf.cast(d, tf.bfloat16) * tf.constant(1.1, tf.bfloat16),
            "other": tf.logical_not(f),
        }

    @tf.function(input_signature=[spec("ids", tf.int64, None)])
    def spread(self, ids):
        return {"total": tf.reduce_sum(ids, axis=1), "twice": ids * 2}


module = Module()
signatures = {
    "serving_default": module.difference,
    "label": module.label,
    "types": module.types,
    "spread": module.spread,
}
tf.saved_model.save(module, "m", signatures)
x = np.array([[0.5, -1], [2, 3], [0, 0], [-1, -7], [1e3, 1e-3], [-0.0, 1]], np.float32)
rows = {
    "x": x,
    "y": x[::-1],
    "u": [[at * 50, at] for at in range(6)],
    "i": [0, -1, 2**53 + 1, 7, -(2**60), 3],
    "d": [0.1, -1e300, 3.0, 1e-310, 0.0, 2.0],
    "h": [0.5, -2, 6e4, 1e-7, 0, 1],
    "f": [True, False, True, True, False, False],
    "ids": [[1, 2], [], [3], [4, 5, 2**40], [], [-6, 7]],
}
label = module.label(x)
types = module.types(
    np.array(rows["u"], np.uint8),
    tf.constant(rows["i"], tf.int64),
    tf.constant(rows["d"], tf.float64),
    np.array(rows["h"], np.float16),
    rows["f"],
)
said = dict(
    score=module.difference(x, x[::-1])["score"].numpy(),
    label=[text.decode() for text in label["label"].numpy()],
    place=label["place"].numpy(),
    high=label["high"].numpy(),
    **{name: tf.cast(types[name], tf.float32).numpy() for name in ("half", "brain")},
    **{name: types[name].numpy() for name in ("bytes", "whole", "long", "other")},
    twice=[[2 * one for one in ids] for ids in rows["ids"]],
    total=[sum(ids) for ids in rows["ids"]],
)
pairs = [
    ({name: column[at] for name, column in rows.items()}, {name: column[at] for name, column in said.items()})
    for at in range(6)
]
fitting = pairs[0][0]
for wrong in ({"u": [1, 256]}, {"u": [-1, 0]}, {"h": 7e4}):
    pairs.insert(2, (fitting | wrong, {"error": "types wrong_value"}))
write_pairs(pairs)
