"""A kind is where people and clients look for it: its family's page, the ensemble of every framework."""

from __future__ import annotations

import re
from typing import Final

import pytest

from beam_ensembles.registry import OWN_KINDS
from scripts.layout import ROOT

STEPS: Final = "ARCHITECTURE.md, 'A new kind', says where a kind is named"
EVERY_FRAMEWORK: Final = ROOT / "tests" / "support" / "every_framework.py"
CLIENTS: Final = {
    "go_examples/ensemble/frameworks_test.go": r'beam:"(\w+)"',
    "java_examples/client/src/test/java/io/github/beamensembles/FrameworksIntegrationTest.java": r'"(\w+)"',
}
"""What names the columns that each client compares; one that it does not name is not compared, without an error."""
OUTPUT: Final = r'"(\w+)": (?:"(?:array<|boolean|bytes|double|float|int|string)|None|\{"from")'
FAMILY_PAGES: Final = {"combine": "combiners.md", "route": "routes.md", "apply": "functions.md"}


@pytest.mark.parametrize(("key", "name"), [one for one in OWN_KINDS if one[0] in FAMILY_PAGES], ids=str)
def test_a_kind_is_on_the_page_of_its_family(key: str, name: str) -> None:
    page = ROOT / "docs" / "reference" / FAMILY_PAGES[key]
    text = page.read_text(encoding="utf-8")
    assert f"`{name}`" in text, f"describe '{name}' in docs/reference/{page.name}: {STEPS}"


def test_go_and_java_score_a_node_of_each_model_kind() -> None:
    text = EVERY_FRAMEWORK.read_text(encoding="utf-8")
    nodes = set(re.findall(r'"model": "(\w+)"', text))
    models = {name for key, name in OWN_KINDS if key == "model"}
    assert nodes == models, f"add their nodes to tests/support/every_framework.py: {STEPS}"


@pytest.mark.parametrize("client", CLIENTS, ids=lambda path: path.rpartition(".")[2])
def test_a_client_compares_each_column_of_that_ensemble(client: str) -> None:
    made = set(re.findall(OUTPUT, EVERY_FRAMEWORK.read_text(encoding="utf-8"))) - {"type"}
    named = set(re.findall(CLIENTS[client], (ROOT / client).read_text(encoding="utf-8")))
    assert len(made) > 15
    assert sorted(made - named) == [], f"compare these columns in {client}: {STEPS}"
