"""What the configuration of a transformers folder may not load from elsewhere."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.handlers.huggingface import hub
from beam_ensembles.handlers.huggingface.folder_checks import reaches_out
from beam_ensembles.handlers.support import member
from tests.support.nodes import check_node, load_node, problems_of

if TYPE_CHECKING:
    from tests.support.transformers_models import Models

TEXT = {"text": "string"}
MOOD: dict[str, Any] = {
    "model": "huggingface",
    "uri": "mood",
    "task": "text-classification",
    "inputs": ["text"],
    "outputs": {"label": None},
}
OUTSIDE: list[tuple[str, dict[str, Any]]] = [
    ("tokenizer_config.json", {"gguf_file": "/etc/passwd"}),
    ("tokenizer_config.json", {"mecab_kwargs": {"mecab_option": "-r /etc/passwd"}}),
    ("config.json", {"text_config": {"transformers_weights": "../other/model.safetensors"}}),
    ("config.4.0.0.json", {"transformers_weights": "../other/model.safetensors"}),
    ("tokenizer_config.json", {"init_inputs": ["/etc/passwd"]}),
    ("special_tokens_map.json", {"unk_token": "?", "vocab": "passwd"}),
    ("special_tokens_map.json", {"unk_token": "?", "source_spm": "model"}),
    ("preprocessor_config.json", {"class_info_file": "/etc/classes.json"}),
    ("preprocessor_config.json", {"repo_path": "../.."}),
    ("model.safetensors.index.json", {"weight_map": {"a": "../other/model.safetensors"}}),
    ("tokenizer_config.json", {"vocab": "passwd"}),
    ("tokenizer_config.json", {"merges": "/etc/passwd"}),
    ("tokenizer_config.json", {"tokenizer_class": "AutoModel"}),
    ("byte_maps.json", {"decompose_map": "/etc/rules.json"}),
    ("audio_tokenizer_config.json", {"audio_tokenizer_name_or_path": "/models/other"}),
    ("processor_config.json", {"processor_class": "BertModel"}),
    ("preprocessor_config.json", {"tesseract_config": "-c debug_file=/tmp/written"}),
    ("preprocessor_config.json", {"ocr_lang": "../../tmp/own"}),
    ("config.json", {"model_args": {"checkpoint_path": "model.pth"}}),
    ("adapter_config.json", {"megatron_config": {"a": 1}, "megatron_core": "antigravity"}),
]


def write(folder: Path, name: str, content: dict[str, Any]) -> None:
    path = folder / name
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**before, **content}))


@pytest.mark.parametrize(("name", "content"), OUTSIDE)
def test_a_folder_that_names_other_files_must_be_vouched_for(
    tmp_path: Path, name: str, content: dict[str, Any]
) -> None:
    folder = tmp_path / "mood"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    (folder / "vocab.txt").write_bytes(b"")
    assert check_node(tmp_path, TEXT, MOOD, trust=False)
    write(folder, name, content)
    assert len(reaches_out(str(folder))) == 1
    assert problems_of(tmp_path, TEXT, MOOD, trust=False) == [("untrusted_file", "uri")]
    trusted = check_node(tmp_path, TEXT, MOOD, trust=True)
    with (
        pytest.raises(InvalidEnsemble, match=r"\[untrusted_file\].*load files from elsewhere"),
        hub.opened(dataclasses.replace(trusted, is_trusted=False)),
    ):
        pass


def test_shards_beside_the_index_are_the_folders_own(tmp_path: Path) -> None:
    write(tmp_path, "model.safetensors.index.json", {"weight_map": {"a": "model-00001-of-00002.safetensors"}})
    assert reaches_out(str(tmp_path)) == ()


def test_the_place_that_a_model_had_once_is_not_looked_at(tmp_path: Path) -> None:
    write(tmp_path, "config.json", {"_name_or_path": "/home/somebody/model"})
    own = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "processor_class": "Wav2Vec2ProcessorWithLM",
        "vocab": {},
    }
    write(
        tmp_path,
        "tokenizer_config.json",
        {"special_tokens_map_file": "/root/map.json", "init_inputs": [], **own},
    )
    write(
        tmp_path, "preprocessor_config.json", {"ocr_lang": "eng+deu", "tesseract_config": "", "merges": None}
    )
    write(
        tmp_path,
        "special_tokens_map.json",
        {"additional_special_tokens": ["<a>"], "unk_token": {"content": "?"}},
    )
    assert reaches_out(str(tmp_path)) == ()


def test_no_file_elsewhere_becomes_the_vocabulary(tmp_path: Path) -> None:
    """What transformers does with such a folder, which is why it must be vouched for."""
    import transformers

    (tmp_path / "secret").write_text("a secret line\n")
    folder = tmp_path / "mood"
    folder.mkdir()
    write(folder, "config.json", {"model_type": "bert"})
    (folder / "vocab.txt").write_text("a\n")
    kind = {"word_tokenizer_type": "basic", "subword_tokenizer_type": "character"}
    write(folder, "tokenizer_config.json", {"tokenizer_class": "BertJapaneseTokenizer", **kind})
    write(folder, "special_tokens_map.json", {"vocab_file": str(tmp_path / "secret")})
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert "secret" not in tokenizer.decode([0]) or reaches_out(str(folder))


def test_nothing_of_the_hub_is_loaded_for_a_folder(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    checked = check_node(models("classifier").parent, TEXT, MOOD | {"uri": "classifier"})
    with hub.opened(checked):
        first, second = (hub.opened(checked) for _ in range(2))  # as threads do that load at one time
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert huggingface_hub.constants.HF_HUB_OFFLINE is True
    assert huggingface_hub.constants.HF_HUB_OFFLINE is True
    second.__exit__(None, None, None)
    assert huggingface_hub.constants.HF_HUB_OFFLINE is False


def test_nobody_is_asked_whether_to_run_code(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    """``run -`` reads rows on standard input, and a row that is 1 would be the answer."""
    folder = models("classifier")
    transformers = hub.transformers_of(check_node(folder.parent, TEXT, MOOD | {"uri": "classifier"}))
    monkeypatch.setattr("builtins.input", lambda _: "1")
    with pytest.raises(ValueError, match="custom code"):
        transformers.dynamic_module_utils.resolve_trust_remote_code(None, str(folder), False, True)


def test_kernels_are_hidden_before_transformers_is_imported(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = models("classifier")
    monkeypatch.delitem(sys.modules, "kernels", raising=False)
    found: list[bool] = []

    def handlers_of(*_: Any) -> Any:
        found.append("kernels" in sys.modules)
        raise NotImplementedError

    monkeypatch.setattr(member, "handlers_of", handlers_of)
    with pytest.raises(NotImplementedError):
        load_node(folder.parent, TEXT, MOOD | {"uri": "classifier"})
    assert found == [True]


def test_code_of_the_hub_is_never_run(models: Models, tmp_path: Path) -> None:
    copy = tmp_path / "mood"
    shutil.copytree(models("classifier"), copy)
    write(copy, "config.json", {"_attn_implementation": "somebody/attention"})
    with pytest.raises(EnsembleError, match="kernels"):
        load_node(tmp_path, TEXT, MOOD)
    assert importlib.util.find_spec("kernels") is None


def test_templates_of_chats_run_in_a_sandbox(models: Models) -> None:
    import jinja2

    folder = models("classifier")
    transformers = hub.transformers_of(check_node(folder.parent, TEXT, MOOD | {"uri": "classifier"}))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for template in ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "{% include '/etc/passwd' %}"):
        with pytest.raises((jinja2.exceptions.SecurityError, TypeError)):
            tokenizer.apply_chat_template(
                [{"role": "user", "content": "a"}], chat_template=template, tokenize=False
            )
