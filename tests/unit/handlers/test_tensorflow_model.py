"""TensorFlow nodes in every form of model, checked without TensorFlow and run with it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import InvalidEnsemble, NodeError
from beam_ensembles.files.ensemble_files import sha256_of
from tests.support import squeezing
from tests.support.models import iris
from tests.support.nodes import check_node, load_node, problems_of, types_of

FLOWER = {"x": "array<double>[4]"}
NETWORK = "tests.support.tensorflow_models.iris_network"


@pytest.fixture
def models(tensorflow_models: Path) -> Path:
    return tensorflow_models


def node(uri: str, outputs: Any = None, inputs: Any = ("x",), **options: Any) -> dict[str, Any]:
    found = list(inputs) if isinstance(inputs, tuple) else inputs
    return {"model": "tensorflow", "uri": uri, "inputs": found, "outputs": outputs or {"y": None}, **options}


def loaded(models: Path, uri: str) -> Any:
    from beam_ensembles.beam_repairs import inference_imports

    return inference_imports.import_handlers("tensorflow_inference").tf.keras.models.load_model(models / uri)


@pytest.mark.parametrize(
    ("uri", "wanted"),
    [("iris.keras", "array<float>[3]"), ("iris", "array<float>[3]"), ("double.keras", "array<double>[2]")],
)
def test_types_are_those_of_the_model(models: Path, uri: str, wanted: str) -> None:
    assert types_of(models, FLOWER, node(uri)) == {"y": wanted}


def test_each_output_of_a_signature_has_its_own_type(models: Path) -> None:
    inputs = {"left": "int64", "right": "int32"}
    ports = {"a": "left", "b": "right"}
    one = node("arithmetic", {"total": None, "times": {"from": "product"}}, ports)
    assert types_of(models, inputs, one) == {"total": "int64", "times": "int64"}
    member = load_node(models, inputs, one)
    answer = member({"left": np.array([2, 3]), "right": np.array([4, 5], np.int32)})
    assert {name: values.tolist() for name, values in answer.items()} == {"total": [6, 8], "times": [8, 15]}


@pytest.mark.parametrize("handler", ["numpy", "tensor"])
@pytest.mark.parametrize(
    ("uri", "options"),
    [
        ("iris.keras", {}),
        (
            "iris.keras",
            {"inference_args": {"training": False}, "config": {"load_model_args": {"compile": True}}},
        ),
        ("iris.h5", {}),
        ("iris", {}),
        ("iris", {"signature": "serve"}),
    ],
)
def test_a_network_gives_its_probabilities(
    models: Path, uri: str, options: dict[str, Any], handler: str
) -> None:
    x = iris().x
    one = node(uri, {"y": "array<float>[3]"}, handler=handler, **options)
    answer = load_node(models, FLOWER, one)({"x": x})["y"]
    np.testing.assert_allclose(answer, np.asarray(loaded(models, "iris.keras")(x)), rtol=1e-6)


def test_columns_are_joined_to_the_one_input(models: Path) -> None:
    inputs = {"a": "double", "b": "float", "c": "array<double>[2]"}
    x = iris().x
    one = node("iris.keras", {"y": "array<double>[3]"}, ("a", "b", "c"))
    answer = load_node(models, inputs, one)({"a": x[:, 0], "b": x[:, 1].astype(np.float32), "c": x[:, 2:]})[
        "y"
    ]
    np.testing.assert_allclose(answer, np.asarray(loaded(models, "iris.keras")(x)), rtol=1e-5)


def test_several_inputs_and_outputs_of_a_keras_model_go_by_name(models: Path) -> None:
    inputs = {"one": "array<float>[2]", "two": "array<float>[3]"}
    outputs = {"p": None, "second": {"from": "q"}}
    one = node("pair.keras", outputs, {"a": "one", "b": "two"})
    assert types_of(models, inputs, one) == {"p": "array<float>[1]", "second": "array<float>[2]"}
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 2), np.float32), rng.random((5, 3), np.float32)
    answer = load_node(models, inputs, one)({"one": a, "two": b})
    wanted = loaded(models, "pair.keras")({"a": a, "b": b})
    np.testing.assert_array_equal(answer["p"], wanted["p"])
    np.testing.assert_array_equal(answer["second"], wanted["q"])


def test_a_function_makes_the_model_of_the_weights(models: Path) -> None:
    one = node(
        "iris.weights.h5", {"y": "array<float>[3]"}, create_model_fn=NETWORK, model_params={"width": 8}
    )
    x = iris().x
    answer = load_node(models, FLOWER, one)({"x": x})["y"]
    np.testing.assert_allclose(answer, np.asarray(loaded(models, "iris.keras")(x)), rtol=1e-6)


def test_weights_of_a_larger_model_are_refused(models: Path, tmp_path: Path) -> None:
    """Keras fills the layers that there are, and leaves the other weights of the file alone."""
    from tests.support.tensorflow_models import keras

    dense = keras.layers.Dense
    keras.Sequential([keras.Input((4,)), dense(8), dense(3), dense(3)]).save_weights(
        tmp_path / "more.weights.h5"
    )
    options = {"create_model_fn": NETWORK, "model_params": {"width": 8}}
    one = node("more.weights.h5", {"y": "array<float>[3]"}, **options)
    with pytest.raises(InvalidEnsemble, match=r"\[bad_model_file\] .* no place for: layers/dense_2/vars/0"):
        load_node(tmp_path, FLOWER, one)
    keras.Sequential([keras.Input((4,)), dense(8)]).save_weights(tmp_path / "less.weights.h5")
    with pytest.raises(InvalidEnsemble, match="load_failed"):
        load_node(tmp_path, FLOWER, {**one, "uri": "less.weights.h5"})


def test_keras_own_networks_may_be_made_by_anybody(models: Path) -> None:
    options = {
        "create_model_fn": "keras.applications.mobilenet_v2.MobileNetV2",
        "model_params": {"weights": None},
    }
    picture = {"image": "array<float>[224,224,3]"}
    one = node("iris.weights.h5", {"y": "array<float>[1000]"}, ("image",), **options)
    assert check_node(models, picture, one).outputs


def test_keras_own_functions_fetch_nothing_and_make_models_only(models: Path) -> None:
    picture = {"image": "array<float>[224,224,3]"}
    for name, params, wanted in (
        ("keras.applications.ResNet50", {"weights": "imagenet"}, ("untrusted_file", "model_params.weights")),
        (
            "keras.applications.resnet.ResNet50",
            {"weights": "/w.h5"},
            ("untrusted_file", "model_params.weights"),
        ),
        ("keras.applications.resnet.decode_predictions", {}, ("untrusted_code", "create_model_fn")),
    ):
        one = node("iris.weights.h5", {"y": "float"}, ("image",), create_model_fn=name, model_params=params)
        assert wanted in problems_of(models, picture, one, trust=False)


def test_a_text_may_be_text_or_bytes(models: Path) -> None:
    for type_, given, wanted in (("string", "grün", "GRüN"), ("bytes", b"abc", b"ABC")):
        one = node("words", {"loud": type_}, ("text",))
        member = load_node(models, {"text": type_}, one)
        assert member({"text": np.array([given, given], object)})["loud"].tolist() == [wanted, wanted]
    assert types_of(models, {"text": "string"}, node("words", {"loud": None}, ("text",))) == {
        "loud": "string"
    }


def test_a_ragged_answer_is_a_list_a_row(models: Path) -> None:
    one = node("words", {"words": "array<string>"}, ("text",), signature="split")
    answer = load_node(models, {"text": "string"}, one)({"text": np.array(["a b", "c", ""], object)})
    assert answer["words"].tolist() == [["a", "b"], ["c"], []]
    undeclared = node("words", None, ("text",), signature="split")
    assert problems_of(models, {"text": "string"}, undeclared) == [("missing_type", "outputs.y")]


@pytest.mark.parametrize(
    ("type_", "rows"), [("string", [["a", "grün"], ["b"], []]), ("bytes", [[b"a"], [b"b", b"c"]])]
)
def test_lists_of_texts_are_tensors_of_texts(models: Path, type_: str, rows: list[Any]) -> None:
    one = node("words", {"text": type_}, ("words",), signature="join")
    member = load_node(models, {"words": f"array<{type_}>"}, one)
    blank = " " if type_ == "string" else b" "
    found = member({"words": np.fromiter(rows, dtype=object, count=len(rows))})["text"]
    assert found.tolist() == [blank.join(row) for row in rows]


def test_what_is_no_text_is_an_error_of_its_row(models: Path) -> None:
    member = load_node(models, {"text": "bytes"}, node("words", {"loud": {"type": "string"}}, ("text",)))
    with pytest.raises(NodeError) as caught:
        member({"text": np.array([b"\xff"], object)})
    assert caught.value.code == "bad_output"


def test_an_object_without_signatures_is_called_itself(models: Path) -> None:
    from beam_ensembles.handlers.tensorflow.saved_model import read_saved_model

    assert read_saved_model(str(models / "plain")).signatures == {}
    one = node("plain", {"y": "array<float>[2]"})
    x = np.ones((3, 2), np.float32)
    assert load_node(models, {"x": "array<float>[2]"}, one)({"x": x})["y"].tolist() == (x + 1).tolist()


def test_inference_args_are_inputs_that_are_the_same_for_all_rows(models: Path) -> None:
    one = node("arithmetic", {"y": "array<float>[2]"}, signature="scaled", inference_args={"by": 3.0})
    x = np.ones((2, 2), np.float32)
    assert load_node(models, {"x": "array<float>[2]"}, one)({"x": x})["y"].tolist() == (x * 3).tolist()


def test_a_cached_handle_of_the_hub_is_a_saved_model(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = "https://tfhub.dev/somebody/iris/1"
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path))
    shutil.copytree(models / "iris", tmp_path / hashlib.sha1(handle.encode()).hexdigest())
    x = iris().x
    answer = load_node(models, FLOWER, node(handle))({"x": x})["y"]
    np.testing.assert_allclose(answer, np.asarray(loaded(models, "iris.keras")(x)), rtol=1e-6)


def test_tensorflow_hub_finds_a_cached_model_at_the_same_place(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from beam_ensembles.beam_repairs import inference_imports
    from beam_ensembles.handlers.tensorflow.hub_cache import cached

    handle = "https://tfhub.dev/somebody/iris/1"
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path))
    shutil.copytree(models / "iris", tmp_path / hashlib.sha1(handle.encode()).hexdigest())
    assert inference_imports.import_handlers("tensorflow_inference").hub.resolve(handle) == cached(handle)


def test_a_handle_that_is_not_cached_is_never_downloaded(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path))
    with pytest.raises(InvalidEnsemble, match="TFHUB_CACHE_DIR") as caught:
        load_node(models, FLOWER, node("https://tfhub.dev/somebody/iris/1", {"y": "array<float>[3]"}))
    assert [problem.code for problem in caught.value.problems] == ["load_failed"]


@pytest.mark.parametrize(
    ("inputs", "one", "wanted"),
    [
        ({"x": "array<double>[5]"}, node("iris"), ("signature_mismatch", "inputs")),
        ({"x": "array<double>[5]"}, node("iris.keras"), ("signature_mismatch", "inputs")),
        ({"x": "string"}, node("iris.keras"), ("signature_mismatch", "inputs")),
        (FLOWER, node("iris", {"y": "array<float>[4]"}), ("signature_mismatch", "outputs.y")),
        (FLOWER, node("iris.keras", {"y": "array<float>[4]"}), ("signature_mismatch", "outputs.y")),
        (FLOWER, node("iris.keras", {"y": {"from": "prob"}}), ("unknown_port", "outputs.y")),
        (FLOWER, node("iris", inputs={"z": "x"}), ("unknown_port", "inputs.z")),
        (FLOWER, node("iris", signature="predict"), ("signature_mismatch", "signature")),
        (FLOWER, node("iris.keras", signature="serve"), ("unsupported_option", "signature")),
        (
            FLOWER,
            node("iris", inference_args={"training": False}),
            ("signature_mismatch", "inference_args.training"),
        ),
        (FLOWER, node("iris/saved_model.pb"), ("bad_model_file", "uri")),
        (FLOWER, node("iris/variables"), ("bad_model_file", "uri")),
        (FLOWER, node("iris.weights.h5", {"y": "float"}), ("missing_key", "create_model_fn")),
        (
            FLOWER,
            node("iris.weights.h5", {"y": "float"}, create_model_fn="os.system"),
            ("untrusted_code", "create_model_fn"),
        ),
        (FLOWER, node("iris.keras", model_params={"a": 1}), ("unsupported_option", "model_params")),
        (
            FLOWER,
            node("iris.keras", config={"load_model_args": {"safe_mode": False}}),
            ("bad_value", "config.load_model_args"),
        ),
        (
            FLOWER,
            node("iris.keras", config={"custom_weights": "a.h5"}),
            ("unsupported_option", "config.custom_weights"),
        ),
        (FLOWER, node("nothing"), ("missing_file", "uri")),
    ],
)
def test_what_does_not_fit_is_found_before_anything_runs(
    models: Path, inputs: dict[str, str], one: dict[str, Any], wanted: tuple[str, str]
) -> None:
    assert wanted in problems_of(models, inputs, one)


def test_a_damaged_model_is_one_problem(models: Path, tmp_path: Path) -> None:
    (tmp_path / "cut").mkdir()
    for source, target in (("iris/saved_model.pb", "cut/saved_model.pb"), ("iris.keras", "cut.keras")):
        content = (models / source).read_bytes()
        (tmp_path / target).write_bytes(content[: len(content) // 2])
    for uri in ("cut", "cut.keras"):
        assert ("bad_model_file", "uri") in problems_of(tmp_path, FLOWER, node(uri))


@pytest.mark.parametrize(
    ("inputs", "one"),
    [
        (FLOWER, node("lambda.keras", {"y": "array<float>[4]"})),
        (FLOWER, node("iris.h5", {"y": "array<float>[3]"})),
        ({"path": "string"}, node("reader", {"y": "bytes"}, ("path",))),
    ],
)
def test_a_model_that_runs_code_must_be_vouched_for(
    models: Path, inputs: dict[str, str], one: dict[str, Any]
) -> None:
    assert problems_of(models, inputs, one, trust=False) == [("untrusted_file", "uri")]
    assert check_node(models, inputs, one, trust=True)
    pinned = {**one, "sha256": sha256_of(str(models / one["uri"]))}
    assert check_node(models, inputs, pinned, trust=False)


def test_a_lambda_that_is_vouched_for_runs(models: Path) -> None:
    x = np.ones((2, 4))
    answer = load_node(models, FLOWER, node("lambda.keras", {"y": "array<float>[4]"}))({"x": x})["y"]
    assert answer.tolist() == (x * 2).tolist()


def test_keras_models_and_graphs_alone_need_nobody_to_vouch(models: Path) -> None:
    for uri in ("iris.keras", "iris", "arithmetic"):
        inputs, ports = (
            (FLOWER, ("x",)) if uri != "arithmetic" else ({"a": "int64", "b": "int64"}, {"a": "a", "b": "b"})
        )
        outputs = {"y": None} if uri != "arithmetic" else {"total": None}
        assert check_node(models, inputs, node(uri, outputs, ports), trust=False)


def test_a_gpu_that_is_not_there_is_one_clear_error(models: Path) -> None:
    from beam_ensembles.beam_repairs import inference_imports

    if inference_imports.import_handlers("tensorflow_inference").tf.config.list_physical_devices("GPU"):
        pytest.skip("this machine has a GPU")
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(models, FLOWER, node("iris.keras", device="gpu"))
    assert [problem.code for problem in caught.value.problems] == ["no_gpu"]


def test_a_node_runs_on_the_cpu_where_it_says_so(models: Path) -> None:
    assert load_node(models, FLOWER, node("iris", device="cpu"))({"x": iris().x})["y"].shape == (150, 3)


def test_nothing_of_tensorflow_is_imported_to_check(models: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.support.nodes import types_of;"
        f"types_of(Path({str(models)!r}), {FLOWER!r}, {node('iris')!r});"
        f"types_of(Path({str(models)!r}), {FLOWER!r}, {node('iris.keras')!r});"
        "assert not {'tensorflow', 'keras', 'tensorflow_hub'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("width", [1, 3])
def test_a_model_that_squeezes_answers_one_row(tmp_path: Path, width: int) -> None:
    made = squeezing.make_tensorflow(tmp_path, width)
    squeezing.check_rows(load_node(tmp_path, squeezing.INPUT, made), width)


@pytest.mark.parametrize("type_", ["string", "bytes"])
def test_so_does_one_of_texts(tmp_path: Path, type_: str) -> None:
    import tensorflow as tf

    module = tf.Module()
    spec = tf.TensorSpec([None, 3], tf.float32, name="x")
    module.call = tf.function(
        lambda x: {"y": tf.squeeze(tf.strings.as_string(x[:, :1], precision=0))}, input_signature=[spec]
    )
    tf.saved_model.save(module, str(tmp_path / "texts"), {"serving_default": module.call})
    member = load_node(tmp_path, squeezing.INPUT, node("texts", {"y": type_}))
    wanted = [text if type_ == "string" else text.encode() for text in ("0", "3", "1")]
    assert member({"x": squeezing.X})["y"].tolist() == wanted
    assert [member({"x": squeezing.X[at : at + 1]})["y"].tolist() for at in range(3)] == [
        [one] for one in wanted
    ]


def test_a_model_that_mixes_rows_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import tensorflow as tf

    module = tf.Module()
    spec = tf.TensorSpec([None, 3], tf.float32, name="x")
    module.call = tf.function(lambda x: {"y": x - tf.reduce_mean(x, axis=0)}, input_signature=[spec])
    tf.saved_model.save(module, str(tmp_path / "mix"), {"serving_default": module.call})
    load_node(tmp_path, squeezing.INPUT, node("mix"))
    assert "depends on the rows beside it" in caplog.text
