"""Files and rows for which a Rust library panics: what it raises is no ``Exception``, and would leave Beam waiting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from beam_ensembles import Ensemble
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.handlers.support.loading_here import load_here
from beam_ensembles.processes.machine import Machine
from tests.support.nodes import check_node

_MOOD: Final[dict[str, Any]] = {
    "model": "huggingface",
    "uri": "mood",
    "task": "text-classification",
    "device": "cpu",
    "inputs": ["text"],
    "outputs": {"label": None},
}
_SMALLEST: Final = -(2**63)


def test_a_tokenizer_that_panics_cannot_be_loaded(tmp_path: Path) -> None:
    from tests.support.transformers_models import bert_classifier

    bert_classifier(tmp_path / "mood")
    path = tmp_path / "mood" / "tokenizer.json"
    broken = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
    path.write_text(json.dumps({**json.loads(path.read_text()), "normalizer": broken}))
    checked = check_node(tmp_path, {"text": "string"}, _MOOD, trust=False)
    with pytest.raises(InvalidEnsemble, match=r"mood.*precompiled_charsmap") as caught:
        load_here(checked, Machine())
    assert [problem.code for problem in caught.value.problems] == ["load_failed"]


@pytest.mark.parametrize("expression", ["x[n]", "ARRAY_GET(x, n)", f"ARRAY_GET(x, {_SMALLEST})", "x[n - 0]"])
@pytest.mark.parametrize("rows", [1, 2])
def test_no_number_is_a_place_in_a_list_for_which_polars_panics(
    tmp_path: Path, expression: str, rows: int
) -> None:
    file = tmp_path / "e.yaml"
    select = json.dumps({"y": expression})
    file.write_text(
        f"ensemble: e\ninputs: {{x: array<int64>, n: int64}}\nnodes:\n  m: {{apply: sql, select: {select}}}\n"
    )
    answers = Ensemble(str(file)).predict([{"x": [1, 2], "n": _SMALLEST}] * rows)
    assert [row["y"] for row in answers] == [None] * rows
