"""The table of tasks in the documentation is the one that nodes are checked against, and its examples are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.handlers.huggingface.reference import rewritten
from beam_ensembles.registry import KINDS

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "huggingface.md"
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_table_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == rewritten(page), "make docs"


@pytest.mark.parametrize("nodes", EXAMPLES)
def test_the_examples_are_right(tmp_path: Path, nodes: str) -> None:
    for model in re.findall(r"uri: (models/\S+)", nodes):
        (tmp_path / model).mkdir(parents=True)
        (tmp_path / model / "config.json").write_text("{}")
        for name in ("preprocessor_config.json", "vocab.txt"):
            (tmp_path / model / name).write_text("")
    indented = "".join(f"  {line}\n" for line in nodes.splitlines())
    text = f"ensemble: example\ninputs: {{text: string, image: bytes}}\nnodes:\n{indented}"
    try:
        graph = check_text(text, KINDS, Files(str(tmp_path), is_own=True))
    except InvalidEnsemble as error:
        pytest.fail(str(error))
    assert graph.outputs
