"""Problems of a node: those found before anything is loaded, and those found by loading it."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files, sha256_of
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.huggingface import hub
from beam_ensembles.registry import KINDS
from tests.support.interpreter import run_python
from tests.support.media import objects
from tests.support.nodes import check_node, load_node, problems_of, types_of

if TYPE_CHECKING:
    from tests.support.transformers_models import Models

INPUTS = {
    "text": "string", "other": "string", "image": "bytes", "x": "array<float>[4]", "ids": "array<int64>",
    "words": "array<string>", "number": "double",
}  # fmt: skip
MOOD: dict[str, Any] = {
    "model": "huggingface",
    "uri": "mood",
    "task": "text-classification",
    "inputs": ["text"],
    "outputs": {"label": None},
}
TENSORS: dict[str, Any] = {
    "model": "huggingface",
    "uri": "mood",
    "model_class": "transformers.BertModel",
    "inputs": {"input_ids": "ids"},
    "outputs": {"pooled": {"from": "pooler_output", "type": "array<float>[16]"}},
}
CONFIG = {
    "architectures": ["BertForSequenceClassification"],
    "hidden_size": 16,
    "id2label": {"0": "bad", "1": "good"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with what the checks read of a model."""
    (tmp_path / "mood").mkdir()
    (tmp_path / "mood" / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "mood" / "model.safetensors").write_bytes(b"")
    for name in ("preprocessor_config.json", "vocab.txt"):
        (tmp_path / "mood" / name).write_text("")
    return tmp_path


WRONG: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"task": "sentiment"}, [("bad_value", "task")]),
    ({"task": "object-detection", "inputs": ["image"], "outputs": {"boxes": None}}, [("signature_mismatch", "task")]),
    ({"inputs": ["image"]}, [("type_mismatch", "inputs[0]")]),
    ({"inputs": ["text", "other"]}, [("unknown_port", "inputs")]),
    ({"inputs": {"text": "text", "txt": "other"}}, [("unknown_port", "inputs.txt")]),
    ({"inputs": {"text_pair": "other"}}, [("signature_mismatch", "inputs")]),
    ({"outputs": {"labell": None}}, [("unknown_port", "outputs.labell")]),
    ({"outputs": {"score": "string"}}, [("signature_mismatch", "outputs.score")]),
    ({"outputs": {"probabilities": "array<double>[3]"}}, [("signature_mismatch", "outputs.probabilities")]),
    ({"labels": ["good", "bad"]}, [("bad_labels", "labels")]),
    ({"method": "forward"}, [("unsupported_option", "method")]),
    ({"per_row": True}, [("unsupported_option", "per_row")]),
    ({"samples": 2}, [("unsupported_option", "samples")]),
    ({"revision": "main"}, [("unsupported_option", "revision")]),
    ({"inference_args": {"top_kk": 2}}, [("unknown_option", "inference_args.top_kk")]),
    ({"inference_args": {"batch_size": 0}}, [("bad_value", "inference_args.batch_size")]),
    ({"config": {"device": "CPU"}}, [("unsupported_option", "config.device")]),
    ({"config": {"load_model_args": {}}}, [("unknown_option", "config.load_model_args")]),
    (
        {"config": {"load_pipeline_args": {"trust_remote_code": True}}},
        [("bad_value", "config.load_pipeline_args")],
    ),
    (
        {"config": {"load_pipeline_args": {"attn_implementation": "someone/kernel"}}},
        [("bad_value", "config.load_pipeline_args")],
    ),
    (
        {"task": "zero-shot-classification"},
        [("missing_key", "inference_args.candidate_labels"), ("signature_mismatch", "task")],
    ),
    (
        {"task": "feature-extraction", "outputs": {"embedding": None}, "inference_args": {"pooling": "sum"}},
        [("bad_value", "inference_args.pooling")],
    ),
    (
        {"task": "feature-extraction", "outputs": {"embedding": "array<float>[17]"}},
        [("signature_mismatch", "outputs.embedding")],
    ),
    (
        {
            "task": "summarization",
            "outputs": {"text_out": {"from": "text"}},
            "inference_args": {"num_return_sequences": 3},
        },
        [("bad_value", "inference_args.num_return_sequences")],
    ),
    (
        {"task": "document-question-answering", "inputs": {"question": "text"}, "outputs": {"answer": None}},
        [("signature_mismatch", "inputs")],
    ),
    (
        {
            "task": "document-question-answering",
            "inputs": {"question": "text", "words": "words"},
            "outputs": {"answer": None},
        },
        [("signature_mismatch", "inputs")],
    ),
    ({"model_class": "transformers.BertModel"}, [("bad_value", "model_class"), ("type_mismatch", "inputs[0]")]),
    ({"uri": "hf:no name"}, [("bad_value", "uri"), ("untrusted_host", "uri")]),
    ({"uri": "hf:org/mood", "sha256": "0" * 64}, [("unsupported_option", "sha256"), ("untrusted_host", "uri")]),
    ({"uri": "mood/config.json"}, [("bad_model_file", "uri")]),
    ({"uri": "mod"}, [("missing_file", "uri")]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "wanted"), WRONG, ids=lambda value: str(value)[:60])
def test_what_is_wrong_with_a_task(
    folder: Path, change: dict[str, Any], wanted: list[tuple[str, str]]
) -> None:
    used = {**MOOD, **change}
    assert sorted(problems_of(folder, INPUTS, used)) == sorted(wanted)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"model_class": "os.system"}, [("bad_value", "model_class")]),
        ({"inputs": {"input_ids": "text"}}, [("type_mismatch", "inputs.input_ids")]),
        ({"inputs": ["text", "x"]}, [("type_mismatch", "inputs[0]")]),
        ({"outputs": {"pooled": {"from": "pooler_output"}}}, [("missing_type", "outputs.pooled")]),
        ({"method": "save_pretrained"}, [("bad_value", "method")]),
        (
            {"method": "generate", "inference_args": {"custom_generate": "someone/code"}},
            [("unknown_option", "inference_args.custom_generate")],
        ),
        (
            {
                "method": "generate",
                "samples": 2,
                "inference_args": {"num_return_sequences": 3},
                "outputs": {"o": "array<array<int64>>"},
            },
            [("bad_value", "inference_args.num_return_sequences")],
        ),
        ({"config": {"load_pipeline_args": {}}}, [("unknown_option", "config.load_pipeline_args")]),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_what_is_wrong_with_a_model_class(
    folder: Path, change: dict[str, Any], wanted: list[tuple[str, str]]
) -> None:
    assert problems_of(folder, INPUTS, {**TENSORS, **change}) == wanted


def test_neither_a_task_nor_a_class_is_a_mistake(folder: Path) -> None:
    node = {key: value for key, value in MOOD.items() if key != "task"} | {"outputs": {"label": "string"}}
    assert problems_of(folder, INPUTS, node) == [("missing_key", "task")]


def test_the_models_configuration_gives_lengths(folder: Path) -> None:
    outputs = {"probabilities": None, "label": None, "scores": "array<float>[2]"}
    found = types_of(folder, INPUTS, {**MOOD, "outputs": outputs, "labels": ["bad", "good"]})
    assert found == {"probabilities": "array<double>[2]", "label": "string", "scores": "array<float>[2]"}
    embedding = {**MOOD, "task": "feature-extraction", "outputs": {"embedding": None, "tokens": None}}
    assert types_of(folder, INPUTS, embedding) == {
        "embedding": "array<float>[16]",
        "tokens": "array<array<float>[16]>",
    }


def test_a_broken_configuration_is_said(folder: Path) -> None:
    (folder / "mood" / "config.json").write_text("{")
    assert problems_of(folder, INPUTS, MOOD) == [("bad_model_file", "uri")]


def test_checking_imports_no_framework(folder: Path) -> None:
    code = f"""
import sys
from beam_ensembles.graph import check_text
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.registry import KINDS

text = '''
ensemble: test
inputs: {{text: string}}
nodes:
  tokens: {{apply: processor, uri: mood, inputs: {{text: text}}, outputs: {{ids: {{from: input_ids}}}}}}
  mood: {{model: huggingface, uri: mood, task: text-classification, inputs: [text], outputs: {{label: {{}}}}}}
'''
graph = check_text(text, KINDS, Files({str(folder)!r}, is_own=True))
frameworks = {{"PIL", "apache_beam", "tokenizers", "torch", "transformers"}}
print([str(type_) for _, type_ in graph.outputs], sorted(frameworks & set(sys.modules)))
"""
    assert run_python(code) == "['array<int64>', 'string'] []"


def test_a_missing_framework_is_named_with_what_installs_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    inference_imports.import_base()
    for module in ("transformers", "apache_beam.ml.inference.huggingface_inference"):
        monkeypatch.setitem(sys.modules, module, None)
    node = check_node(folder, INPUTS, MOOD)
    with pytest.raises(InvalidEnsemble, match=r"pip install 'beam-ensembles\[huggingface\]'") as caught:
        KINDS[("model", "huggingface")].load(node)
    assert caught.value.problems[0].code == "not_installed"


def hub_node(hosts: tuple[str, ...], revision: str = "0" * 40) -> CheckedNode:
    """Checks a node of a model of the hub."""
    node = {**MOOD, "uri": "hf:somebody/mood", "revision": revision}
    text = json.dumps({"ensemble": "test", "inputs": {"text": "string"}, "nodes": {"node": node}})
    return check_text(text, KINDS, Files(hosts=hosts)).nodes[0]


def test_the_hub_must_be_allowed() -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        hub_node(())
    assert [problem.code for problem in caught.value.problems] == ["untrusted_host"]
    assert hub_node(("huggingface.co",)).uri == "hf:somebody/mood"


@pytest.mark.parametrize("revision", ["../../x", "/etc/hostname", "a/../b", ".", "a//b", "-x", "a b", ""])
def test_a_revision_leads_nowhere_in_the_cache(revision: str) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        hub_node(("huggingface.co",), revision)
    assert [(problem.code, problem.path) for problem in caught.value.problems] == [
        ("bad_value", "nodes.node.revision")
    ]
    for good in ("main", "v1.0", "refs/pr/1", "feature/x-1"):
        assert hub_node(("huggingface.co",), good)


def test_a_folder_where_the_worker_was_started_is_no_model_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "somebody" / "mood").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidEnsemble, match="would be loaded instead of 'hf:somebody/mood'") as caught:
        KINDS[("model", "huggingface")].load(hub_node(("huggingface.co",)))
    assert caught.value.problems[0].code == "load_failed"


def test_a_model_that_is_not_in_the_cache_is_named(models: Models) -> None:
    node = hub_node(("*",))
    with pytest.raises(InvalidEnsemble, match="cannot load 'hf:somebody/mood'") as caught:
        KINDS[("model", "huggingface")].load(node)
    assert caught.value.problems[0].code == "load_failed"


def test_a_model_of_the_hub_is_held_to_the_same_as_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    node = hub_node(("huggingface.co",))
    place = tmp_path / "models--somebody--mood" / "snapshots" / node.spec.options["revision"]
    place.mkdir(parents=True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with hub.opened(node) as found:
        assert (found.name, found.revision) == ("somebody/mood", place.name)
    (place / "tokenizer_config.json").write_text('{"vocab": "/etc/passwd"}')
    with pytest.raises(InvalidEnsemble, match=r"untrusted_file.*'vocab: /etc/passwd'"), hub.opened(node):
        pass


def test_a_model_of_the_hub_comes_from_the_cache(
    models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    node = hub_node(("huggingface.co",))
    place = tmp_path / "models--somebody--mood" / "snapshots" / node.spec.options["revision"]
    shutil.copytree(models("classifier"), place)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    found = KINDS[("model", "huggingface")].load(node)({"text": objects("the film was good .")})
    folder = load_node(models.root, INPUTS, {**MOOD, "uri": "classifier"})
    assert found["label"].tolist() == folder({"text": objects("the film was good .")})["label"].tolist()


def test_a_pinned_folder_is_the_pinned_one(models: Models, tmp_path: Path) -> None:
    shutil.copytree(models("classifier"), tmp_path / "mood")
    pin = sha256_of(str(tmp_path / "mood"))
    node = check_node(tmp_path, INPUTS, {**MOOD, "sha256": pin}, trust=False)
    KINDS[("model", "huggingface")].load(node)
    (tmp_path / "mood" / "extra.txt").write_text("more")
    assert problems_of(tmp_path, INPUTS, {**MOOD, "sha256": pin}) == [("sha256_mismatch", "sha256")]
    with pytest.raises(InvalidEnsemble, match="not the pinned one"):
        KINDS[("model", "huggingface")].load(node)


def test_pickled_weights_need_to_be_vouched_for(models: Models, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    folder = tmp_path / "mood"
    shutil.copytree(models("classifier"), folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert problems_of(tmp_path, INPUTS, MOOD, trust=False) == [("untrusted_file", "uri")]
    load_node(tmp_path, INPUTS, MOOD)
    pinned = check_node(tmp_path, INPUTS, {**MOOD, "sha256": sha256_of(str(folder))}, trust=False)
    options = {name: value for name, value in pinned.spec.options.items() if name != "sha256"}
    unvouched = dataclasses.replace(pinned, spec=dataclasses.replace(pinned.spec, options=options))
    with pytest.raises(InvalidEnsemble, match="safetensors"):
        KINDS[("model", "huggingface")].load(unvouched)


def test_code_that_comes_with_a_model_is_not_run(models: Models, tmp_path: Path) -> None:
    folder, marker = tmp_path / "mood", tmp_path / "ran"
    shutil.copytree(models("classifier"), folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "own",
        "auto_map": {"AutoConfig": "own.Own", "AutoModelForSequenceClassification": "own.Own"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"open({str(marker)!r}, 'w')\nclass Own: pass\n")
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(tmp_path, INPUTS, MOOD)
    assert caught.value.problems[0].code == "load_failed"
    assert not marker.exists()


def test_a_model_made_for_something_else_is_refused_on_the_worker_too(models: Models) -> None:
    node = check_node(
        models("encoder").parent, INPUTS, {**MOOD, "uri": "classifier"} if models("classifier") else {}
    )
    far = CheckedNode(node.spec, node.kind, node.inputs, node.outputs, str(models("encoder")))
    with pytest.raises(InvalidEnsemble, match="BertModel"):
        KINDS[("model", "huggingface")].load(far)


def test_what_is_no_model_class_is_refused_on_the_worker(models: Models) -> None:
    for name, code in (
        ("transformers.AutoTokenizer", "bad_value"),
        ("transformers.NoSuchModel", "import_failed"),
        ("transformers.pipeline", "bad_value"),
    ):
        models("classifier")
        node = {**TENSORS, "uri": "classifier", "model_class": name}
        with pytest.raises(InvalidEnsemble) as caught:
            load_node(models.root, INPUTS, node)
        assert [(problem.path, problem.code) for problem in caught.value.problems] == [
            ("nodes.node.model_class", code)
        ]


def test_a_port_that_the_model_does_not_have_is_refused_on_the_worker(models: Models) -> None:
    models("clip")
    node = {
        **TENSORS, "uri": "clip", "model_class": "transformers.CLIPModel", "method": "get_text_features",
        "inputs": {"inputs_idz": "ids"},
    }  # fmt: skip
    with pytest.raises(EnsembleError, match=r"takes no 'inputs_idz'; did you mean 'input_ids'"):
        load_node(models.root, INPUTS, node)


def test_a_gpu_that_is_not_there_is_said(models: Models) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    models("classifier")
    with pytest.raises(EnsembleError, match=r"no_gpu\] nodes\.node\.device: this worker has no usable GPU"):
        load_node(models.root, INPUTS, {**MOOD, "uri": "classifier", "device": "gpu"})
