"""One ensemble with a node of every framework, and what each framework itself says of the same rows.

``python -m tests.support.every_framework FOLDER`` writes ``every.json``, its models and ``rows.json`` (a list of
``{row, expected}``) into a folder, and the files of ``whole_language`` beside them; it prints ``serving FOLDER``, and
serves the models of its remote nodes until standard input ends. Vertex AI is a stand-in, which is reached with the
environment variables of ``environment.json``; so is the server of ``chat``, ``embed`` and ``decisions``, which
answers by rules, over real HTTP, at the address in ``hosts.json``. TensorRT needs a GPU: where it runs, its node has
a file of its own, ``gpu.json`` (its answers are ``on_gpu`` in ``rows.json``), elsewhere ``left_out.json`` says why
not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import catboost
import joblib
import lightgbm
import numpy as np
import onnxruntime
import safetensors.torch
import torch
import transformers
import xgboost
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import InvalidEnsemble
from tests.support import vertex_ai_server, whole_language
from tests.support.chat_server import Reply, chat_server, said
from tests.support.largest_feature import FEATURES
from tests.support.models import Array, iris, write_graph
from tests.support.nodes import load_node
from tests.support.open_inference import Model, served
from tests.support.transformers_models import MAKERS

_ROWS: Final = range(0, 150, 6)
_TEXTS: Final = ("a good flower", "a bad flower", "the flower is not good", "good")
_NAMES: Final = np.array(["setosa", "versicolor", "virginica"])
_INPUTS: Final = {"x": "array<double>[4]", "text": "string"}
_ENDPOINT: Final = "7"
_SERVED: Final = "small"
Answers = Mapping[str, Any]


def _sklearn(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    flowers = iris()
    forest = RandomForestClassifier(10, random_state=0).fit(flowers.x, _NAMES[flowers.y])
    linear = LogisticRegression(max_iter=500).fit(flowers.x, flowers.y)
    joblib.dump(forest, folder / "forest.joblib")
    joblib.dump(linear, folder / "linear.joblib")
    sklearn = {"model": "sklearn", "inputs": ["x"]}
    nodes = {
        "forest": sklearn | {"uri": "forest.joblib", "outputs": {"sklearn_label": "string"}},
        "linear": sklearn
        | {
            "uri": "linear.joblib",
            "method": "predict_proba",
            "outputs": {"sklearn_proba": "array<double>[3]"},
        },
    }
    return nodes, {"sklearn_label": forest.predict(x), "sklearn_proba": linear.predict_proba(x)}


def _xgboost(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    flowers = iris()
    booster = xgboost.train(
        {"objective": "multi:softprob", "num_class": 3}, xgboost.DMatrix(flowers.x, flowers.y), 5
    )
    booster.save_model(folder / "boost.json")
    node = {"model": "xgboost", "uri": "boost.json", "inputs": ["x"], "outputs": {"xgboost_proba": None}}
    return {"boost": node}, {"xgboost_proba": booster.predict(xgboost.DMatrix(x))}


def _lightgbm(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    flowers = iris()
    params = {"objective": "multiclass", "num_class": 3, "num_threads": 1, "verbose": -1}
    booster = lightgbm.train(params, lightgbm.Dataset(flowers.x, flowers.y), 5)
    booster.save_model(folder / "light.txt")
    node = {"model": "lightgbm", "uri": "light.txt", "inputs": ["x"], "outputs": {"lightgbm_proba": None}}
    return {"light": node}, {"lightgbm_proba": booster.predict(x)}


def _catboost(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    flowers = iris()
    small = {"iterations": 5, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostClassifier(**small).fit(flowers.x, _NAMES[flowers.y])
    model.save_model(str(folder / "cat.cbm"))
    node = {"model": "catboost", "uri": "cat.cbm", "inputs": ["x"], "outputs": {"catboost_label": None}}
    return {"cat": node}, {"catboost_label": model.predict(x)[:, 0]}


def _onnx(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    flowers = iris()
    model = LogisticRegression(max_iter=500).fit(flowers.x, flowers.y)
    options = {id(model): {"zipmap": False}}
    graph = to_onnx(model, flowers.x[:1].astype(np.float32), options=options).SerializeToString()
    (folder / "linear.onnx").write_bytes(graph)
    outputs = {"onnx_label": {"from": "label"}, "onnx_proba": {"from": "probabilities"}}
    node = {"model": "onnx", "uri": "linear.onnx", "inputs": {"X": "x"}, "outputs": outputs}
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    label, proba = session.run(None, {"X": x.astype(np.float32)})
    return {"graph": node}, {"onnx_label": label, "onnx_proba": proba}


def _pytorch(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    torch.manual_seed(7)
    linear = torch.nn.Linear(4, 3)
    safetensors.torch.save_file(linear.state_dict(), folder / "linear.safetensors")
    node = {
        "model": "pytorch",
        "uri": "linear.safetensors",
        "model_class": "torch.nn.Linear",
        "model_params": {"in_features": 4, "out_features": 3},
        "inputs": ["x"],
        "outputs": {"pytorch_logits": "array<float>[3]"},
    }
    with torch.inference_mode():
        return {"linear_layer": node}, {
            "pytorch_logits": linear(torch.tensor(x, dtype=torch.float32)).numpy()
        }


def _tensorflow(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    inference_imports.import_handlers("tensorflow_inference")  # TensorFlow after PyTorch: see there
    import keras

    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    model.save(folder / "dense.keras")
    outputs = {"tensorflow_proba": "array<float>[3]"}
    node = {"model": "tensorflow", "uri": "dense.keras", "inputs": ["x"], "outputs": outputs}
    return {"dense": node}, {"tensorflow_proba": model.predict(x.astype(np.float32), verbose=0)}


def _huggingface(folder: Path, texts: list[str]) -> tuple[dict[str, Any], Answers]:
    MAKERS["classifier"](folder / "mood")
    node = {
        "model": "huggingface",
        "uri": "mood",
        "task": "text-classification",
        "inputs": ["text"],
        "outputs": {"mood": {"from": "label"}, "mood_score": {"from": "score"}},
    }
    said = transformers.pipeline("text-classification", str(folder / "mood"), device="cpu")(texts)
    return {"mood_model": node}, {
        "mood": [one["label"] for one in said],
        "mood_score": [one["score"] for one in said],
    }


def _python(_: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    node = {
        "model": "python",
        "handler": "tests.support.largest_feature.LargestFeature",
        "inputs": ["x"],
        "outputs": {"python_label": "string"},
    }
    return {"largest": node}, {"python_label": [FEATURES[at] for at in x.argmax(axis=1)]}


def _remote(port: int, x: Array) -> tuple[dict[str, Any], Answers]:
    node = {
        "model": "open_inference",
        "uri": f"grpc://localhost:{port}/shares",
        "inputs": {"x": "x"},
        "outputs": {"remote_proba": {"from": "share"}},
    }
    return {"shares": node}, {"remote_proba": _shares({"x": x})["share"]}


def _shares(tensors: Mapping[str, Array]) -> dict[str, Array]:
    """The remote model: the share of each of the first three features in their sum."""
    first = tensors["x"][:, :3]
    return {"share": first / first.sum(axis=1, keepdims=True)}


def _vertex_ai(_: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    node = {
        "model": "vertex_ai",
        "endpoint": _ENDPOINT,
        "project": "flowers",
        "location": vertex_ai_server.LOCATION,
        "inputs": ["x"],
        "outputs": {
            "vertex_label": {"from": "label", "type": "string"},
            "vertex_share": {"from": "share", "type": "array<double>[4]"},
        },
    }
    said = _deployed(x.tolist())
    return {"endpoint": node}, {
        "vertex_label": [one["label"] for one in said],
        "vertex_share": [one["share"] for one in said],
    }


def _deployed(instances: list[Any]) -> list[Any]:
    """The model of the endpoint: the largest feature's name, and the share of each in their sum."""
    found = [(np.asarray(one), sum(one)) for one in instances]
    return [{"label": FEATURES[int(x.argmax())], "share": (x / total).tolist()} for x, total in found]


def _language(url: str, texts: list[str]) -> tuple[dict[str, Any], Answers]:
    server = {"url": url, "name": _SERVED, "inputs": ["text"]}
    messages = [{"role": "user", "content": "{text}"}]
    nodes = {
        "reader": server
        | {
            "model": "chat",
            "messages": messages,
            "outputs": {"chat_mood": "string", "chat_words": "int64", "chat_parts": "array<string>"},
        },
        "vectors": server | {"model": "embed", "outputs": {"embed_vector": "array<float>[2]"}},
        "judge": server
        | {
            "model": "decisions",
            "messages": messages,
            "questions": {"bad": "Somebody complains."},
            "outputs": {"decisions_bad": {"from": "bad"}},
        },
    }
    read = [_read(text) for text in texts]
    answers = {name: [one[name] for one in read] for name in read[0]}
    answers |= {"embed_vector": [_vector(text) for text in texts]}
    return nodes, answers | {"decisions_bad": [_bad(text) for text in texts]}


def _read(text: str) -> dict[str, Any]:
    """What the language model answers."""
    return {
        "chat_mood": "bad" if _bad(text) > 0.5 else "good",
        "chat_words": len(text.split()),
        "chat_parts": text.split(),
    }


def _vector(text: str) -> list[float]:
    return [float(len(text)), text.count("o") / 8]


def _bad(text: str) -> float:
    return 0.75 if "bad" in text or "not" in text else 0.25


def _answered(request: dict[str, Any]) -> Reply:
    """The models behind OpenAI's interface."""
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    if "questions" in request:
        ((question,), (message,)) = request["questions"], request["input"]
        answer = {"type": "predicate", "name": question["name"], "probability": _bad(message["content"])}
        body: dict[str, Any] = {"answers": [answer], "model": _SERVED}
    elif "input" in request:
        found = [{"object": "embedding", "index": at, "embedding": _vector(text)}
                 for at, text in enumerate(request["input"])]  # fmt: skip
        body = {"object": "list", "data": found, "model": _SERVED, "usage": usage}
    else:
        return Reply(json.dumps(_read(said(request))))
    return Reply(body=json.dumps(body).encode())


def _tensorrt(folder: Path, x: Array) -> tuple[dict[str, Any], Answers]:
    write_graph(
        folder / "twice.onnx",
        [("Add", ["X", "X"], ["Y"], {})],
        [("X", "FLOAT", ["N", 4])],
        [("Y", "FLOAT", ["N", 4])],
    )
    node: dict[str, Any] = {"model": "tensorrt", "uri": "twice.onnx", "inputs": ["x"]}
    node |= {"outputs": {"tensorrt_sum": {"from": "Y", "type": "array<float>[4]"}}}
    return {"engine": node}, {"tensorrt_sum": 2 * x}


def _lacking(folder: Path, nodes: Mapping[str, dict[str, Any]]) -> str | None:
    """Returns why nodes cannot be loaded on this machine, or None where they can."""
    try:
        for node in nodes.values():
            load_node(folder, {"x": _INPUTS["x"]}, node)
    except InvalidEnsemble as exc:
        return "; ".join(problem.message for problem in exc.problems)
    return None


def _write_spec(file: Path, nodes: Mapping[str, dict[str, Any]]) -> None:
    spec = {"ensemble": file.stem, "inputs": _INPUTS, "nodes": nodes}
    file.write_text(json.dumps(spec, indent=2), encoding="utf-8")


def write(folder: Path, port: int, url: str) -> None:
    """Writes the ensemble, its models and the rows.

    Args:
        folder: Where to.
        port: Where the model of the ``open_inference`` node is served.
        url: Where the models with OpenAI's interface are.
    """
    x = iris().x[list(_ROWS)]
    texts = [_TEXTS[at % len(_TEXTS)] for at in range(len(x))]
    makers = (_sklearn, _xgboost, _lightgbm, _catboost, _onnx, _pytorch, _tensorflow, _python, _vertex_ai)
    parts = [one(folder, x) for one in makers]
    parts += [_huggingface(folder, texts), _remote(port, x), _language(url, texts)]
    _write_spec(folder / "every.json", {name: node for part, _ in parts for name, node in part.items()})
    gpu_nodes, on_gpu = _tensorrt(folder, x)
    lacking = _lacking(folder, gpu_nodes)
    left_out = {} if lacking is None else {"tensorrt": lacking}
    (folder / "left_out.json").write_text(json.dumps(left_out), encoding="utf-8")
    if lacking is None:
        _write_spec(folder / "gpu.json", gpu_nodes)
    answers = {name: values for _, part in parts for name, values in part.items()}
    rows = [
        {"row": {"id": at, "x": x[at].tolist(), "text": texts[at]},
         "expected": _of_row(answers, at), "on_gpu": _of_row(on_gpu, at)}
        for at in range(len(x))
    ]  # fmt: skip
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")


def _of_row(answers: Answers, at: int) -> dict[str, Any]:
    """Returns what each column has for a row; in a list, rows may be lists of another length each."""
    return {
        name: values[at] if isinstance(values, list) else np.asarray(values).tolist()[at]
        for name, values in answers.items()
    }


def main(folder: Path) -> None:
    """Writes all that, and serves until standard input ends."""
    model = Model(_shares, inputs=[("x", "FP64", [-1, 4])], outputs=[("share", "FP64", [-1, 3])])
    with (
        served({"shares": model}) as server,
        vertex_ai_server.served(folder, {_ENDPOINT: _deployed}) as variables,
        chat_server(_answered) as language,
    ):
        (folder / "environment.json").write_text(json.dumps(variables), encoding="utf-8")
        (folder / "hosts.json").write_text(json.dumps([language.url.removesuffix("/v1")]), encoding="utf-8")
        write(folder, server.port, language.url)
        whole_language.write(folder)
        print(f"serving {folder}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
