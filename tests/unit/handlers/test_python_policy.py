"""Which handlers are allowed by default, and that those of Beam are what is said of them."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
from typing import Any

import pytest

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import ANYTHING, LIBRARY_CODE, Files
from beam_ensembles.graph import check_text
from beam_ensembles.handlers.python.policy import KNOWN, OWN_KINDS
from beam_ensembles.registry import KINDS

BEAM = "apache_beam.ml.inference"
GEMINI = f"{BEAM}.gemini_inference.GeminiModelHandler"
ANTHROPIC = f"{BEAM}.anthropic_inference.AnthropicModelHandler"
VLLM = f"{BEAM}.vllm_inference.VLLMCompletionsModelHandler"
CLIENTS = {
    "anthropic_inference": "anthropic",
    "gemini_inference": "google.genai",
    "vllm_inference": "openai",
}
"""The library that each of Beam's modules imports."""


def node(handler: str, **more: Any) -> dict[str, Any]:
    return {
        "model": "python",
        "handler": handler,
        "inputs": ["x"],
        "outputs": {"y": "string"},
    } | more


HOSTS = ("api.anthropic.com", "*.googleapis.com", "huggingface.co")


def problems(
    described: dict[str, Any], code: tuple[str, ...] = LIBRARY_CODE, hosts: tuple[str, ...] = HOSTS
) -> list[tuple[str, str]]:
    text = json.dumps({"ensemble": "test", "inputs": {"x": "string"}, "nodes": {"node": described}})
    try:
        check_text(text, KINDS, Files("/nowhere", ("/nowhere",), code=code, hosts=hosts))
    except InvalidEnsemble as error:
        return [(problem.code, problem.path.removeprefix("nodes.node.")) for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "described",
    [
        node(
            GEMINI,
            config={"model_name": "gemini-2.5-flash", "project": "p", "location": "l"},
            functions={"request_fn": f"{BEAM}.gemini_inference.generate_from_string"},
            batch={"max": 1},
        ),
        node(
            ANTHROPIC,
            config={"model_name": "claude-haiku-4-5", "system": "Be short."},
            functions={"request_fn": f"{BEAM}.anthropic_inference.message_from_string"},
            inference_args={"max_tokens": 100},
            outputs={"y": {"from": "content.0.text", "type": "string"}},
        ),
        node(
            VLLM,
            config={"model_name": "facebook/opt-125m", "vllm_server_kwargs": {"max-num-seqs": "64"}},
            outputs={"y": {"from": "choices.0.text", "type": "string"}},
        ),
    ],
)
def test_beams_handlers_of_remote_models_need_no_leave(described: dict[str, Any]) -> None:
    assert problems(described) == []


@pytest.mark.parametrize(
    ("described", "problem"),
    [
        (node(f"{BEAM}.sklearn_inference.SklearnModelHandlerNumpy"), ("untrusted_code", "handler")),
        (node(f"{BEAM}.base.KeyedModelHandler"), ("untrusted_code", "handler")),
        (node(f"{BEAM}.vllm_inference.VLLMCompletionModelHandler"), ("untrusted_code", "handler")),
        (node(VLLM, config={"use_dynamo": True}), ("untrusted_code", "config.use_dynamo")),
        (node(ANTHROPIC, config={"env_vars": {"A": "b"}}), ("untrusted_code", "config.env_vars")),
        (
            node(VLLM, config={"vllm_server_kwargs": {"trust-remote-code": None}}),
            ("untrusted_code", "config.vllm_server_kwargs.trust-remote-code"),
        ),
        (
            node(GEMINI, functions={"request_fn": f"{BEAM}.vllm_inference.start_process"}),
            ("untrusted_code", "functions.request_fn"),
        ),
        (
            node(VLLM, functions={"request_fn": f"{BEAM}.vllm_inference.start_process"}),
            ("untrusted_code", "functions.request_fn"),
        ),
        (
            node(ANTHROPIC, preprocess=[f"{BEAM}.vllm_inference.start_process"]),
            ("untrusted_code", "preprocess[0]"),
        ),
        (
            node(ANTHROPIC, postprocess=["transformers.dynamic_module_utils.get_class_in_module"]),
            ("untrusted_code", "postprocess[0]"),
        ),
        (node(VLLM, uri="model"), ("unsupported_option", "uri")),
    ],
)
def test_what_is_only_allowed_by_default_may_not_be_told_everything(
    described: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert problem in problems(described)
    assert problem not in problems(
        described, (*LIBRARY_CODE, f"{BEAM}.*_inference.*", f"{BEAM}.base.*", "transformers.d*")
    ) or (problem[0] == "wrong_type")


@pytest.mark.parametrize("handler", KNOWN)
def test_a_host_must_be_allowed(handler: str) -> None:
    described = node(handler, config={"model_name": "somebody/model"})
    assert problems(described, hosts=()) == [("untrusted_host", "handler")]
    assert problems(described, (*LIBRARY_CODE, "apache_beam.*"), hosts=()) == []


def test_an_account_of_the_workers_own_is_used_only_at_an_allowed_host() -> None:
    described = node(GEMINI, config={"model_name": "gemini", "project": "p", "location": "l"})
    hosts = ("generativelanguage.googleapis.com",)
    assert problems(described, hosts=hosts) == [("untrusted_host", "handler")]


@pytest.mark.parametrize("value", ["--trust-remote-code", "-O3"])
def test_a_servers_value_is_no_argument_of_its_own(value: str) -> None:
    described = node(VLLM, config={"model_name": "a/b", "vllm_server_kwargs": {"enforce-eager": value}})
    assert problems(described) == [("bad_value", "config.vllm_server_kwargs.enforce-eager")]


@pytest.mark.parametrize("name", ["/models/stranger", "../stranger", "~/stranger", "--trust-remote-code"])
def test_a_server_loads_no_folder_that_nobody_trusts(name: str) -> None:
    assert problems(node(VLLM, config={"model_name": name})) == [("untrusted_file", "config.model_name")]
    assert problems(node(VLLM, config={"model_name": "/nowhere/mine"})) == []


def test_a_server_is_told_a_mapping() -> None:
    described = node(VLLM, config={"vllm_server_kwargs": ["trust-remote-code"]})
    assert problems(described) == [("wrong_type", "config.vllm_server_kwargs")]


def test_a_handler_of_ones_own_gets_no_function_that_nobody_allowed() -> None:
    described = node(
        "my_team.Handler", functions={"f": f"{BEAM}.vllm_inference.start_process", "g": "my_team.f"}
    )
    assert problems(described, (*LIBRARY_CODE, "my_team.*")) == [("untrusted_code", "functions.f")]


def test_who_runs_his_own_file_may_tell_a_handler_anything() -> None:
    described = node(VLLM, config={"vllm_server_kwargs": {"trust-remote-code": None}, "use_dynamo": True})
    assert problems(described, ANYTHING) == []


@pytest.mark.parametrize("name", KNOWN)
def test_beams_handlers_take_what_they_may_be_told(name: str) -> None:
    module, _, class_name = name.rpartition(".")
    library = CLIENTS[module.rpartition(".")[2]]
    if importlib.util.find_spec(library.partition(".")[0]) is None:
        pytest.skip(f"{library} is not installed")
    base = inference_imports.import_base()
    handler = getattr(importlib.import_module(module), class_name)
    assert issubclass(handler, base.ModelHandler)
    taken = set(inspect.signature(handler).parameters)
    assert KNOWN[name].arguments | KNOWN[name].functions <= taken


def test_the_other_handlers_of_beam_have_kinds_of_their_own() -> None:
    for kind in OWN_KINDS:
        assert importlib.util.find_spec(f"{BEAM}.{kind}_inference") is not None
