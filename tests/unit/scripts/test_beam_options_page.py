"""The page on Beam's options has a row for each one of the installed Beam, and for none that it lacks.

Beam's files are parsed, not imported: most need a library that is not here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import apache_beam
import pytest

from scripts.layout import ROOT

BEAM = Path(apache_beam.__file__).parent
PAGE = (ROOT / "docs" / "reference" / "beam-options.md").read_text(encoding="utf-8")
NAMED = [
    name
    for row in re.findall(r"^\| (`.+?) \| .+ \|$", PAGE, re.MULTILINE)
    for name in re.findall(r"`(\w+)`", row)
]
FOLDERS = {
    "ml/inference": "ModelHandler|Handler(Numpy|NumPy|Pandas|Tensor|KeyedTensor|JSON)$",
    "ml/transforms/embeddings": "Embeddings$",
    "ml/rag/embeddings": "Embeddings$",
    "transforms/enrichment_handlers": "EnrichmentHandler$",
    "ml/rag/enrichment": "EnrichmentHandler$",
}
OF_ALL_HANDLERS = {"env_vars"}
"""Arguments that Beam takes out of ``**kwargs``."""


def classes(folder: str) -> Iterator[ast.ClassDef]:
    for path in sorted((BEAM / folder).glob("*.py")):
        if not path.stem.endswith("_test"):
            body = ast.parse(path.read_text(encoding="utf-8")).body
            yield from (one for one in body if isinstance(one, ast.ClassDef) and not one.name.startswith("_"))


def arguments(class_: ast.ClassDef) -> set[str]:
    return {
        argument.arg
        for one in class_.body
        if isinstance(one, ast.FunctionDef) and one.name == "__init__"
        for argument in [*one.args.args[1:], *one.args.kwonlyargs]
    }


def changers(class_: ast.ClassDef) -> set[str]:
    """Returns the methods that give a changed transform or handler."""
    names = {one.name for one in class_.body if isinstance(one, ast.FunctionDef)}
    return {name for name in names if name.startswith(("with_", "from_"))}


INFERENCE = {one.name: one for one in classes("ml/inference")}
HANDLERS = [one for name, one in INFERENCE.items() if re.search(FOLDERS["ml/inference"], name)]
OPTIONS = set[str]().union(
    *(arguments(one) for one in HANDLERS),
    *(arguments(INFERENCE[name]) | changers(INFERENCE[name]) for name in ("RunInference", "ModelHandler")),
    OF_ALL_HANDLERS,
)
NAMES = {
    one.name for folder, pattern in FOLDERS.items() for one in classes(folder) if re.search(pattern, one.name)
} - {"KeyModelMapping", "ModelHandler", "RemoteModelHandler", "KeyedModelHandler", "MaybeKeyedModelHandler"}


def test_every_option_has_a_row() -> None:
    assert len(HANDLERS) > 15
    assert {"use_model_manager", "rate_limiter", "max_models_per_worker_hint"} <= OPTIONS
    assert OPTIONS - set(NAMED) == set()


def test_every_handler_has_a_row() -> None:
    assert len(NAMES) > 25
    assert NAMES - set(NAMED) == set()


def test_no_row_is_of_something_else() -> None:
    assert [name for name in NAMED if name not in OPTIONS | NAMES] == []


@pytest.mark.parametrize("key", ["batch", "config", "retries", "rate", "device", "functions"])
def test_keys_that_the_page_names_are_in_the_reference(key: str) -> None:
    assert f"`{key}`" in (ROOT / "docs" / "reference" / "handlers.md").read_text(encoding="utf-8")
