"""``imports``: modules that register the layers or operators that a model's file only names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.handlers.support.load_failures import reason
from tests.support.nodes import check_node, load_node, problems_of

SAVE = """
import keras, numpy as np, sys
import registered_layers
x = keras.layers.Input((3,))
model = keras.Sequential([x, registered_layers.Twice(), keras.layers.Dense(2)])
for name in sys.argv[1:]:
    model.save(name)
"""
LAYERS = """
import keras
LOADED = True
@keras.saving.register_keras_serializable("team")
class Twice(keras.layers.Layer):
    def call(self, x):
        return 2 * x
"""
X = {"x": "array<float>[3]"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Keras model that has a layer of a module there."""
    folder = tmp_path_factory.mktemp("registered")
    (folder / "registered_layers.py").write_text(LAYERS)
    (folder / "save.py").write_text(SAVE)
    save = [sys.executable, "save.py", "own.keras", "own.h5"]
    subprocess.run(save, check=True, cwd=folder, capture_output=True)
    return folder


def node(uri: str = "own.keras", **more: Any) -> dict[str, Any]:
    return {"model": "tensorflow", "uri": uri, "inputs": ["x"], "outputs": {"y": "array<float>[2]"}} | more


@pytest.mark.parametrize("uri", ["own.keras", "own.h5"])
def test_without_the_module_the_message_is_short_and_says_what_to_do(folder: Path, uri: str) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(folder, X, node(uri))
    (problem,) = caught.value.problems
    assert problem.code == "load_failed"
    assert "Twice" in problem.message
    assert "imports: [package.module]" in problem.message
    assert len(problem.message) < 700


@pytest.mark.parametrize("uri", ["own.keras", "own.h5"])
def test_a_registered_layer_is_found_once_its_module_is_imported(
    folder: Path, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(folder))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("beam_ensembles.handlers.support.importing.is_vouched_for", lambda files, name: True)
        member = load_node(folder, X, node(uri, imports=["registered_layers"]))
    import keras

    wanted = keras.models.load_model(folder / uri)
    sys.modules.pop("registered_layers")
    keras.saving.get_custom_objects().pop("team>Twice")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    answer = member({"x": x})["y"]
    np.testing.assert_allclose(answer, wanted(x), rtol=1e-6)


@pytest.mark.parametrize("kind", ["tensorflow", "pytorch"])
@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("registered_layers", "untrusted_code"),
        ("transformers.utils", "untrusted_code"),
        ("team layers", "bad_name"),
        ("team..layers", "bad_name"),
        (3, "wrong_type"),
    ],
)
def test_a_module_must_be_allowed(tmp_path: Path, kind: str, module: object, code: str) -> None:
    one = node("https://models.example.com/m", model=kind, imports=["tests.support", module])
    assert (code, "imports[1]") in problems_of(tmp_path, X, one)


@pytest.mark.parametrize("kind", ["tensorflow", "pytorch"])
def test_a_module_that_is_not_there_or_breaks_says_so_before_the_model_is_loaded(
    folder: Path, kind: str
) -> None:
    one = node("own.keras" if kind == "tensorflow" else "m.pt", model=kind)
    (folder / "m.pt").write_bytes(b"\x80\x04N.")
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(folder, X, one | {"imports": ["tests.support.no_such_module"]})
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == ("import_failed", "nodes.node.imports[0]")
    assert "no_such_module" in problem.message


@pytest.mark.parametrize(
    "text",
    [
        "Could not locate class 'Twice'. Make sure custom classes are decorated.",
        "Unknown layer: 'Twice'. Please ensure you are using a `keras.utils.custom_object_scope`",
        "Op type not registered 'Twice' in binary running on here.",
        "Unknown builtin op: Twice.\nCould not find any similar ops to Twice.",
    ],
)
def test_what_is_not_registered_is_named(text: str) -> None:
    assert reason(RuntimeError(text)).startswith("it needs 'Twice', which no imported module registers; name")


def test_the_kinds_check_them_without_importing_anything(tmp_path: Path) -> None:
    (tmp_path / "m.pt").write_bytes(b"\x80\x04N.")
    one = node("m.pt", model="pytorch", imports=["tests.never_imported"])
    assert check_node(tmp_path, X, one).spec.options["imports"] == ["tests.never_imported"]
    assert "tests.never_imported" not in sys.modules
