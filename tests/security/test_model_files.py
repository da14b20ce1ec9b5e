"""Model files that would run code, use other files or reach the network: refused by the service and by workers."""

from __future__ import annotations

import dataclasses
import json
import pickle
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import grpc
import numpy as np
import pytest
from apache_beam.portability.api import beam_expansion_api_pb2_grpc

from beam_ensembles.errors import EnsembleError
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.tensorflow.saved_model import read_saved_model
from beam_ensembles.registry import KINDS
from tests.support.expansion_requests import like_go, schema
from tests.support.fuzzing import target
from tests.support.nodes import check_node
from tests.support.patience import SECONDS
from tests.support.service import running_service
from tests.support.web_server import content, web_server

Node = dict[str, Any]
TEXT: Final = {"text": "string"}
NUMBERS: Final = {"x": "array<float>"}
ROWS: Final = schema("rows", text="string", x="array<float>")


def field(number: int, *parts: bytes) -> bytes:
    """Encodes a field of a protocol buffer that holds bytes or a message."""
    value = b"".join(parts)
    size, length = len(value), b""
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + value


def saved_model(folder: Path, operation: str, asset: str = "") -> None:
    """Writes a SavedModel with an operation in a function that its signature calls."""
    function = field(1, field(1, b"inner")) + field(3, field(1, b"n"), field(2, operation.encode()))
    call = field(1, b"call") + field(2, b"inner")
    graph = field(1, call) + field(2, field(1, function))
    tensor = field(1, b"call:0") + bytes([0x10, 7]) + field(3, field(2, b"\x08\x01"))
    signature = field(1, field(1, b"text"), field(2, tensor)) + field(2, field(1, b"y"), field(2, tensor))
    meta = field(1, field(4, b"serve")) + field(2, graph) + field(7, field(1))
    meta += field(5, field(1, b"serving_default"), field(2, signature))
    meta += field(6, field(2, asset.encode())) if asset else b""
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(field(2, meta))


def archive(path: Path, **files: Any) -> None:
    """Write a zip; values other than texts become JSON."""
    with zipfile.ZipFile(path, "w") as target:
        for name, text in files.items():
            target.writestr(name, text if isinstance(text, str) else json.dumps(text))


def keras_model(one: dict[str, Any]) -> dict[str, Any]:
    """Returns the description of a Keras model with one layer after its input."""
    first = {"name": "x", "dtype": "float32", "batch_shape": [None, 4]}
    layers = [{"module": "keras.layers", "class_name": "InputLayer", "config": first}, one]
    return {
        "module": "keras",
        "class_name": "Sequential",
        "config": {"name": "m", "layers": layers},
        "registered_name": None,
    }


class Payload:
    """What a pickle would run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("ran"),))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of attacks, which nobody trusts."""
    folder = tmp_path_factory.mktemp("untrusted")
    for operation in ("PrintV2", "TextLineDataset", "MatchingFiles", "ReadFile", "RestoreV2", "Identity"):
        saved_model(folder / operation, operation)
    saved_model(folder / "asset", "Identity", "../../etc/passwd")
    get_file = {
        "module": "keras.utils",
        "class_name": "function",
        "config": "get_file",
        "registered_name": "function",
    }
    dense = {"module": "keras.layers", "class_name": "Dense", "config": {"name": "d", "activation": get_file}}
    archive(folder / "function.keras", **{"config.json": keras_model(dense)})
    lookup = {
        "module": "keras.layers",
        "class_name": "StringLookup",
        "config": {"name": "s", "vocabulary": "/etc/passwd"},
    }
    archive(folder / "vocabulary.keras", **{"config.json": keras_model(lookup)})
    (folder / "model.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    (folder / "module.pt").write_bytes(pickle.dumps(Payload(), protocol=2))
    archive(folder / "script.pt", **{"m/constants.pkl": "", "m/data.pkl": ""})
    archive(folder / "program.pt2", **{"m/archive_format": "pt2"})
    (folder / "state.pt").write_bytes(b"\x80\x02}.")
    (folder / "built.engine").write_bytes(b"ftrt")
    for name, more in {
        "pickled": {"pytorch_model.bin": "", "vocab.txt": ""},
        "elsewhere": {
            "model.safetensors": "",
            "vocab.txt": "",
            "tokenizer_config.json": {"gguf_file": "/etc/passwd"},
        },
    }.items():
        (folder / name).mkdir()
        for file, text in {"config.json": {}, **more}.items():
            (folder / name / file).write_text(text if isinstance(text, str) else json.dumps(text))
    return folder


def tensorflow(uri: str, column: str = "text", **more: Any) -> Node:
    return {"model": "tensorflow", "uri": uri, "inputs": [column], "outputs": {"y": "float"}, **more}


def pytorch(uri: str, **more: Any) -> Node:
    return {"model": "pytorch", "uri": uri, "inputs": ["x"], "outputs": {"y": "float"}, **more}


def transformers(uri: str, **more: Any) -> Node:
    return {
        "model": "huggingface",
        "uri": uri,
        "task": "text-classification",
        "inputs": ["text"],
        "outputs": {"label": None},
        **more,
    }


ATTACKS: Final[list[tuple[Node, str]]] = [
    *(
        (tensorflow(name), "untrusted_file")
        for name in ("PrintV2", "TextLineDataset", "MatchingFiles", "ReadFile")
    ),
    (tensorflow("asset"), "untrusted_file"),
    (tensorflow("function.keras", "x"), "untrusted_file"),
    (tensorflow("vocabulary.keras", "x"), "untrusted_file"),
    (tensorflow("model.h5", "x"), "untrusted_file"),
    (
        tensorflow("w.weights.h5", "x", create_model_fn="keras.applications.resnet.decode_predictions"),
        "untrusted_code",
    ),
    (tensorflow("Identity", config={"env_vars": {"XLA_FLAGS": "--xla_dump_to=/tmp"}}), "untrusted_code"),
    (pytorch("module.pt"), "untrusted_file"),
    (pytorch("script.pt"), "untrusted_file"),
    (pytorch("program.pt2"), "untrusted_file"),
    (pytorch("state.pt", model_class="torch.nn.Linear", weights_only=False), "untrusted_file"),
    (pytorch("state.pt", model_class="torch.hub.load"), "untrusted_code"),
    (
        pytorch("state.pt", model_class="torchvision.models.resnet18", model_params={"weights": "DEFAULT"}),
        "untrusted_file",
    ),
    (transformers("pickled"), "untrusted_file"),
    (transformers("elsewhere"), "untrusted_file"),
    (transformers("pickled", config={"load_pipeline_args": {"trust_remote_code": True}}), "bad_value"),
    (transformers("hf:somebody/model"), "untrusted_host"),
    (
        {"model": "tensorrt", "uri": "built.engine", "inputs": ["x"], "outputs": {"y": "float"}},
        "untrusted_file",
    ),
    (
        {"model": "python", "handler": "os.system", "inputs": ["x"], "outputs": {"y": "float"}},
        "untrusted_code",
    ),
    (
        {
            "apply": "python",
            "function": "torch.nn.functional.torch.load",
            "inputs": ["x"],
            "outputs": {"y": "float"},
        },
        "untrusted_code",
    ),
]


NEEDLESS: Final = [
    "FakeParam", "QuantizedMatMul", "BlockLSTM", "MatrixSolveLs", "StatelessRandomBinomial",  # unwritten memory
    "MaxPoolGradWithArgmax", "UniformQuantizedConvolution", "RandomPoissonV2",  # crash, or never end
    "SymbolicGradient",  # makes gradients of functions, of whatever name
    "Conv2DBackpropFilter", "ResourceApplyAdam", "QuantizedConv2D", "BatchCholesky",
]  # fmt: skip
"""Operations that only compute, but that no model for inference needs."""


def ensemble(node: Node) -> str:
    return json.dumps({"ensemble": "attack", "inputs": {**TEXT, **NUMBERS}, "nodes": {"node": node}})


@pytest.fixture(scope="module")
def expand(files: Path) -> Iterator[Callable[[Node, Path], str]]:
    """Expands an ensemble of one node by a real service that reads the files but trusts none; returns its error."""
    with (
        running_service("--serve-loopback-worker", "--allow-folder", str(files)) as service,
        grpc.insecure_channel(service.address) as channel,
    ):
        stub = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)

        def expanded(node: Node, folder: Path) -> str:
            config = {"spec": ensemble(node), "base_uri": str(folder)}
            return str(stub.Expand(like_go(config, ROWS), timeout=SECONDS).error)

        yield expanded


def test_the_service_refuses_every_model_file_that_may_do_more_than_compute(
    files: Path, expand: Callable[[Node, Path], str]
) -> None:
    for node, code in ATTACKS:
        error = expand(node, files)
        assert f"[{code}]" in error, (node, error)
        assert "Traceback" not in error


@pytest.mark.parametrize("operation", NEEDLESS)
def test_operations_that_leak_or_crash_need_trust(tmp_path: Path, operation: str) -> None:
    saved_model(tmp_path / "model", operation)
    assert read_saved_model(str(tmp_path / "model")).unsafe == (operation,)


def test_the_service_takes_one_that_only_computes(files: Path, expand: Callable[[Node, Path], str]) -> None:
    assert "untrusted" not in expand(tensorflow("Identity"), files)


def untrusted(node: Node, place: str) -> CheckedNode:
    """Checks a node whose model is elsewhere, so that only the worker sees its file."""
    text = ensemble({**node, "uri": place})
    (checked,) = check_text(
        text, KINDS, Files("/", hosts=("http://127.0.0.1:*", place.rpartition("/")[0]))
    ).nodes
    return checked


def test_a_worker_refuses_what_was_out_of_sight_when_it_was_checked(files: Path) -> None:
    pytest.importorskip("tensorflow")
    names = ("function.keras", "vocabulary.keras")
    answers = {f"/{name}": content((files / name).read_bytes()) for name in names}
    with web_server(answers) as server:
        for name in names:
            checked = untrusted(tensorflow("", "x"), f"{server.url}/{name}")
            with pytest.raises(EnsembleError, match=r"\[untrusted_file\]"):
                KINDS["model", "tensorflow"].load(checked)


def test_a_worker_refuses_a_saved_model_and_what_it_would_do_is_real(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    from tests.support.tensorflow_models import make_prints

    make_prints(tmp_path)
    node = {"model": "tensorflow", "uri": "prints", "inputs": ["path"], "outputs": {"y": "int32"}}
    trusted = check_node(tmp_path, {"path": "string"}, node, trust=True)
    kind = KINDS["model", "tensorflow"]
    with pytest.raises(EnsembleError, match=r"\[untrusted_file\].*PrintV2"):
        kind.load(dataclasses.replace(trusted, is_trusted=False))
    kind.load(trusted)({"path": np.array(["what a row holds"], object)})
    assert (tmp_path / "printed.txt").read_text().strip()


def run_unwritten(_: None) -> int:
    """Runs an untrusted SavedModel whose kernel leaves its answer unwritten, after rows were given back.

    Returns:
        How many different numbers its answers hold.
    """
    import tempfile

    import tensorflow as tf

    def spectrum(x: Any) -> Any:
        return {"y": tf.math.real(tf.raw_ops.RFFT(input=x[:, 0:0], fft_length=[254]))}

    module = tf.Module()
    module.call = tf.function(spectrum, input_signature=[tf.TensorSpec([None, 1], tf.float32, name="x")])
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, f"{folder}/model", signatures={"serving_default": module.call})
        node = tensorflow("model", "x", outputs={"y": "array<float>[128]"})
        checked = check_node(Path(folder), {"x": "array<float>[1]"}, node, trust=False)
        member = KINDS["model", "tensorflow"].load(checked)
    found: set[int] = set()
    for _ in range(20):
        rows = [np.arange(size) + 0.1 for size in range(200, 4_000, 10)]
        del rows[::2]
        answer = np.ascontiguousarray(member({"x": np.ones((8, 1), np.float32)})["y"], np.float32)
        found |= set(np.unique(answer.view(np.uint32)).tolist())
    return len(found)


def test_a_kernel_that_writes_nothing_does_not_answer_with_rows() -> None:
    pytest.importorskip("tensorflow")
    with target(f"{__name__}:run_unwritten", seconds=120, most_bytes=8 << 30) as process:
        outcome = process.attack(None)
    assert outcome.kind == "answered", outcome
    assert outcome.value <= 3, outcome  # 16 without scrub_memory
