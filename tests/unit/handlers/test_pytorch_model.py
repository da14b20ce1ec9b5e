"""Nodes of PyTorch: every way of saving a model, what it is called with, and how its answer is taken apart."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import struct
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.pytorch.files import format_of
from beam_ensembles.handlers.support import library_models
from beam_ensembles.handlers.support.fitting_rows import FittingRows
from beam_ensembles.handlers.support.model_formats import other_kind
from beam_ensembles.registry import KINDS
from tests.support.interpreter import run_python
from tests.support.models import diabetes, iris
from tests.support.nodes import check_node, load_node, problems_of, types_of

torch = pytest.importorskip("torch")

from tests.support.pytorch_models import HERE, Words, flowers, make_pytorch, patients  # noqa: E402

FOUR = {"x": "array<double>[4]"}
NAMED = {"bmi": "double", "rest": "array<float>[9]"}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with PyTorch models."""
    folder = tmp_path_factory.mktemp("pytorch")
    make_pytorch(folder)
    return folder


def node(uri: str = "flowers.pt", of: str | None = "Flowers", **more: Any) -> dict[str, Any]:
    found = {"model": "pytorch", "uri": uri, "inputs": ["x"], "outputs": {"y": "array<float>[3]"}} | more
    return found if of is None else {"model_class": f"{HERE}.{of}", **found}


def named(uri: str, **more: Any) -> dict[str, Any]:
    found = {
        "model": "pytorch",
        "uri": uri,
        "inputs": {"bmi": "bmi", "others": "rest"},
        "outputs": {"progress": "double"},
    }
    return found | more


def logits(rows: int | None = None) -> Any:
    """Returns what the model answers for the first rows, in one call: sums of more rows may be rounded otherwise."""
    with torch.no_grad():
        return flowers()(torch.tensor(iris().x[:rows]).float()).numpy()


@pytest.mark.parametrize(
    ("uri", "of", "more"),
    [
        ("flowers.pt", "Flowers", {}),
        ("flowers.pt", "Flowers", {"model_params": {"hidden": 8}, "format": "state_dict"}),
        ("flowers.safetensors", "Flowers", {}),
        ("legacy.bin", "Flowers", {}),
        ("module.pt", None, {}),
        ("script.pt", None, {"device": "cpu"}),
        ("flowers.pt2", None, {}),
    ],
)
def test_it_is_loaded_however_it_was_saved(folder: Path, uri: str, of: str | None, more: Any) -> None:
    answer = load_node(folder, FOUR, node(uri, of, **more))({"x": iris().x})["y"]
    np.testing.assert_array_equal(answer, logits(), strict=True)


@pytest.mark.parametrize(
    ("file", "dtype", "type_"),
    [("half", "float16", "float"), ("brain", "bfloat16", "float"), ("double", "float64", "double")],
)
def test_numbers_become_those_that_the_model_counts_in(
    folder: Path, file: str, dtype: str, type_: str
) -> None:
    outputs = {"y": f"array<{type_}>[3]"}
    with torch.no_grad():
        wanted = flowers(getattr(torch, dtype))(torch.tensor(iris().x).to(getattr(torch, dtype)))
    model = node(f"{file}.pt", "typed", outputs=outputs, model_params={"dtype": dtype})
    answer = load_node(folder, FOUR, model)({"x": iris().x})["y"]
    np.testing.assert_array_equal(
        answer, (wanted if file == "double" else wanted.float()).numpy(), strict=True
    )


def test_a_number_that_is_too_large_for_the_model_is_an_error_of_its_row(folder: Path) -> None:
    member = load_node(folder, FOUR, node())
    x = iris().x.copy()
    x[3, 0] = 1e300
    columns, faults = run_split(member, {"x": x}, len(x))
    assert [(at, fault.code) for at, fault in faults.items()] == [(3, "wrong_value")]
    assert len(columns["y"]) == len(x) - 1


def test_columns_are_joined_to_one_tensor(folder: Path) -> None:
    columns = {"a": "double", "b": "float", "c": "array<double>[2]"}
    x = iris().x
    given = {"a": x[:, 0], "b": x[:, 1].astype(np.float32), "c": x[:, 2:]}
    answer = load_node(folder, columns, node(inputs=["a", "b", "c"]))(given)["y"]
    np.testing.assert_array_equal(answer, logits())


@pytest.mark.parametrize("uri", ["patients.pt", "patients_script.pt", "patients.pt2"])
def test_a_mapping_names_the_arguments_of_the_model(folder: Path, uri: str) -> None:
    x = diabetes().x
    given = {"bmi": x[:, 2], "rest": np.delete(x, 2, axis=1)}
    scale = {} if uri == "patients.pt2" else {"inference_args": {"scale": 2.0}}
    own = {"model_class": f"{HERE}.Patients"} if uri == "patients.pt" else {}
    kinds = {"bmi": "double", "rest": "array<double>[9]"}
    answer = load_node(folder, kinds, named(uri, **own, **scale))(given)["progress"]
    with torch.no_grad():
        wanted = patients()(torch.tensor(given["bmi"]), torch.tensor(given["rest"]), 2.0)["progress"]
    np.testing.assert_array_equal(answer, wanted.numpy(), strict=True)
    assert np.corrcoef(answer, diabetes().y)[0, 1] > 0.7


def test_an_exported_program_says_its_types(folder: Path) -> None:
    open_ = node("flowers.pt2", None, outputs={"y": None})
    assert types_of(folder, FOUR, open_) == {"y": "array<float>[3]"}
    two = named("patients.pt2", outputs={"progress": None, "all": {"from": "inputs"}})
    assert types_of(folder, NAMED, two) == {"progress": "double", "all": "array<double>[10]"}


@pytest.mark.parametrize(
    ("method", "args", "expected"),
    [("proba", {}, 1.0), ("proba", {"temperature": 10.0}, 10.0)],
)
def test_a_method_is_called(folder: Path, method: str, args: dict[str, Any], expected: float) -> None:
    answer = load_node(folder, FOUR, node(method=method, inference_args=args))({"x": iris().x})["y"]
    with torch.no_grad():
        wanted = flowers().proba(torch.tensor(iris().x).float(), expected)
    np.testing.assert_array_equal(answer, wanted.numpy())


def test_words_go_in_as_whole_numbers_and_several_answers_a_row_are_put_together(folder: Path) -> None:
    ids, mask = np.array([[1, 2], [3, 4], [5, 0]]), np.array([[1, 1], [1, 0], [1, 0]])
    columns = {"ids": "array<int64>[2]", "mask": "array<int64>[2]"}
    sums = node("words.pt", "Words", inputs={"ids": "ids", "mask": "mask"})
    answer = load_node(folder, columns, sums)({"ids": ids, "mask": mask})["y"]
    words = Words()
    words.load_state_dict(torch.load(folder / "words.pt"))
    with torch.no_grad():
        np.testing.assert_array_equal(answer, words(torch.tensor(ids), torch.tensor(mask)).numpy())
    said = node("words.pt", "Words", inputs={"ids": "ids"}, method="generate", samples=2,
                inference_args={"times": 2, "length": 3}, outputs={"said": "array<array<int64>>"})  # fmt: skip
    answer = load_node(folder, columns, said)({"ids": ids})["said"]
    assert answer.tolist() == [[[w] * 3, [w + 1] * 3] for w in (1, 3, 5)]


def test_answers_of_any_structure_have_ports(folder: Path) -> None:
    x, wanted = iris().x[:5], logits(5)

    def run(way: str, **outputs: Any) -> Any:
        return load_node(
            folder, FOUR, node("shapes.pt", "Shapes", model_params={"way": way}, outputs=outputs)
        )({"x": x})

    answer = run("tuple", p={"from": "output_0", "type": "array<float>[3]"},
                 label={"from": "output_1.label", "type": "int64"})  # fmt: skip
    np.testing.assert_array_equal(answer["p"], wanted)
    np.testing.assert_array_equal(answer["label"], wanted.argmax(1), strict=True)
    answer = run("named", logits="array<float>[3]", label="int64")
    np.testing.assert_array_equal(answer["logits"], wanted)
    assert run("list", y="array<float>")["y"].tolist() == [
        row[: at % 2 + 1].tolist() for at, row in enumerate(wanted)
    ]
    answer = run("rows", boxes="array<array<float>[3]>", score="float")
    assert [np.shape(boxes) for boxes in answer["boxes"]] == [(0,), (1, 3), (2, 3), (0,), (1, 3)]
    assert answer["boxes"][2] == [wanted[2].tolist()] * 2
    np.testing.assert_array_equal(answer["score"], wanted.max(1))


def test_torchvisions_detection_gives_boxes_a_row(tmp_path: Path) -> None:
    detection = pytest.importorskip("torchvision.models.detection")
    params = {"weights": None, "weights_backbone": None, "num_classes": 3, "score_thresh": 0.0, "detections_per_img": 4,
              "topk_candidates": 8, "nms_thresh": 0.9}  # fmt: skip
    torch.manual_seed(3)
    model = detection.ssdlite320_mobilenet_v3_large(**params).eval()
    torch.save(model.state_dict(), tmp_path / "ssd.pt")
    images = np.random.default_rng(0).random((2, 3, 40, 50), np.float32)
    spec = {
        "model": "pytorch", "uri": "ssd.pt", "inputs": ["image"], "model_params": params, "trial": False,
        "model_class": "torchvision.models.detection.ssdlite320_mobilenet_v3_large",
        "outputs": {"boxes": "array<array<float>[4]>", "labels": "array<int64>", "scores": "array<float>"},
    }  # fmt: skip
    answer = load_node(tmp_path, {"image": "array<float>[3,40,50]"}, spec)({"image": images})
    with torch.no_grad():
        for at, row in enumerate(model(list(torch.tensor(images)))):
            assert len(answer["boxes"][at]) == len(row["boxes"]) > 0
            for name, values in row.items():
                np.testing.assert_allclose(answer[name][at], values.numpy(), rtol=1e-4, atol=1e-4)


def test_torchvisions_classes_are_made_by_their_functions(tmp_path: Path) -> None:
    models = pytest.importorskip("torchvision.models")
    model = models.shufflenet_v2_x0_5(num_classes=2).eval()
    torch.save(model.state_dict(), tmp_path / "shuffle.pt")
    images = np.random.default_rng(0).random((3, 3, 32, 32), np.float32)
    spec = node("shuffle.pt", None, model_class="torchvision.models.shufflenet_v2_x0_5",
                model_params={"num_classes": 2}, outputs={"y": "array<float>[2]"})  # fmt: skip
    answer = load_node(tmp_path, {"x": "array<float>[3,32,32]"}, spec)({"x": images})["y"]
    with torch.no_grad():
        np.testing.assert_array_equal(answer, model(torch.tensor(images)).numpy())


def test_a_model_cannot_change_the_columns(folder: Path) -> None:
    x = np.ones((3, 4), np.float32)
    x.setflags(write=False)
    member = load_node(
        folder, {"x": "array<float>[4]"}, node("nothing.pt", "Spoiling", outputs={"y": "array<float>[4]"})
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert member({"x": x})["y"].tolist() == [[2] * 4] * 3
    assert x.tolist() == [[1] * 4] * 3


def test_rows_called_alone_give_their_lists_as_a_batch(folder: Path) -> None:
    lists = {"x": "array<array<double>[4]>"}
    member = load_node(folder, lists, node(per_row=True, outputs={"y": "array<array<float>[3]>"}))
    x = iris().x
    column = np.fromiter((x[:2].tolist(), x[2:5].tolist()), dtype=object, count=2)
    found = member({"x": column})["y"]
    np.testing.assert_allclose(np.concatenate([np.array(part) for part in found]), logits()[:5], rtol=1e-6)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (node(of=None), ("untrusted_file", "uri")),
        (node("script.pt", None), ("untrusted_file", "uri")),
        (node("flowers.pt2", None), ("untrusted_file", "uri")),
        (node(weights_only=False), ("untrusted_file", "uri")),
        (node(), ("untrusted_code", "model_class")),
    ],
)
def test_what_runs_code_must_be_vouched_for(
    folder: Path, changed: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert problem in problems_of(folder, FOUR, changed, trust=False)


@pytest.mark.parametrize("key", ["weights", "weights_backbone", "pretrained"])
def test_a_librarys_function_fetches_no_other_weights(folder: Path, key: str) -> None:
    one = node(
        of=None,
        model_class="torchvision.models.detection.fasterrcnn_resnet50_fpn",
        model_params={key: "DEFAULT"},
    )
    assert ("untrusted_file", f"model_params.{key}") in problems_of(folder, FOUR, one, trust=False)
    assert check_node(folder, FOUR, one, trust=True)


def test_a_librarys_function_is_told_to_fetch_nothing(folder: Path) -> None:
    models = pytest.importorskip("torchvision.models")
    name = "torchvision.models.detection.fasterrcnn_resnet50_fpn"
    spec = node(of=None, model_class=name, model_params={"num_classes": 2})
    checked = dataclasses.replace(check_node(folder, FOUR, spec), is_trusted=False)
    told = library_models.arguments(
        checked, spec["model_params"], models.detection.fasterrcnn_resnet50_fpn, name
    )
    assert told == {"num_classes": 2, "weights": None, "weights_backbone": None}


def test_weights_alone_need_nobody_to_vouch_for_them(folder: Path) -> None:
    torch.save(torch.nn.Linear(4, 3).state_dict(), folder / "linear.pt")
    params = {"in_features": 4, "out_features": 3}
    spec = node("linear.pt", None, model_class="torch.nn.Linear", model_params=params)
    assert check_node(folder, FOUR, spec, trust=False).outputs


def test_the_worker_asks_once_more_whether_a_file_may_be_loaded(folder: Path) -> None:
    checked = check_node(folder, FOUR, node("flowers.pt2", None))
    stranger = CheckedNode(checked.spec, checked.kind, checked.inputs, checked.outputs, checked.uri)
    with pytest.raises(InvalidEnsemble, match=r"\[untrusted_file\] nodes\.node\.uri"):
        KINDS[("model", "pytorch")].load(stranger)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (node("flowers.safetensors", None), ("missing_key", "model_class")),
        (node("flowers.pt", None, format="state_dict"), ("missing_key", "model_class")),
        (node("script.pt"), ("bad_value", "model_class")),
        (node("script.pt", format="state_dict"), ("bad_model_file", "uri")),
        (node("flowers.pt2", None, method="proba"), ("bad_value", "method")),
        (node("flowers.pt2", None, outputs={"y": "array<float>[4]"}), ("signature_mismatch", "outputs.y")),
        (node("flowers.pt2", None, inputs={"z": "x"}), ("unknown_port", "inputs.z")),
        (node("fixed.pt2", None), ("signature_mismatch", "inputs")),
        (node(outputs={"y": None}), ("missing_type", "outputs.y")),
        (node(model_class="Flowers"), ("bad_name", "model_class")),
        (node(config={"device": "GPU"}), ("unsupported_option", "config.device")),
        (node(config={"load_model_args": {}}), ("unsupported_option", "config.load_model_args")),
        (node(device="tpu"), ("bad_value", "device")),
    ],
)
def test_what_is_wrong_is_said_at_its_place(
    folder: Path, changed: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert problem in problems_of(folder, FOUR, changed)


def test_tensors_hold_no_texts(folder: Path) -> None:
    assert problems_of(folder, {"x": "string"}, node()) == [("type_mismatch", "inputs[0]")]


@pytest.mark.parametrize(
    ("changed", "place", "text"),
    [
        (node(method="prob"), "method", "has no prob"),
        (node(method="load_state_dict"), "method", "a method of every module"),
        (node(method="_replicate_for_data_parallel"), "method", "a method of every module, or private"),
        (node("script.pt", None, method="save"), "method", "a method of every module"),
        (node(inference_args={"z": 1}), "inputs", "'z'"),
        (node(inputs={"z": "x"}), "inputs", "'x'"),
        (node("script.pt", None, inputs={"z": "x"}), "inputs", "'x'"),
        (node(outputs={"y": "array<float>[4]"}), "outputs", r"array<float>\[4\]"),
        (node(outputs={"y": "array<int64>[3]"}), "outputs", "float values"),
        (node("shapes.pt", "Shapes", model_params={"way": "named"}), "outputs", "returns no 'y'"),
        (node("shapes.pt", "Shapes", model_params={"way": "tuple"}), "outputs", "output_1.label"),
    ],
)
def test_the_loaded_model_is_compared_with_the_node(
    folder: Path, changed: dict[str, Any], place: str, text: str
) -> None:
    with pytest.raises(InvalidEnsemble, match=text) as caught:
        load_node(folder, FOUR, changed)
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == ("signature_mismatch", f"nodes.node.{place}")


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("def forward(s, x):\n        return x * 2", {}),
        ("def forward(me, x, times: int = 2):\n        return x * times", {}),
        ("def forward(me, x, *, times: int):\n        return x * times", {"inference_args": {"times": 2}}),
        ("def forward(s, first):\n        return first * 2", {"inputs": {"first": "x"}}),
        ("def forward(s, x):\n        return x\n    @torch.jit.export\n    def twice(this, x):\n        return x * 2",
         {"method": "twice"}),
    ],
)  # fmt: skip
def test_the_first_argument_of_a_scripted_method_is_its_module(
    tmp_path: Path, body: str, more: dict[str, Any]
) -> None:
    _save_written(tmp_path, body, "torch.jit.script(Written()).save(folder / 'written.pt')")
    model = {"model": "pytorch", "uri": "written.pt", "inputs": ["x"], "outputs": {"y": "array<float>[4]"}}
    answer = load_node(tmp_path, FOUR, model | more)({"x": np.ones((2, 4))})["y"]
    assert answer.tolist() == [[2.0] * 4] * 2


@pytest.mark.parametrize(
    ("body", "keywords"),
    [
        ("def forward(s, x):\n        return x * 2", ""),
        ("def forward(me, x, times=2):\n        return x * times", ""),
        ("def forward(me, *, x):\n        return x * 2", "x"),
    ],
)
def test_so_it_is_of_an_exported_program(tmp_path: Path, body: str, keywords: str) -> None:
    given = "(), {'x': ones}" if keywords else "(ones,), {}"
    save = (
        "ones, rows = torch.ones(2, 4), torch.export.Dim('rows'); torch.export.save(torch.export.export("
        f"Written(), {given}, dynamic_shapes={{'x': {{0: rows}}}}), folder / 'written.pt2')"
    )
    _save_written(tmp_path, body, save)
    model = {"model": "pytorch", "uri": "written.pt2", "inputs": ["x"], "outputs": {"y": "array<float>[4]"}}
    assert load_node(tmp_path, FOUR, model)({"x": np.ones((1, 4))})["y"].tolist() == [[2.0] * 4]


def test_what_a_scripted_method_lacks_is_said_without_its_module(tmp_path: Path) -> None:
    _save_written(
        tmp_path,
        "def forward(s, x, y):\n        return x",
        "torch.jit.script(Written()).save(folder / 'written.pt')",
    )
    model = {"model": "pytorch", "uri": "written.pt", "inputs": ["x"], "outputs": {"y": "array<float>[4]"}}
    with pytest.raises(InvalidEnsemble, match=r"the model's arguments are \(x, y\): missing.*'y'"):
        load_node(tmp_path, FOUR, model)


def _save_written(folder: Path, body: str, save: str) -> None:
    """Saves a module that is written to a file: TorchScript reads the source of what it compiles."""
    source = folder / "written.py"
    source.write_text(f"import torch\nclass Written(torch.nn.Module):\n    {body}\n")
    written = importlib.util.module_from_spec(importlib.util.spec_from_file_location("written", source))
    written.__spec__.loader.exec_module(written)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(save, {"torch": torch, "Written": written.Written, "folder": folder})


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ("torch.nn.Linear(4, 8), torch.nn.Dropout(0.5)", "differ from call to call"),
        ("torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8, track_running_stats=False)", "the rows beside it"),
    ],
)
def test_a_model_that_was_saved_in_training_mode_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, layers: str, text: str
) -> None:
    body = f"""def __init__(self):
        super().__init__(); self.layers = torch.nn.Sequential({layers})
    def forward(self, x):
        return self.layers(x)"""
    save = (
        "torch.jit.trace(Written().train(), torch.ones(3, 4), check_trace=False).save(folder / 'written.pt')"
    )
    _save_written(tmp_path, body, save)
    model = {"model": "pytorch", "uri": "written.pt", "inputs": ["x"], "outputs": {"y": "array<float>[8]"}}
    load_node(tmp_path, FOUR, model)
    assert text in caplog.text


def test_rows_that_are_taken_for_a_sequence_are_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    body = """def __init__(self):
        super().__init__(); torch.manual_seed(0); self.lstm = torch.nn.LSTM(2, 3)
    def forward(self, x):
        return self.lstm(x)[0][:, -1]"""
    _save_written(tmp_path, body, "torch.jit.script(Written().eval()).save(folder / 'written.pt')")
    model = {"model": "pytorch", "uri": "written.pt", "inputs": ["x"], "outputs": {"y": "array<float>[3]"}}
    load_node(tmp_path, {"x": "array<float>[5,2]"}, model)
    assert "rows along another dimension than the first" in caplog.text


def test_a_trial_finds_columns_of_another_width_before_any_row_comes(folder: Path) -> None:
    five = {"x": "array<double>[5]"}
    with pytest.raises(InvalidEnsemble, match=r"mat1 and mat2.*'trial: false'") as caught:
        load_node(folder, five, node())
    assert [problem.path for problem in caught.value.problems] == ["nodes.node.inputs"]
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        load_node(folder, five, node(trial=False))({"x": np.zeros((1, 5))})


@pytest.mark.parametrize(
    ("changed", "code", "text"),
    [
        (node("patients.pt"), "load_failed", "Missing key"),
        (node("checkpoint.pt"), "load_failed", "weights_only: false"),
        (node("flowers.pt", None), "load_failed", "OrderedDict"),
        (node(of="Missing"), "import_failed", "Missing"),
        (node(model_class=f"{HERE}.HERE"), "import_failed", "HERE"),
        (node(of=None, model_class="torch.nn.functional.relu"), "import_failed", "neither a class"),
        (
            node(of=None, model_class="torch.nn.functional.torch.load"),
            "import_failed",
            "not among the allowed",
        ),
        (node(of=None, model_class="torch.nn.Module.__subclasses__"), "import_failed", "name it there"),
        (node(of=None, model_class="torchvision.models.get_model"), "import_failed", "neither a class"),
        (node(of=None, model_class="torchvision.models._api.os.system"), "import_failed", "os"),
        (node(model_params={"width": 3}), "load_failed", "width"),
    ],
)
def test_what_cannot_be_loaded_says_why(folder: Path, changed: dict[str, Any], code: str, text: str) -> None:
    with pytest.raises(InvalidEnsemble, match=text) as caught:
        load_node(folder, FOUR, changed)
    assert [problem.code for problem in caught.value.problems] == [code]


@pytest.mark.parametrize("length", [128, 640, 1152])
def test_a_header_whose_length_begins_as_a_pickle_does_is_that_of_safetensors(
    length: int, tmp_path: Path
) -> None:
    path = tmp_path / "weights"
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).ljust(length).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    assert path.read_bytes().startswith(b"\x80")
    assert format_of(str(path), has_class=True) == "safetensors"
    assert "safetensors" in other_kind("onnx", str(path))


def _safetensors(header: Any, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no model",
        b"PK\x03\x04 no archive",
        _safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"1234567"),
        _safetensors({"w": [1]}, b""),
        struct.pack("<Q", 1 << 40) + b"{}",
        struct.pack("<Q", 100) + b"{}",
    ],
)
def test_what_is_no_model_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.pt").write_bytes(data)
    assert problems_of(tmp_path, FOUR, node("model.pt")) == [("bad_model_file", "uri")]
    (tmp_path / "model.pt").write_bytes(_safetensors({"w": {"data_offsets": [0, 8]}}, b"12345678"))
    assert check_node(tmp_path, FOUR, node("model.pt")).outputs


def test_a_cut_program_is_refused(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "flowers.pt2").read_bytes()
    for length in range(4, len(whole), 97):
        (tmp_path / "cut.pt2").write_bytes(whole[:length])
        assert ("bad_model_file", "uri") in problems_of(tmp_path, FOUR, node("cut.pt2", None))


def test_a_gpu_that_is_not_there_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InvalidEnsemble, match=r"\[no_gpu\] nodes\.node\.device"):
        load_node(folder, FOUR, node(device="gpu"))


def test_a_batch_that_memory_does_not_hold_is_halved_and_no_row_is_bad(folder: Path) -> None:
    greedy = node("flowers.pt", "Greedy", model_params={"most": 20})
    member: Any = load_node(folder, FOUR, greedy)
    model = member.model
    model.seen.clear()
    fitting = FittingRows("node")
    columns, faults = run_split(member, {"x": iris().x}, 150, fitting=fitting)
    assert not faults
    np.testing.assert_allclose(columns["y"], logits(), rtol=1e-6)
    assert model.seen[:4] == [150, 75, 37, 18]
    assert fitting.most == 18
    model.seen.clear()
    run_split(member, {"x": iris().x}, 150, fitting=fitting)
    assert max(model.seen) == 18
    assert sum(model.seen) == 150


@pytest.mark.parametrize(
    ("uri", "of"),
    [("flowers.pt", "Flowers"), ("flowers.safetensors", "Flowers"), ("module.pt", None), ("script.pt", None)],
)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_model_computes_in_the_type_that_its_node_names(
    folder: Path, uri: str, of: str | None, dtype: str
) -> None:
    member: Any = load_node(folder, FOUR, node(uri, of, dtype=dtype))
    assert {str(one.dtype) for one in member.model.parameters()} == {f"torch.{dtype}"}
    answer = member({"x": iris().x})["y"]
    assert answer.dtype == np.float32
    np.testing.assert_allclose(answer, logits(), rtol=0.05, atol=0.1)
    assert not np.array_equal(answer, logits())


def test_an_exported_program_keeps_its_types(folder: Path) -> None:
    assert problems_of(folder, FOUR, node("flowers.pt2", None, dtype="float16")) == [("bad_value", "dtype")]


def test_a_worker_without_pytorch_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = check_node(folder, FOUR, node())
    monkeypatch.delitem(sys.modules, "apache_beam.ml.inference.pytorch_inference", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)  # type: ignore[arg-type]
    with pytest.raises(InvalidEnsemble, match=r"\[not_installed\].*pip install 'beam-ensembles\[pytorch\]'"):
        KINDS[("model", "pytorch")].load(checked)


def test_a_worker_without_safetensors_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = check_node(folder, FOUR, node("flowers.safetensors"))
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)  # type: ignore[arg-type]
    with pytest.raises(InvalidEnsemble, match=r"\[not_installed\].*safetensors"):
        KINDS[("model", "pytorch")].load(checked)


def test_nothing_is_imported_before_a_node_is_loaded(folder: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from tests.support.nodes import check_node\n"
        "four, outputs = {'x': 'array<double>[4]'}, {'y': 'array<float>[3]'}\n"
        "for uri in ('flowers.pt2', 'script.pt', 'module.pt'):\n"
        "    node = {'model': 'pytorch', 'uri': uri, 'inputs': ['x'], 'outputs': outputs}\n"
        f"    check_node(Path({str(folder)!r}), four, node)\n"
        "print([name for name in ('torch', 'torchvision', 'safetensors', 'apache_beam') if name in sys.modules])\n"
    )
    assert run_python(code) == "[]"


@pytest.mark.parametrize("name", ["more.pt", "less.pt", "other.pt", "more.safetensors", "less.safetensors"])
def test_weights_that_do_not_fit_are_named(tmp_path: Path, name: str) -> None:
    """PyTorch can leave weights out, or leave a model's own where they are; Beam and this project never let it."""
    import safetensors.torch

    linear = torch.nn.Linear(2, 1).state_dict()
    weights = {
        "more": {**linear, "extra": torch.ones(1)},
        "less": {"weight": linear["weight"]},
        "other": {f"module.{key}": value for key, value in linear.items()},
    }[name.partition(".")[0]]
    if name.endswith(".pt"):
        torch.save(weights, tmp_path / name)
    else:
        safetensors.torch.save_file(weights, tmp_path / name)
    node = {
        "model": "pytorch", "uri": name, "model_class": "torch.nn.Linear", "device": "cpu",
        "model_params": {"in_features": 2, "out_features": 1}, "inputs": ["x"], "outputs": {"y": "array<float>[1]"},
    }  # fmt: skip
    with pytest.raises(InvalidEnsemble, match=r"\[load_failed\](.|\n)*(extra|bias|module\.)"):
        load_node(tmp_path, {"x": "array<float>[2]"}, node)
