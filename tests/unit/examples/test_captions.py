"""The captions example: its public ensemble is the one that runs, and its summary fails where models often do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.document import read_document
from examples.captions import summary

FOLDER = Path(summary.__file__).parent
PUBLIC = {"blip": "hf:Salesforce/blip-image-captioning-base", "clip": "hf:openai/clip-vit-base-patch32"}


def test_the_public_checkpoints_are_in_the_same_ensemble() -> None:
    tiny, public = (
        read_document((FOLDER / name).read_text()).data for name in ("captions.yaml", "public.yaml")
    )
    assert {name: public["nodes"][name].pop("uri") for name in PUBLIC} == PUBLIC
    assert {name: tiny["nodes"][name].pop("uri") for name in PUBLIC} == {
        "blip": "models/blip",
        "clip": "models/clip",
    }
    assert public == tiny


def test_the_public_ensemble_is_right(tmp_path: Path) -> None:
    files = Files(str(tmp_path), (str(tmp_path),), hosts=("huggingface.co",))
    text = (FOLDER / "public.yaml").read_text()
    graph = check_text(text, KINDS, files, parameters={"pictures": str(tmp_path)})
    assert {name: str(type_) for name, type_ in graph.outputs} == {
        "captions": "array<string>",
        "top": "array<row<text: string, probability: double>>",
    }


def row(id_: int, **said: Any) -> dict[str, Any]:
    """Creates a row about a red ring."""
    return {"id": id_, "url": f"{id_}.png", "truth": "red ring", **said}


def top(*texts: str) -> dict[str, Any]:
    """Creates what CLIP says of some texts."""
    return {"captions": texts[::-1], "top": [{"text": text, "probability": 0.5} for text in texts]}


RIGHT, WRONG = top("a red ring", "a red square"), top("a red square", "a red ring")


@pytest.mark.parametrize(
    ("rows", "share", "code"),
    [
        ([row(at, **RIGHT) for at in range(4)] + [row(4, **WRONG)], "80.0%", 0),
        ([row(at, **RIGHT) for at in range(3)] + [row(4, **WRONG)], "75.0%", 1),
        ([row(0, question="what ?", answer="red ring")], "100.0%", 0),
        ([row(0, question="what ?", answer="red")], "0.0%", 1),
    ],
)
def test_the_summary_fails_below_four_in_five(
    rows: list[dict[str, Any]],
    share: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in reversed(rows)))
    monkeypatch.setattr(sys, "argv", ["summary.py", str(tmp_path / "rows.jsonl")])
    assert summary.main() == code
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("0.png")
    assert f"right for {share} of {len(rows)} pictures" in printed[-1]


def test_the_summary_says_how_much_the_judge_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(row(0, **RIGHT)))
    monkeypatch.setattr(sys, "argv", ["summary.py", str(tmp_path / "rows.jsonl")])
    summary.main()
    assert "BLIP's first caption is right for 0.0%" in capsys.readouterr().out
