"""Ensemble files with mistakes that nobody thought of: what comes of one is an ensemble, or ``InvalidEnsemble``."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any, Final

import yaml
from hypothesis import strategies as st

from beam_ensembles import limits
from beam_ensembles.drawing import mermaid, picture, svg
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text, plan
from beam_ensembles.graph.planning import alive_between
from beam_ensembles.messages.printable import printable
from beam_ensembles.registry import KINDS
from tests.support.fuzzing import EXAMPLES, fuzz, mutated

_SPECS: Final = sorted(Path("tests/golden/specs").glob("*.yaml"))
_TEXTS: Final = [part for path in _SPECS for part in path.read_bytes().split(b"\n---\n")]
_SECONDS: Final = 20.0
_ODD: Final[list[Any]] = [
    None, True, 0, -1, 1 << 62, 1e308, float("nan"), float("inf"), "", "x", "\0", "\x1b[31m", "\u202e", "é", "${p}",
    "${", [], {}, [[]], {"": None}, [None], "array<double>[1000000000]", "array<" * 40, "x > 0", "(" * 300,
    "REPLACE(x, 'a', 'b')", "9" * 5_000, "a" * 3_000, {"secret": "env:X"}, "../../etc/passwd", "-", "__x", "nodes",
    ["x", "x"], {"default": {}},
]  # fmt: skip


def checked(text: str) -> None:
    """Does with a text what the service and the verbs do."""
    began = time.process_time()
    refused: InvalidEnsemble | None = None
    try:
        graph = check_text(text, KINDS, Files(), parameters={"p": "a" * 50, "version": "1"})
        stages = plan(graph)
        alive_between(graph, stages)
        for draw in (mermaid, svg):
            draw(picture(graph, stages))
    except InvalidEnsemble as error:
        refused = error
    assert time.process_time() - began < _SECONDS
    if refused is not None:
        assert refused.problems
        assert len(str(refused)) < limits.MOST_SHOWN * (limits.LONGEST_MESSAGE + limits.LONGEST_PLACE)
        for one in refused.problems:
            assert printable(str(one)) == str(one), one
            assert "Traceback" not in one.message
            assert "set_int_max_str_digits" not in one.message


@fuzz(st.sampled_from(_TEXTS).flatmap(mutated))
def test_mutated_bytes(data: bytes) -> None:
    checked(data.decode("utf-8", "replace"))


def _places(data: Any) -> list[tuple[Any, Any]]:
    """Yields every mapping and list of a document with each of its keys."""
    found: list[tuple[Any, Any]] = []
    waiting = [data]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            keys = list(one) if isinstance(one, dict) else list(range(len(one)))
            found += [(one, key) for key in keys]
            waiting += [one[key] for key in keys]
    return found


@st.composite
def documents(draw: st.DrawFn) -> Any:
    data = copy.deepcopy(yaml.safe_load(draw(st.sampled_from(_TEXTS))))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(data)
        if not places:
            break
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        how = draw(st.sampled_from(["swap", "odd", "delete", "rename", "wrap", "other"]))
        if how == "delete":
            del holder[key]
        elif how == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from([str(odd) for odd in _ODD] + ["when", "outputs", "quorum"]))] = (
                holder.pop(key)
            )
        elif how == "wrap":
            holder[key] = draw(st.sampled_from([[holder[key]], {"x": holder[key]}, [holder[key]] * 50]))
        elif how == "other":
            other, at = places[draw(st.integers(0, len(places) - 1))]
            holder[key] = copy.deepcopy(other[at])
        else:
            holder[key] = copy.deepcopy(draw(st.sampled_from(_ODD)))
    return data


@fuzz(documents(), examples=max(EXAMPLES // 3, 1))
def test_documents_of_another_shape(data: Any) -> None:
    checked(json.dumps(data))


@fuzz(documents(), examples=max(EXAMPLES // 10, 1))
def test_documents_of_another_shape_as_yaml(data: Any) -> None:
    checked(yaml.safe_dump(data, allow_unicode=True))


@fuzz(st.text(max_size=300))
def test_any_expression(text: str) -> None:
    nodes = {"n": {"apply": "sql", "select": {"y": text}, "when": text}}
    checked(json.dumps({"ensemble": "e", "inputs": {"x": "double", "t": "string"}, "nodes": nodes}))


@fuzz(
    st.lists(
        st.sampled_from(
            ["array", "map", "row", "optional", "<", ">", "[", "]", ",", ":", "?", "a", "double", "9"]
        )
    )
)
def test_any_type(words: list[str]) -> None:
    nodes = {"n": {"apply": "sql", "select": {"y": "x"}}}
    checked(json.dumps({"ensemble": "e", "inputs": {"x": "".join(words)}, "nodes": nodes}))
