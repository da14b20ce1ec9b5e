"""Checks and loads single nodes the way an ensemble does: from the text of a file with one node."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import LIBRARY_CODE, Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode, Member
from beam_ensembles.handlers.support.trial_rows import try_out
from beam_ensembles.registry import KINDS


def check_node(
    folder: Path, inputs: Mapping[str, str], node: Mapping[str, Any], *, trust: bool = True
) -> CheckedNode:
    """Checks a file with one node, named ``node``.

    Args:
        folder: Where its files are.
        inputs: The ensemble's input columns and types.
        node: The mapping below ``nodes.node``.
        trust: Whether the folder's pickles may be loaded, the tests' code imported, variables set, servers on this
            machine called, and secrets used whose name starts with ``TEST_``.
    """
    text = json.dumps({"ensemble": "test", "inputs": dict(inputs), "nodes": {"node": dict(node)}})
    code = (*LIBRARY_CODE, "tests.*", "env:*") if trust else LIBRARY_CODE
    places, hosts = ((str(folder),), ("localhost", "gs://bucket")) if trust else ((), ())
    secrets = ("env:TEST_*",) if trust else ()
    files = Files(str(folder), places, code=code, hosts=hosts, secrets=secrets, readable=("/",))
    return check_text(text, KINDS, files).nodes[0]


def load_node(folder: Path, inputs: Mapping[str, str], node: Mapping[str, Any]) -> Member:
    """Checks, loads and tries a file's only node, in this process and thread."""
    checked = check_node(folder, inputs, node)
    member = checked.kind.load(checked)
    try_out(checked, member)
    return member


def problems_of(
    folder: Path, inputs: Mapping[str, str], node: Mapping[str, Any], *, trust: bool = True
) -> list[tuple[str, str]]:
    """Returns code and path, below the node, of each problem of a file with one node."""
    with pytest.raises(InvalidEnsemble) as caught:
        check_node(folder, inputs, node, trust=trust)
    return [(problem.code, problem.path.removeprefix("nodes.node.")) for problem in caught.value.problems]


def types_of(folder: Path, inputs: Mapping[str, str], node: Mapping[str, Any]) -> dict[str, str]:
    """Returns the settled type of each column that a file's only node adds."""
    return {name: str(type_) for name, type_ in check_node(folder, inputs, node).outputs.items()}
