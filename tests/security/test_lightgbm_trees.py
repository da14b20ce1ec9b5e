"""LightGBM models whose text lies: refused with what is wrong before lightgbm follows it out of its memory."""

from __future__ import annotations

import contextlib
import re
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import lightgbm
import numpy as np
import pandas
import pytest
from hypothesis import strategies as st

from beam_ensembles.errors import InvalidEnsemble, ModelFormatError
from beam_ensembles.handlers.lightgbm.header import read_header
from beam_ensembles.handlers.lightgbm.trees import check_model
from tests.support.fuzzing import EXAMPLES, Target, fuzz, mutated, target
from tests.support.nodes import load_node

_RANDOM: Final = np.random.default_rng(0)
_X: Final = _RANDOM.random((200, 3))
_Y: Final = (_X[:, 0] > 0.5).astype(int) + (_X[:, 1] > 0.7)
_FRAME: Final = pandas.DataFrame(
    {
        "a": pandas.Categorical(np.array(list("wxyz"))[_Y + _RANDOM.integers(0, 2, 200)]),
        "c": pandas.Categorical(np.array([1, 5, 9, 70])[_Y + _RANDOM.integers(0, 2, 200)]),
    }
)


def _train(x: Any, rounds: int = 2, **params: Any) -> str:
    own = {"num_threads": 1, "num_leaves": 5, "min_data_per_group": 5, "verbose": -1, **params}
    text: str = lightgbm.train(own, lightgbm.Dataset(x, _Y, params=own), rounds).model_to_string()
    return text


MODELS: Final = {
    "regression": _train(_X),
    "classes": _train(_X, objective="multiclass", num_class=3),
    "ova": _train(_X, objective="multiclassova", num_class=3),
    "binary": _train(_X[:, :1]).replace("objective=regression", "objective=binary sigmoid:1", 1),
    "categories": _train(_FRAME, cat_smooth=1, max_cat_to_onehot=1, min_data_in_leaf=5),
    "linear": _train(_X, linear_tree=True),
    "forest": _train(_X, boosting="rf", bagging_freq=1, bagging_fraction=0.5),
    "none": lightgbm.Booster({"verbose": -1}, lightgbm.Dataset(_X, _Y)).model_to_string(),
}


def _sized(text: str) -> str:
    """Returns a model with the sizes that its trees have, as who forges one writes them."""
    head, mark, rest = text.partition("\nTree=0\n")
    trees = re.split(r"(?=^Tree=)", f"{mark[1:]}{rest.partition('end of trees')[0]}", flags=re.MULTILINE)[1:]
    sizes = " ".join(str(len(tree.encode())) for tree in trees)
    return re.sub(r"(?m)^tree_sizes=.*", f"tree_sizes={sizes}", head) + mark + rest if trees else text


@pytest.mark.parametrize("name", list(MODELS))
def test_a_model_that_lightgbm_wrote_passes(name: str, tmp_path: Path) -> None:
    text, header = check_model(MODELS[name].encode())
    assert text == MODELS[name]
    (tmp_path / "m.txt").write_text(text, encoding="utf-8")
    assert read_header(str(tmp_path / "m.txt")) == header


def test_a_model_without_the_sizes_of_its_trees_passes() -> None:
    check_model(re.sub(r"(?m)^tree_sizes=.*\n", "", MODELS["regression"]).encode())


def _line(name: str, value: str) -> Callable[[str], str]:
    """Returns what replaces the first line of a field."""
    return lambda text: re.sub(rf"(?m)^{name}=.*", f"{name}={value}", text, count=1)


def _first(name: str, value: str) -> Callable[[str], str]:
    """Returns what replaces the first number of a list."""
    return lambda text: re.sub(rf"(?m)^({name}=)[^ \n]+", rf"\g<1>{value}", text, count=1)


def _both(*changes: Callable[[str], str]) -> Callable[[str], str]:
    def spoil(text: str) -> str:
        for change in changes:
            text = change(text)
        return text

    return spoil


def _deep(text: str) -> str:
    count = 3_000
    splits = {
        "left_child": [-1 - at for at in range(count)],
        "right_child": [*range(1, count), -1 - count],
        "split_feature": [0] * count,
        "threshold": [0.5] * count,
        "decision_type": [2] * count,
        "split_gain": [1] * count,
        "internal_value": [0] * count,
        "internal_weight": [0] * count,
        "internal_count": [1] * count,
    }
    leaves = {name: [1] * (count + 1) for name in ("leaf_value", "leaf_weight", "leaf_count")}
    for name, values in {**splits, **leaves, "num_leaves": [count + 1]}.items():
        text = _line(name, " ".join(map(str, values)))(text)
    return text


def _behind(line: str) -> Callable[[str], str]:
    return lambda text: text.replace("end of trees\n", f"end of trees\n{line}\n")


def _before(line: str) -> Callable[[str], str]:
    return lambda text: text.replace("tree\n", f"tree\n{line}\n", 1)


LIES: Final[dict[str, tuple[str, Callable[[str], str], str]]] = {
    "child out of range": ("regression", _first("left_child", "1000000"), "a child of a split is not"),
    "leaf out of range": ("regression", _first("right_child", "-99"), "a child of a split is not"),
    "child that is the root": ("regression", _first("left_child", "0"), "a child of a split is not"),
    "child beyond int32": ("regression", _first("left_child", "4294967297"), "too large"),
    "child beyond int64": ("regression", _first("left_child", "-9223372036854775808"), "too large"),
    "loop": ("regression", _line("left_child", "1 1 -3 -4"), "the child of two splits"),
    "shared leaf": ("regression", _both(_first("left_child", "-1"), _first("right_child", "-1")), "the child of two"),
    "feature out of range": ("regression", _first("split_feature", "3"), "'split_feature' has a number outside"),
    "negative feature": ("regression", _first("split_feature", "-1"), "'split_feature' has a number outside"),
    "more leaves than values": ("regression", _line("num_leaves", "999999999"), "'leaf_value' of tree 0 has"),
    "no leaves": ("regression", _line("num_leaves", "0"), "a tree has no leaves"),
    "short list": ("regression", _line("threshold", "0.5"), "'threshold' of tree 0 has 1 items"),
    "no list": ("regression", _line("threshold", ""), "'threshold' of tree 0 has 0 items"),
    "words in a list": ("regression", _first("left_child", "0x1"), "is not a list of whole numbers"),
    "two spaces": ("regression", _first("left_child", "1 "), "'left_child' of tree 0 has"),
    "joined numbers": ("regression", _first("threshold", "1-2"), "is not a list of numbers"),
    "category without bits": ("regression", _first("decision_type", "1"), "a split by categories names"),
    "category out of range": ("categories", _first("threshold", "77"), "a split by categories names"),
    "category that is no number": ("categories", _first("threshold", "nan"), "a split by categories names"),
    "bits out of range": ("categories", _line("cat_boundaries", "0 900"), "'cat_"),
    "bits that fall": ("categories", _first("cat_boundaries", "1"), "do not rise from 0"),
    "bits too large": ("categories", _first("cat_threshold", "4294967296"), "too large"),
    "unknown decision": ("regression", _first("decision_type", "16"), "'decision_type' has a number outside"),
    "deep": ("regression", _deep, "more than 1000 levels deep"),
    "linear feature": ("linear", _first("leaf_features", "9"), "'leaf_features' has a number outside"),
    "linear counts": ("linear", _first("num_features", "9"), "'leaf_features'"),
    "linear without models": ("regression", _line("is_linear", "1"), "lacks the models of its leaves"),
    "line without a sign": ("regression", lambda text: text.replace("is_linear=0", "is_linear"), "a line of tree 0"),
    "field twice in a tree": (
        "regression",
        lambda text: text.replace("is_linear=0", "is_linear=0\nnum_leaves=9", 1),
        "a line of tree 0",
    ),
    "empty line in a tree": ("regression", lambda text: text.replace("is_linear", "\nis_linear", 1), "tree 0"),
    "many lines": (
        "regression",
        lambda text: text.replace("is_linear=0", "\n".join(f"{name}=1" for name in map(chr, range(97, 112))), 1),
        "tree 0 is not as LightGBM writes it",
    ),
    "other tree": ("regression", lambda text: text.replace("Tree=1", "Tree=7"), "tree 1 is not as"),
    "classes": ("regression", _line("num_class", "7"), "'num_class' is 7"),
    "no classes": ("regression", _both(_line("num_class", "0"), _line("num_tree_per_iteration", "0")), "'num_class'"),
    "more trees per round": ("regression", _line("num_tree_per_iteration", "2"), "'num_tree_per_iteration' 2"),
    "classes of the objective": ("classes", _line("objective", "multiclass num_class:900"), "the objective"),
    "classes twice": ("classes", _line("objective", "multiclass num_class:3 :num_class:900"), "the objective"),
    "hidden objective": ("regression", _line("objective", " multiclass :num_class:900"), "the objective"),
    "no objective": ("regression", _line("objective", ""), "the objective"),
    "field twice": ("regression", _before("num_class=1"), "'num_class' occurs twice"),
    "field with a sign before": ("regression", _before("=num_class=9"), "a line before the trees"),
    "field behind no trees": ("none", _behind("num_class=900"), "a line behind the trees"),
    "features": ("regression", _line("max_feature_idx", "900"), "the model takes 901 features"),
    "name twice": ("regression", _line("feature_names", "a a b"), "a name twice"),
    "half a round": ("classes", lambda text: re.sub(r"(?s)Tree=5\n.*?\n\n\n", "", text), "in each round"),
    "parameter": ("regression", lambda text: text.replace("[boosting: gbdt]", "[boosting"), "a parameter is not"),
    "categories of the frame": ("regression", lambda text: f"{text}\npandas_categorical:[[{{}}]]\n", "does not hold"),
    "deep categories": ("regression", lambda text: f"{text}\npandas_categorical:{'[' * 99_999}\n", "JSON"),
    "zero byte": ("regression", lambda text: text.replace("\nTree=1", "\n\0Tree=1"), "a byte of zeros"),
    "line ends": ("regression", lambda text: text.replace("\n", "\r\n"), "CR LF"),
    "no end": ("regression", lambda text: text[: len(text) // 4], "ends before its trees do"),
    "other file": ("regression", lambda _: '{"name":"tree"}', "not a LightGBM model"),
}  # fmt: skip


@pytest.mark.parametrize("lie", list(LIES))
def test_a_model_that_lies_is_refused(lie: str) -> None:
    name, spoil, said = LIES[lie]
    spoilt = _sized(spoil(MODELS[name]))
    assert spoilt != MODELS[name]
    with pytest.raises(ModelFormatError, match=re.escape(said)):
        check_model(spoilt.encode())


def test_sizes_that_are_not_those_of_the_trees_are_refused() -> None:
    for spoil in (_first("tree_sizes", "999999999"), _first("tree_sizes", "1"), _line("tree_sizes", "")):
        with pytest.raises(ModelFormatError, match="'tree_sizes' are not the sizes"):
            check_model(spoil(MODELS["regression"]).encode())


@pytest.mark.parametrize("place", ["before", "behind"])
def test_lines_and_features_are_counted_before_they_are_split(place: str, tmp_path: Path) -> None:
    """The service's reader and the worker's check: a file of short lines takes 30 times its size."""
    lines = "ab\n" * 3_000_000
    spoil = _before(lines) if place == "before" else _behind(lines)
    path = tmp_path / "m.txt"
    path.write_text(spoil(MODELS["regression"]))
    most = 20 << 20 if place == "before" else 4 * path.stat().st_size
    for read in (lambda: read_header(str(path)), lambda: check_model(path.read_bytes())):
        tracemalloc.start()
        with pytest.raises(ModelFormatError, match=f"lines {place} its trees"):
            read()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < max(most, 4 * path.stat().st_size)
    wide = _both(_line("max_feature_idx", "2999999"), _line("feature_names", "a " * 2_999_999 + "a"))
    with pytest.raises(ModelFormatError, match="takes 3,000,000 features, more than 2,000,000"):
        check_model(wide(MODELS["regression"]).encode())


def test_a_worker_does_not_load_such_a_model(tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_text(_sized(_first("left_child", "1000000")(MODELS["regression"])))
    node = {"model": "lightgbm", "uri": "m.txt", "inputs": ["x"], "outputs": {"y": "double"}}
    with pytest.raises(InvalidEnsemble, match="a child of a split is not") as refusal:
        load_node(tmp_path, {"x": "array<double>[3]"}, node)
    assert refusal.value.problems[0].code == "bad_model_file"


def attack(data: bytes) -> Any:
    """Reads the header as the service does, checks the file, loads it and predicts as a worker does."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with contextlib.suppress(ModelFormatError):
            read_header(file.name)
    text, header = check_model(data)
    booster = lightgbm.Booster(model_str=text)
    if header.features > 1_000 or header.values > 1_000:
        return header.features
    rows = np.linspace(-3, 99, 5 * header.features).reshape(5, header.features)
    rows[0] = np.nan
    rows[1] = 1e300
    found = [booster.predict(rows, raw_score=raw, num_threads=1).shape for raw in (False, True)]
    booster.predict(rows, pred_leaf=True, num_threads=1)
    with contextlib.suppress(lightgbm.basic.LightGBMError):  # of linear trees
        booster.predict(rows, pred_contrib=True, num_threads=1)
    return found


@pytest.fixture(scope="module")
def worker() -> Iterator[Target]:
    with target(f"{__name__}:attack", most_bytes=4 << 30) as found:
        yield found


def survives(worker: Target, data: bytes) -> None:
    outcome = worker.attack(data)
    assert outcome.kind in ("answered", "raised"), outcome
    if outcome.kind == "raised":
        errors = (
            "TreeError",
            "ModelFormatError",
            "JsonError",
            "NoJsonError",
            "LightGBMError",
            "JSONDecodeError",
        )
        assert outcome.value[0] in errors, outcome.value


@fuzz(st.sampled_from(list(MODELS.values())).map(str.encode).flatmap(mutated), examples=EXAMPLES // 3)
def test_mutated_bytes_never_end_the_process(worker: Target, data: bytes) -> None:
    survives(worker, data)


_NUMBERS: Final = st.sampled_from(
    [
        -(2**31),
        -99,
        -3,
        -2,
        -1,
        0,
        1,
        2,
        3,
        7,
        15,
        16,
        255,
        900,
        2**31 - 1,
        2**32,
        2**63 - 1,
        0.5,
        1e39,
        "nan",
        "inf",
    ]
).map(str)


@st.composite
def lying(draw: st.DrawFn) -> bytes:
    """Draws a model in which a few numbers are others, or are gone, and the sizes of its trees are right."""
    text = draw(st.sampled_from(list(MODELS.values())))
    for _ in range(draw(st.integers(1, 3))):
        places = [
            found.span()
            for found in re.finditer(r"(?<=[=: ])[-+.\w]+(?=[ \n])", text.partition("\nfeature_imp")[0])
        ]
        start, end = places[draw(st.integers(0, len(places) - 1))]
        value = "" if draw(st.integers(0, 5)) == 0 else draw(_NUMBERS)
        text = text[:start] + value + text[end:]
    return _sized(text).encode()


@fuzz(lying(), examples=EXAMPLES)
def test_models_that_lie_never_end_the_process(worker: Target, data: bytes) -> None:
    survives(worker, data)
