"""Nodes of TensorRT: all that needs no GPU. Engines run here on a stand-in that finds every copy beyond a buffer.

What needs TensorRT itself is in ``tests/gpu``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import (
    BatchFailed,
    InvalidEnsemble,
    ModelFormatError,
    NodeError,
)
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.handlers.support.signatures import (
    Port,
)
from beam_ensembles.handlers.tensorrt import libraries
from beam_ensembles.handlers.tensorrt.building import build_engine, modules, profile_of, row_shapes
from beam_ensembles.handlers.tensorrt.engine import Engine, padded, parts_of
from tests.support.nodes import check_node, load_node, problems_of, types_of
from tests.support.tensorrt_fake import Cuda, FakeEngine, fake_trt

PAIR = {"x": "array<double>[2]"}


def node(uri: str = "twice.engine", **more: Any) -> dict[str, Any]:
    return {"model": "tensorrt", "uri": uri, "inputs": ["x"], "outputs": {"y": "array<float>[2]"}} | more


def twice(cuda: Cuda, rows: int, profile: tuple[int, int] = (1, 8)) -> FakeEngine:
    shape = (rows, 2)
    return FakeEngine(
        cuda, {"x": (shape, "float32")}, {"y": (shape, "float32")}, lambda x: {"y": 2 * x}, profile
    )


@pytest.mark.parametrize(("rows", "profile", "runs"), [
    (4, (1, 8), [4, 4, 4]), (-1, (1, 8), [8, 3]), (-1, (1, 100), [11]), (-1, (5, 5), [5, 5, 5]), (-1, (4, 8), [8, 4]),
    (16, (1, 8), [16]), (1, (1, 8), [1] * 11),
])  # fmt: skip
def test_batches_of_any_size_are_parted_padded_and_cut(
    rows: int, profile: tuple[int, int], runs: list[int]
) -> None:
    cuda = Cuda()
    fake = twice(cuda, rows, profile)
    engine = Engine(fake, fake_trt(), cuda)
    x = np.random.default_rng(0).normal(size=(11, 2))
    answer = engine({"x": x})["y"]
    np.testing.assert_array_equal(answer, 2 * x.astype(np.float32), strict=True)
    assert fake.runs == runs


def test_answers_are_not_overwritten_by_the_next_batch() -> None:
    cuda = Cuda()
    engine = Engine(twice(cuda, -1), fake_trt(), cuda)
    first = engine({"x": np.ones((3, 2))})["y"]
    engine({"x": np.full((3, 2), 5.0)})
    assert first.tolist() == [[2, 2]] * 3


def test_buffers_grow_and_are_given_back() -> None:
    cuda = Cuda()
    engine = Engine(twice(cuda, -1), fake_trt(), cuda)
    for rows in (1, 8, 2, 8):
        assert len(engine({"x": np.ones((rows, 2))})["y"]) == rows
    assert sorted(map(len, cuda.memory.values())) == [64, 64]


def test_several_inputs_and_outputs_of_several_dtypes() -> None:
    cuda = Cuda()
    fake = FakeEngine(
        cuda,
        {"a": ((-1, 3), "float16"), "b": ((-1,), "int64")},
        {"sum": ((-1,), "float32"), "big": ((-1,), "bool")},
        lambda a, b: {"sum": a.sum(1) + b, "big": b > 1},
    )
    engine = Engine(fake, fake_trt(), cuda)
    assert engine.signature.inputs == (Port("a", "float16", (None, 3)), Port("b", "int64", (None,)))
    assert engine.signature.outputs == (Port("sum", "float", (None,)), Port("big", "boolean", (None,)))
    answer = engine({"a": np.ones((9, 3)), "b": np.arange(9)})
    assert answer["sum"].tolist() == [3 + at for at in range(9)]
    assert answer["big"].tolist() == [at > 1 for at in range(9)]


@pytest.mark.parametrize(
    ("given", "answers", "text"),
    [
        ({"shape": ((2,), "int64")}, {"y": ((-1,), "float32")}, "'shape' is not a tensor"),
        ({"x": ((), "float32")}, {"y": ((-1,), "float32")}, "'x' is not a tensor"),
        ({"x": ((-1,), "bfloat16")}, {"y": ((-1,), "float32")}, "bfloat16"),
        ({"a": ((4,), "float32"), "b": ((8,), "float32")}, {"y": ((-1,), "float32")}, "no common number"),
    ],
)
def test_engines_that_columns_cannot_feed_are_refused(given: Any, answers: Any, text: str) -> None:
    cuda = Cuda()
    with pytest.raises(ModelFormatError, match=text):
        Engine(FakeEngine(cuda, given, answers, dict), fake_trt(), cuda)


def test_what_goes_wrong_on_the_gpu_is_no_rows_fault() -> None:
    cuda = Cuda()
    fake = twice(cuda, -1)
    engine = Engine(fake, fake_trt(), cuda)
    with pytest.raises(BatchFailed, match="takes no"):
        engine({"x": np.ones((2, 3))})
    fake.execute_async_v3 = lambda stream: False  # type: ignore[method-assign]
    with pytest.raises(BatchFailed, match="could not run"):
        engine({"x": np.ones((2, 2))})
    cuda.cudaStreamSynchronize = lambda stream: (cuda.cudaError_t.cudaErrorIllegalAddress,)  # type: ignore[method-assign]
    fake.execute_async_v3 = lambda stream: True  # type: ignore[method-assign]
    with pytest.raises(BatchFailed, match="cudaErrorIllegalAddress"):
        engine({"x": np.ones((2, 2))})
    open_ = FakeEngine(cuda, fake.given, {"y": ((-1, -1), "float32")}, fake.compute)
    with pytest.raises(BatchFailed, match="depends on the values"):
        Engine(open_, fake_trt(), cuda)({"x": np.ones((2, 2))})


def test_padding_repeats_the_last_row() -> None:
    values = np.arange(6.0).reshape(3, 2)
    assert padded(values, 5).tolist() == [[0, 1], [2, 3], [4, 5], [4, 5], [4, 5]]
    assert padded(values, 3) is values
    assert padded(values[:, ::-1], 3).flags.c_contiguous
    assert list(parts_of(0, 4)) == []
    assert list(parts_of(8, 4)) == [(0, 4), (4, 8)]


def test_profiles_take_open_lengths_from_the_columns() -> None:
    assert profile_of((-1, 4), (4,), 64) == ((1, 4), (64, 4))
    assert profile_of((-1, 3, -1, -1), (3, 32, 40), 8) == ((1, 3, 32, 40), (8, 3, 32, 40))
    assert profile_of((16, 4), None, 64) == ((16, 4), (16, 4))
    with pytest.raises(ModelFormatError, match="length 1 of"):
        profile_of((-1, -1), None, 8)


def test_rows_of_inputs_are_those_of_the_columns(tmp_path: Path) -> None:
    (tmp_path / "twice.engine").write_bytes(b"plan")
    joined = check_node(tmp_path, {"a": "double", "x": "array<double>[3]"}, node(inputs=["a", "x"]))
    assert row_shapes(joined, ["X"]) == {"X": (4,)}
    image = check_node(tmp_path, {"x": "array<float>[3,8,9]"}, node())
    assert row_shapes(image, ["X"]) == {"X": (3, 8, 9)}
    named = check_node(tmp_path, {"a": "double", "x": "array<double>[3]"}, node(inputs={"p": "x", "q": "a"}))
    assert row_shapes(named, ["p", "q"]) == {"p": (3,), "q": ()}


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cuda:
    """A machine with a GPU on which every plan is an engine that takes twice its input, in batches of 4."""
    cuda = Cuda()
    engine = twice(cuda, 4)
    monkeypatch.setitem(sys.modules, "tensorrt", fake_trt(engine))
    monkeypatch.setitem(sys.modules, "cuda", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cuda.bindings.runtime", cuda)
    beam = inference_imports.import_base()
    handlers = SimpleNamespace(
        TensorRTEngineHandlerNumPy=Handler, TRT_LOGGER=None, PredictionResult=beam.PredictionResult
    )
    monkeypatch.setattr(inference_imports, "import_handlers", lambda module: handlers)
    (tmp_path / "twice.engine").write_bytes(b"plan")
    return cuda


class Handler:
    """The part of Beam's handler that is used: it cannot be imported beside a TensorRT that is none."""

    def __init__(self, min_batch_size: int, max_batch_size: int, *, inference_fn: Any, **more: Any) -> None:
        self.call, self.more = inference_fn, more
        assert min_batch_size <= max_batch_size

    def validate_inference_args(self, given: Any) -> None:
        assert not given

    def set_environment_vars(self) -> None:
        pass

    def run_inference(self, batch: Any, model: Any, given: Any) -> Any:
        return self.call(batch, model, given)

    def load_onnx(self) -> Any:
        """Returns a network of one input and a builder, as Beam's handler makes them of ``onnx_path``."""
        assert self.more["onnx_path"].endswith(".onnx")
        return SimpleNamespace(num_inputs=1, get_input=lambda at: Building.INPUT), Building


class Building:
    """``trt.Builder``, its configuration and its profile: keeps what it is asked for."""

    INPUT = SimpleNamespace(name="x", shape=(-1, -1))
    profiles: ClassVar[list[Any]] = []
    plan: ClassVar[bytes | None] = b"plan"

    @classmethod
    def create_builder_config(cls) -> Any:
        return SimpleNamespace(add_optimization_profile=lambda profile: None)

    @classmethod
    def create_optimization_profile(cls) -> Any:
        return SimpleNamespace(set_shape=lambda *shapes: cls.profiles.append(shapes))

    @classmethod
    def build_serialized_network(cls, network: Any, config: Any) -> Any:
        return cls.plan


def test_a_node_runs_an_engine(tmp_path: Path, gpu: Cuda) -> None:
    member = load_node(tmp_path, PAIR, node())
    x = np.random.default_rng(0).normal(size=(10, 2))
    np.testing.assert_array_equal(member({"x": x})["y"], 2 * x.astype(np.float32), strict=True)
    x[3, 1] = 1e300
    columns, faults = run_split(member, {"x": x}, 10)
    assert {at: fault.code for at, fault in faults.items()} == {3: "wrong_value"}
    assert len(columns["y"]) == 9


def test_a_batch_that_the_gpus_memory_does_not_hold_is_halved(tmp_path: Path, gpu: Cuda) -> None:
    fake = sys.modules["tensorrt"].Runtime(None).deserialize_cuda_engine(None)  # type: ignore[attr-defined]
    fake.given, fake.answers = {"x": ((-1, 2), "float32")}, {"y": ((-1, 2), "float32")}
    fake.profile = (1, 1000)
    fake.__post_init__()
    gpu.room = 100
    member = load_node(tmp_path, PAIR, node())
    columns, faults = run_split(member, {"x": np.ones((20, 2))}, 20)
    assert not faults
    assert columns["y"].tolist() == [[2, 2]] * 20
    assert max(fake.runs) == 5
    gpu.room = 0
    _, faults = run_split(load_node(tmp_path, PAIR, node()), {"x": np.ones((2, 2))}, 2)
    assert {fault.code for fault in faults.values()} == {"out_of_memory"}


@pytest.mark.parametrize(
    ("batch", "most"), [({}, 64), ({"batch": {"max": 5}}, 5), ({"config": {"max_batch_size": 3}}, 3)]
)
def test_a_graph_is_built_for_the_nodes_columns_and_batches(
    onnx_models: Path, gpu: Cuda, monkeypatch: pytest.MonkeyPatch, batch: dict[str, Any], most: int
) -> None:
    monkeypatch.setattr(Building, "profiles", [])
    checked = check_node(onnx_models, PAIR, node("open.onnx", **batch))
    engine = build_engine(checked, Handler(1, most, inference_fn=None, onnx_path="open.onnx"), None)
    assert Building.profiles == [("x", (1, 2), (most, 2), (most, 2))]
    assert engine({"x": np.ones((3, 2))})["y"].tolist() == [[2, 2]] * 3
    monkeypatch.setattr(Building, "plan", None)
    with pytest.raises(InvalidEnsemble, match=r"\[load_failed\].*cannot build"):
        build_engine(checked, Handler(1, most, inference_fn=None, onnx_path="open.onnx"), None)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (node(outputs={"y": "array<float>[3]"}), ("signature_mismatch", "nodes.node.outputs.y")),
        (node(inputs={"z": "x"}), ("unknown_port", "nodes.node.inputs.z")),
        (node(outputs={"y": {"from": "z", "type": "float"}}), ("unknown_port", "nodes.node.outputs.y")),
    ],
)
def test_the_engine_is_compared_with_the_node(
    tmp_path: Path, gpu: Cuda, changed: dict[str, Any], problem: tuple[str, str]
) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(tmp_path, PAIR, changed)
    assert problem in [(found.code, found.path) for found in caught.value.problems]


def test_an_engine_of_another_version_or_gpu_is_said(
    tmp_path: Path, gpu: Cuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", fake_trt(None))
    with pytest.raises(InvalidEnsemble, match="the same version and GPU"):
        load_node(tmp_path, PAIR, node())


def only_bindings(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Puts a package of TensorRT's bindings before the one that is installed."""
    package = folder / "packages" / "tensorrt_bindings"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(code, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "tensorrt_bindings", None)  # type: ignore[arg-type]
    del sys.modules["tensorrt_bindings"]
    monkeypatch.syspath_prepend(str(package.parent))


def test_the_bindings_of_pypi_are_tensorrt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)  # type: ignore[arg-type]
    only_bindings(tmp_path, monkeypatch, "__version__ = '11.4'")
    assert inference_imports.import_tensorrt().__version__ == "11.4"
    assert sys.modules["tensorrt"] is sys.modules["tensorrt_bindings"] is inference_imports.import_tensorrt()


def test_missing_libraries_are_told_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "tensorrt", raising=False)
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere{os.pathsep}{tmp_path}")
    only_bindings(tmp_path, monkeypatch, "raise ImportError")
    assert "only its bindings are installed; TensorRT's libraries come from NVIDIA" in str(
        libraries.missing()
    )
    (tmp_path / "libnvinfer.so.11").touch()
    assert libraries.missing() is None


@pytest.mark.parametrize(
    ("lacking", "code", "text"),
    [
        ("tensorrt", "not_installed", r"pip install 'beam-ensembles\[tensorrt\]'"),
        (
            "libraries",
            "not_installed",
            r"libnvinfer\.so\.11: .*; TensorRT's libraries come from NVIDIA: pip install",
        ),
        ("cuda.bindings.runtime", "not_installed", r"pip install 'beam-ensembles\[tensorrt\]'"),
        ("version", "not_installed", "older than 10"),
        ("devices", "no_gpu", "0 devices"),
    ],
)
def test_what_a_worker_lacks_is_said(
    tmp_path: Path, gpu: Cuda, monkeypatch: pytest.MonkeyPatch, lacking: str, code: str, text: str
) -> None:
    if lacking == "version":
        monkeypatch.setitem(sys.modules, "tensorrt", fake_trt(version="8.6.1"))
    elif lacking == "devices":
        gpu.devices = 0
    else:
        monkeypatch.setitem(sys.modules, "tensorrt" if lacking == "libraries" else lacking, None)  # type: ignore[arg-type]
        error = "ImportError" if lacking == "libraries" else "ModuleNotFoundError"
        only_bindings(
            tmp_path, monkeypatch, f"raise {error}('libnvinfer.so.11: cannot open shared object file')"
        )
    checked = check_node(tmp_path, PAIR, node())
    with pytest.raises(InvalidEnsemble, match=text) as caught:
        modules(checked)
    assert [problem.code for problem in caught.value.problems] == [code]


def test_a_graph_says_its_types_and_may_have_a_batch_of_its_own(onnx_models: Path) -> None:
    assert types_of(onnx_models, PAIR, node("double.onnx", outputs={"y": None})) == {"y": "array<float>[2]"}
    assert types_of(onnx_models, PAIR, node("fixed.onnx", outputs={"y": None})) == {"y": "array<float>[2]"}
    assert problems_of(onnx_models, PAIR, node("double.onnx", outputs={"y": "array<float>[3]"})) == [
        ("signature_mismatch", "outputs.y")
    ]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (node(outputs={"y": None}), ("missing_type", "outputs.y")),
        (node(config={"engine_path": "x"}), ("unsupported_option", "config.engine_path")),
        (node(inference_args={"x": 1}), ("unknown_option", "inference_args")),
        (node(format="onnx"), ("bad_model_file", "uri")),
        (node("no.engine"), ("missing_file", "uri")),
    ],
)
def test_what_is_wrong_is_said_at_its_place(
    tmp_path: Path, changed: dict[str, Any], problem: tuple[str, str]
) -> None:
    (tmp_path / "twice.engine").write_bytes(b"plan")
    assert problem in problems_of(tmp_path, PAIR, changed)


def test_an_engine_holds_machine_code_and_must_be_vouched_for(tmp_path: Path) -> None:
    (tmp_path / "twice.engine").write_bytes(b"plan")
    assert problems_of(tmp_path, PAIR, node(), trust=False) == [("untrusted_file", "uri")]


def test_errors_of_the_member_are_its_own(tmp_path: Path, gpu: Cuda) -> None:
    with pytest.raises(NodeError, match="too large"):
        load_node(tmp_path, PAIR, node())({"x": np.full((1, 2), 1e300)})
