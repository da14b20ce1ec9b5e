"""The notebook of the examples, run in a real kernel."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[3]
NOTEBOOK = ROOT / "examples" / "notebook" / "wine.ipynb"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Returns what each cell of code gave, by kind of output."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = tmp_path_factory.mktemp("notebook")
    commands = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    modules = os.pathsep.join(str(ROOT / name) for name in ("python_transforms", "expansion_service"))
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env={**os.environ, "PATH": commands, "PYTHONPATH": modules})
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            given: dict[str, Any] = {}
            for output in cell.outputs:
                assert output.output_type != "error"
                texts = output.get("data", {output.get("name"): output.get("text")})
                for kind, text in texts.items():
                    given[kind] = given.get(kind, "") + text
            found.append(given)
    return found


def test_the_ensemble_is_its_picture(outputs: list[dict[str, Any]]) -> None:
    assert "<svg" in outputs[1]["text/html"]
    assert "soft_vote" in outputs[1]["text/html"]


def test_the_file_is_shown(outputs: list[dict[str, Any]]) -> None:
    assert outputs[2]["stdout"].startswith("ensemble: wine\n")


def test_rows_and_failed_rows_are_frames(outputs: list[dict[str, Any]]) -> None:
    assert outputs[3]["stdout"] == "as the estimator: True\n"
    assert "probabilities" in outputs[3]["text/html"]
    assert "null_value" in outputs[4]["text/html"]


def test_a_row_is_explained_by_a_picture(outputs: list[dict[str, Any]]) -> None:
    assert "<svg" in outputs[5]["text/html"]


def test_the_members_are_compared(outputs: list[dict[str, Any]]) -> None:
    assert "The ensemble is " in outputs[6]["stdout"]
    assert "Leave one out" in outputs[6]["stdout"]
