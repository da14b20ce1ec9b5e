"""The page of all options is what the parsers say, and hides none that ``--help`` shows."""

from __future__ import annotations

import re

import pytest

from beam_ensembles.cli.main import SUMMARIES, main
from scripts.command_reference import PAGE, reference


def test_the_page_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEAM_ENSEMBLES_ADDR", "elsewhere:1")
    assert PAGE.read_text(encoding="utf-8") == reference(SUMMARIES), "run: make docs"


@pytest.mark.parametrize("verb", SUMMARIES)
def test_each_verb_has_a_section_with_all_its_flags(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    flags = set(re.findall(r"^  (?:-\w(?: \w+)?, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)) - {
        "--help"
    }
    (section,) = [part.split("\n## ")[0] for part in reference({verb: ""}).split(f"## `{verb}`\n")[1:]]
    assert {flag for flag in flags if f"`{flag}" not in section} == set()
    assert f"(#{verb})" in PAGE.read_text(encoding="utf-8")
