"""A SavedModel that squeezes every dimension of 1, that of the rows too."""

from beam_ensembles.beam_repairs import inference_imports
from tests.support.conformance import write

inference_imports.import_handlers("tensorflow_inference")  # TensorFlow after PyTorch
import tensorflow as tf

module = tf.Module()
spec = tf.TensorSpec([None, 3], tf.float32, name="x")


@tf.function(input_signature=[spec])
def call(x):
    return {"three": tf.squeeze(x * 2.0), "one": tf.squeeze(tf.reduce_sum(x, axis=1, keepdims=True))}


module.call = call
tf.saved_model.save(module, "m", {"serving_default": call})
rows = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [1.0, 0.0, 1.0]]
write({"x": rows}, **{name: tensor.numpy() for name, tensor in call(tf.constant(rows)).items()})
