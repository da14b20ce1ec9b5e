"""Every example of docs/reference/functions.md gives what the page says."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Mapping
from typing import Any

import pytest

from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.functions.registry import FUNCTION_KINDS
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler
from tests.support.media import noise, pixels, png, wav

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "reference" / "functions.md"
MEDIA: Mapping[str, bytes] = {"photo": png(pixels(1)), "recording": wav(noise(1, 100))}


def sections() -> dict[str, str]:
    parts = re.split(r"^## `(\w+)`$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def plain(value: Any) -> Any:
    """Returns a value of a row without the classes of rows."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def answer(text: str, row: dict[str, Any], folder: pathlib.Path) -> dict[str, Any]:
    place = folder / "ensemble.yaml"
    place.write_text(text, encoding="utf-8")
    handler = EnsembleModelHandler(place)
    (result,) = handler.run_inference([row], handler.load_model())
    found: dict[str, Any] = plain(result.inference)
    return found


@pytest.mark.parametrize(("name", "section"), sections().items(), ids=sections())
def test_an_example_gives_what_the_page_says(name: str, section: str, tmp_path: pathlib.Path) -> None:
    (text,) = blocks(section, "yaml")
    for file, content in re.findall(r"```json title=\"(.+?)\"\n(.*?)```", section, re.DOTALL):
        (tmp_path / file).write_text(content, encoding="utf-8")
    graph = check_text(text, KINDS, Files(str(tmp_path), (str(tmp_path),)))
    assert [node.spec.target for node in graph.nodes] == [name]
    examples = blocks(section, "json")
    if examples:
        row, wanted = map(json.loads, examples[0].splitlines())
        found = answer(text, row, tmp_path)
        assert {column: found[column] for column in wanted} == wanted
    else:
        ((column, type_),) = graph.outputs
        assert f"`{column}` is `{type_}`." in section
        row = {field: MEDIA[field] for field, _ in graph.spec.inputs}
        assert len(answer(text, row, tmp_path)[column]) in (100, 3 * 224 * 224)


def test_every_function_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in page.split("\n## ")[0] for name in FUNCTION_KINDS)
