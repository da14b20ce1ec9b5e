"""Small TensorFlow models in every form, made once a test session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from beam_ensembles.beam_repairs import inference_imports
from tests.support.models import diabetes, iris

tf = inference_imports.import_handlers("tensorflow_inference").tf  # in the order that it needs
keras = tf.keras


def make_tensorflow(folder: Path) -> None:
    """Writes models trained on iris and diabetes, and small ones of other shapes.

    ``iris.keras`` gives the probabilities of three classes, ``iris`` is the same as a SavedModel; ``diabetes.keras``
    gives a number; ``pair.keras`` takes ``a`` and ``b`` and gives ``p`` and ``q``; ``iris.weights.h5`` are the weights
    of ``iris_network``; ``double.keras`` works in float64.
    """
    keras.utils.set_random_seed(3)
    flowers, patients = iris(), diabetes()
    network = iris_network()
    network.compile("adam", "sparse_categorical_crossentropy")
    network.fit(flowers.x, flowers.y, epochs=2, verbose=0)
    network.save(folder / "iris.keras")
    network.save(folder / "iris.h5")
    network.save_weights(folder / "iris.weights.h5")
    network.export(folder / "iris", verbose=False)
    number = keras.Sequential(
        [keras.Input((10,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)]
    )
    number.compile("adam", "mse")
    number.fit(patients.x, patients.y, epochs=1, verbose=0)
    number.save(folder / "diabetes.keras")
    pair().save(folder / "pair.keras")
    keras.Sequential([keras.Input((4,), dtype="float64"), keras.layers.Dense(2, dtype="float64")]).save(
        folder / "double.keras"
    )
    twice = keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda x: x * 2)])
    twice.save(folder / "lambda.keras")
    make_modules(folder)


def iris_network(width: int = 8) -> Any:
    """Creates a network for iris, untrained."""
    dense = keras.layers.Dense
    return keras.Sequential(
        [
            keras.Input((4,), name="x"),
            dense(width, activation="relu"),
            dense(3, activation="softmax", name="proba"),
        ]
    )


def pair() -> Any:
    """Creates a model of two inputs and two outputs."""
    a, b = keras.Input((2,), name="a"), keras.Input((3,), name="b")
    both = keras.layers.Concatenate()([a, b])
    outputs = {"p": keras.layers.Dense(1, name="p")(both), "q": keras.layers.Dense(2, name="q")(both)}
    return keras.Model([a, b], outputs)


def make_modules(folder: Path) -> None:
    """Writes SavedModels that are not Keras models.

    ``arithmetic`` adds and multiplies ``a`` and ``b``, and by its signature ``scaled`` ``x`` and a number ``by``;
    ``words`` makes texts upper case, by its signature ``split`` lists of words, and by ``join`` a text of such a
    list; ``reader`` reads whatever file a row names; ``plain`` has no signature, and is itself called to add one.
    """
    ints, floats, texts = (
        tf.TensorSpec([None], tf.int64),
        tf.TensorSpec([None, None], tf.float32),
        tf.TensorSpec([None], tf.string),
    )
    both = _traced(lambda a, b: {"total": a + b, "product": a * b}, ints, ints)
    scaled = _traced(lambda x, by: {"y": x * by}, floats, tf.TensorSpec([], tf.float32))
    shout = _traced(lambda text: {"loud": tf.strings.upper(text)}, texts)
    read = _traced(lambda path: {"content": tf.map_fn(tf.io.read_file, path)}, texts)
    _save(folder / "arithmetic", serving_default=both, scaled=scaled)
    split = _traced(lambda text: {"words": tf.strings.split(text)}, texts)
    lists = tf.TensorSpec([None, None], tf.string)
    join = _traced(lambda words: {"text": tf.strings.reduce_join(words, axis=1, separator=" ")}, lists)
    _save(folder / "words", serving_default=shout, split=split, join=join)
    _save(folder / "reader", serving_default=read)
    plain = tf.Module()
    plain.__call__ = _traced(lambda x: x + 1.0, tf.TensorSpec([None, 2], tf.float32))
    tf.saved_model.save(plain, str(folder / "plain"), {})  # {}: no signature is made up


def make_tables(folder: Path) -> None:
    """Writes ``tables``, which computes with all that keeps something, and ``words``, which works on texts."""
    vocabulary = folder / "vocabulary.txt"
    vocabulary.write_text("a\nb\n")
    module = tf.Module()
    module.of_file = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            str(vocabulary),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        -1,
    )
    texts = tf.constant(["a", "b"])
    module.of_texts = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(texts, tf.constant([0, 1], tf.int64)), 2
    )
    module.filled = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "$")
    module.weight, module.random = tf.Variable([1.0]), tf.random.Generator.from_seed(1)

    def call(text: Any) -> Any:
        at = module.of_file.lookup(text) + module.of_texts.lookup(text) + module.filled.lookup(text)
        grown = tf.while_loop(lambda x: tf.reduce_sum(x) < 9.0, lambda x: x * 2.0 + 1.0, [module.weight])[0]
        chosen = tf.cond(tf.reduce_sum(grown) > 20.0, lambda: grown - 1.0, lambda: grown)
        return {"at": tf.cast(at, tf.float32) + chosen + module.random.normal([1])}

    module.call = _traced(call, tf.TensorSpec([None], tf.string))
    tf.saved_model.save(module, str(folder / "tables"), module.call)
    _save(folder / "words", serving_default=_traced(_words, tf.TensorSpec([None], tf.string)))


def _words(text: Any) -> Any:
    return {"words": tf.strings.regex_replace(tf.strings.split(tf.strings.lower(text)), "a", "b").to_tensor()}


def make_attacks(folder: Path) -> None:
    """Writes models each of which does what its name says with the path of each row."""

    def gradient(path: Any) -> Any:
        x = tf.cast(tf.strings.length(path), tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = _writing_gradient(x, path)
        return tape.gradient(y, x)

    def lines(path: Any) -> Any:
        return tf.data.experimental.get_single_element(tf.data.TextLineDataset(path).take(1))

    def table(path: Any) -> Any:
        handle = tf.raw_ops.AnonymousHashTable(key_dtype=tf.int64, value_dtype=tf.string)
        tf.raw_ops.InitializeTableFromTextFileV2(
            table_handle=handle, filename=path[0], key_index=-1, value_index=-2
        )
        return tf.raw_ops.LookupTableFindV2(
            table_handle=handle, keys=tf.zeros_like(path, tf.int64), default_value=""
        )

    def restores(path: Any) -> Any:
        return tf.raw_ops.RestoreV2(
            prefix=path[0], tensor_names=["x"], shape_and_slices=[""], dtypes=[tf.float32]
        )[0]

    attacks = {
        "lists_files": lambda path: tf.io.matching_files(path),
        "reads_lines": lines,
        "reads_in_a_branch": lambda path: tf.cond(
            tf.size(path) > 0, lambda: tf.io.read_file(path[0]), lambda: path[0]
        ),
        "reads_in_a_loop": lambda path: tf.map_fn(tf.io.read_file, path),
        "writes_in_a_gradient": gradient,
        "calls_python": lambda path: tf.py_function(lambda x: x, [path], tf.string),
        "restores": restores,
        "fills_a_table": table,
    }
    make_prints(folder)
    for name, attack in attacks.items():
        _save(folder / name, serving_default=_answering(attack))


def make_prints(folder: Path) -> None:
    """Writes ``prints``, which writes each row into ``printed.txt``."""

    def prints(path: Any) -> Any:
        tf.print(path, output_stream=f"file://{folder}/printed.txt")
        return tf.strings.length(path)

    _save(folder / "prints", serving_default=_answering(prints))


def _answering(attack: Callable[[Any], Any]) -> Any:
    return _traced(lambda path: {"y": attack(path)}, tf.TensorSpec([None], tf.string))


def _writing_gradient(x: Any, path: Any) -> Any:
    def same(x: Any) -> Any:
        def upstream(dy: Any) -> Any:
            with tf.control_dependencies([tf.io.write_file(path[0], "x")]):
                return tf.identity(dy)

        return tf.identity(x), upstream

    return tf.custom_gradient(same)(x)


def _traced(function: Callable[..., Any], *specs: Any) -> Any:
    return tf.function(function, input_signature=specs)


def _save(folder: Path, **signatures: Any) -> None:
    module = tf.Module()
    module.kept = list(signatures.values())
    tf.saved_model.save(module, str(folder), signatures)


def small_mobilenet(**params: Any) -> Any:
    """Creates a network for pictures."""
    return keras.applications.mobilenet_v2.MobileNetV2(**params)
