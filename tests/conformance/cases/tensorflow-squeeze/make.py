"""A SavedModel that squeezes every dimension of 1, that of the rows too."""

import json

import tensorflow as tf

module = tf.Module()
spec = tf.TensorSpec([None, 3], tf.float32, name="x")


@tf.function(input_signature=[spec])
def call(x):
    return {"three": tf.squeeze(x * 2.0), "one": tf.squeeze(tf.reduce_sum(x, axis=1, keepdims=True))}


module.call = call
tf.saved_model.save(module, "m", {"serving_default": call})
rows = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [1.0, 0.0, 1.0]]
answer = {name: tensor.numpy().tolist() for name, tensor in call(tf.constant(rows)).items()}
with open("rows.jsonl", "w") as out, open("expected.jsonl", "w") as expected:
    for at, x in enumerate(rows):
        out.write(json.dumps({"x": x}) + "\n")
        expected.write(json.dumps({name: values[at] for name, values in answer.items()}) + "\n")
