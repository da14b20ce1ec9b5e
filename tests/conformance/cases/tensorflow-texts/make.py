"""Keras that reads texts: its vocabulary lies in the file."""

from beam_ensembles.beam_repairs import inference_imports
from tests.support.conformance import write

inference_imports.import_handlers("tensorflow_inference")  # TensorFlow after PyTorch
import keras
import tensorflow as tf

keras.utils.set_random_seed(0)
words = keras.layers.TextVectorization(max_tokens=20, output_sequence_length=4)
words.adapt(tf.constant(["a cat sat", "the market fell", "größer als a cat"]))
model = keras.Sequential(
    [
        keras.Input((), dtype="string"),
        words,
        keras.layers.Embedding(20, 3),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(2, activation="softmax"),
    ]
)
model.save("topic.keras")
rows = ["a cat", "the market fell again", "", "größer", "a a a a a a", "sat"]
write({"text": rows}, topic=model(tf.constant(rows), training=False).numpy())
