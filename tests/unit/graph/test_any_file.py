"""Whatever stands in a file, the answer is a graph or an ``InvalidEnsemble``, never a traceback."""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS

MODELS = pathlib.Path(__file__).parents[2] / "golden" / "specs_invalid" / "models"
OPTIONS = sorted({option.name for kind in KINDS.values() for option in kind.keys})
CONFIG = ["max_batch_size", "env_vars", "providers", "session_options", "large_model", "other one"]
COLUMNS = ["x", "y", "text", "many", "a", "b", "nowhere"]
TYPES = [
    "double", "int64", "string", "boolean", "bytes", "float16", "array<double>", "array<float>[3]",
    "array<double>[2,3]", "array<string>", "timestamp", "map<string,double>", "row<a: double>", "double?",
    "array<",
]  # fmt: skip

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([*TYPES, *COLUMNS, "predict", "predict_proba", "XGBClassifier", "..", "*", "\0"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(CONFIG), inner, max_size=3),
    max_leaves=6,
)
models = st.sampled_from([path.name for path in MODELS.iterdir()])
columns = st.lists(st.sampled_from(COLUMNS), max_size=3)
ports = st.dictionaries(st.sampled_from(["X", "a", "b", "c"]), st.sampled_from(COLUMNS), max_size=3)
outputs = st.dictionaries(
    st.sampled_from(["a", "b", "x", "label", "confidence", "probabilities", "mean"]),
    st.sampled_from([*TYPES, None]) | st.fixed_dictionaries({"from": st.text(max_size=3)}) | plain,
    max_size=3,
)


def node(key: tuple[str, str]) -> st.SearchStrategy[dict[str, Any]]:
    fixed = {key[0]: st.just(key[1]), "inputs": columns | ports | plain, "outputs": outputs}
    options = dict.fromkeys(OPTIONS, plain) | {"uri": models | plain}
    return st.fixed_dictionaries(fixed, optional=options)


nodes = st.dictionaries(
    st.sampled_from(["n", "m", "o"]), st.sampled_from(sorted(KINDS)).flatmap(node), max_size=3
)


@given(nodes, st.none() | columns)
def test_any_file(found: dict[str, Any], added: list[str] | None) -> None:
    inputs = {"x": "array<double>[4]", "y": "double", "text": "string", "many": "array<float>"}
    text = json.dumps({"ensemble": "e", "inputs": inputs, "nodes": found, "outputs": added})
    with contextlib.suppress(InvalidEnsemble):
        check_text(text, KINDS, Files(str(MODELS), ("/",)))


@given(nodes)
def test_any_problem_fits_into_the_line_that_clients_read(found: dict[str, Any]) -> None:
    text = json.dumps({"ensemble": "e", "inputs": {"x": "double"}, "nodes": found, "unknown": 1})
    try:
        check_text(text, KINDS, Files(str(MODELS), ("/",)))
    except InvalidEnsemble as invalid:
        lines = str(invalid).split("\n")
    assert len(lines) > 1
    for line in lines[1:]:
        assert re.fullmatch(r"\s*\[([a-z0-9_]+)\] (\S.*?): (.*)|  and \d+ more", line), line
