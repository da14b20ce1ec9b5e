"""The reference of what a node can run is that of the table of kinds."""

from __future__ import annotations

import re

import pytest

from beam_ensembles.graph.kinds import Kind
from beam_ensembles.registry import KINDS
from scripts.handler_reference import PAGE, reference, title_of

ALL = [pytest.param(kind, id=f"{key}-{name}") for (key, name), kind in KINDS.items()]


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(list(KINDS.values())), "run: make docs"


@pytest.mark.parametrize("kind", ALL)
def test_each_kind_has_a_section_with_all_its_keys(kind: Kind) -> None:
    kinds = list(KINDS.values())
    page, title = reference(kinds), title_of(kind, kinds)
    (section,) = [part.split("\n#")[0] for part in page.split(f"### `{title}`\n")[1:]]
    assert f"(#{title.replace(': ', '-')})" in page
    for option in kind.keys:
        assert f"`{option.name}`" in section
    assert f"- **Inputs.** {kind.takes}\n" in section
    assert f"- **Outputs.** {kind.gives}\n" in section


@pytest.mark.parametrize("kind", ALL)
def test_what_is_said_of_a_kind_is_whole_sentences(kind: Kind) -> None:
    for text in (kind.summary, kind.takes, kind.gives, *(option.description for option in kind.keys)):
        assert re.fullmatch(r"\S.*[.]", text), text
