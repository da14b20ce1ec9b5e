"""Checks of a LightGBM model before lightgbm loads it.

lightgbm follows the numbers in a file as they are: a child or a feature out of range reads or ends the process, a line
without a ``=`` reads on behind the text, and more trees per round than classes write behind the answer. The arrays of
all trees are joined and looked at together, so that a thousand trees cost little more than reading them.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from beam_ensembles.errors import ModelFormatError
from beam_ensembles.handlers.lightgbm.header import (
    END,
    NO_TREES,
    TREE,
    Header,
    header_of,
    lines_before,
    lines_behind,
)

_DEEPEST_TREE: Final = 1_000
_MOST_LINES: Final = 21
"""Lines of a tree; lightgbm reads no more than 22, and takes those behind for something else."""
_LINE: Final = re.compile(r"([a-z_]+)=([^=]*)")
_COUNT: Final = re.compile(r"[0-9]{1,9}")
_INTEGERS: Final = b"0123456789- "
_NUMBERS: Final = b"0123456789-+.einfa "
"""What numbers are written with; ``inf`` and ``nan`` among them."""
_SIZES: Final = "tree_sizes"
_NO_FIELD: Final = ("[", "pandas_categorical:")
"""How lines behind the trees begin that hold no field; those of a file without trees lightgbm takes for fields too."""
_CATEGORICAL: Final = 1
_HIGHEST_DECISION: Final = 15
_OF_SPLITS: Final = ("left_child", "right_child", "split_feature", "threshold")
"""Arrays that each tree has, an item for each of its splits."""
_MAY_LACK: Final = ("split_gain", "decision_type", "internal_value", "internal_weight", "internal_count")
"""The same, which older versions did not write."""
_OF_LEAVES: Final = ("leaf_weight", "leaf_count", "leaf_const", "num_features")
_WHOLE: Final = (
    "left_child",
    "right_child",
    "split_feature",
    "decision_type",
    "internal_count",
    "leaf_count",
)
Tree = Mapping[str, str]


class TreeError(ModelFormatError):
    """The model contradicts itself, so lightgbm must not load it."""


def check_model(data: bytes) -> tuple[str, Header]:
    """Checks a model file: indices within bounds, arrays of the right lengths, trees without loops.

    Returns:
        The text to load, which is the whole file, and its header.

    Raises:
        ModelFormatError: A check fails; the message names the tree and the array.
    """
    text = _text(data)
    before, trees, behind = _parts(text)
    header = header_of(before, behind)
    _check_sizes(before, trees)
    if len(trees) % header.values:
        raise TreeError(f"the model has {len(trees)} trees, but {header.values} in each round")
    found = [_tree(at, tree) for at, tree in enumerate(trees)]
    if found:
        _check_trees(found, header.features)
    return text, header


def _text(data: bytes) -> str:
    if not data.startswith(b"tree"):
        raise ModelFormatError(NO_TREES)
    if b"\r" in data:
        raise TreeError(
            "its lines end in CR LF, as git or an editor on Windows makes them, and lightgbm does not find its trees "
            "then; save it again"
        )
    if b"\0" in data:
        raise TreeError("the file has a byte of zeros, where lightgbm would stop reading")
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        raise TreeError(f"the file is not UTF-8 (byte {exc.start})") from exc


def _parts(text: str) -> tuple[list[str], list[str], list[str]]:
    """Splits a file into the lines before its trees, the text of each tree, and the lines behind."""
    end = text.rfind(f"\n{END}\n") + 1
    if not end:
        raise TreeError("the file ends before its trees do")
    start = text.find(f"\n{TREE}", 0, end) + 1
    behind = lines_behind(text[end:])
    if not start:
        stray = next((line for line in behind if "=" in line and not line.startswith(_NO_FIELD)), None)
        if stray is not None:
            raise TreeError(f"a line behind the trees is not as LightGBM writes it: {stray[:80]!r}")
        return lines_before(text[: end - 1]), [], behind
    starts = [start]
    while (at := text.find(f"\n{TREE}", starts[-1], end) + 1) > 0:
        starts.append(at)
    trees = [text[one:other] for one, other in zip(starts, [*starts[1:], end], strict=True)]
    return lines_before(text[:start]), trees, behind


def _check_sizes(before: Sequence[str], trees: Sequence[str]) -> None:
    """Checks that lightgbm looks for each tree where it is: it goes by their sizes in bytes."""
    line = next((one for one in before if one.partition("=")[0] == _SIZES), None)
    sizes = [str(len(tree.encode())) for tree in trees]
    if line is not None and line.partition("=")[2] != " ".join(sizes):
        raise TreeError("'tree_sizes' are not the sizes of its trees: the file was changed or cut off")


def _tree(at: int, text: str) -> Tree:
    """Returns the lines of a tree."""
    head, _, rest = text.partition("\n")
    lines = rest.rstrip("\n").split("\n")
    if head != f"{TREE}{at}" or len(lines) > _MOST_LINES or not rest.endswith("\n\n"):
        raise TreeError(f"tree {at} is not as LightGBM writes it")
    found: dict[str, str] = {}
    for line in lines:
        pair = _LINE.fullmatch(line)
        if pair is None or pair[1] in found:
            raise TreeError(f"a line of tree {at} is not as LightGBM writes it: {line[:80]!r}")
        found[pair[1]] = pair[2]
    return found


def _check_trees(trees: Sequence[Tree], features: int) -> None:
    leaves = _counts(trees, "num_leaves")
    categories = _counts(trees, "num_cat")
    is_linear = np.array([tree.get("is_linear", "0") != "0" for tree in trees])
    if (leaves < 1).any():
        raise TreeError("a tree has no leaves")
    splits = leaves - 1
    _joined(trees, "leaf_value", leaves)
    arrays = {name: _joined(trees, name, splits) for name in _OF_SPLITS}
    decisions = np.zeros(splits.sum(), np.int64)
    for name in _MAY_LACK:
        is_there = np.array([name in tree for tree in trees])
        found = _joined(trees, name, np.where(is_there, splits, 0))
        if name == "decision_type":
            decisions[np.repeat(is_there, splits)] = found
    for name in _OF_LEAVES:  # some are empty in a tree that is a leaf alone
        is_there = np.array([bool(tree.get(name)) for tree in trees])
        has_many = np.array([name in tree for tree in trees]) & (leaves > 1)
        _joined(trees, name, np.where(is_there | has_many, leaves, 0))
    _check_children(arrays["left_child"], arrays["right_child"], leaves)
    _within("split_feature", arrays["split_feature"], features)
    _within("decision_type", decisions, _HIGHEST_DECISION + 1)
    _check_categories(trees, categories, decisions, arrays["threshold"], splits)
    for at in np.flatnonzero(is_linear).tolist():
        _check_linear(at, trees[at], features)


def _check_children(left: np.ndarray, right: np.ndarray, leaves: np.ndarray) -> None:
    """Checks that every tree is one: each split but the first, and each leaf, has one parent, and no path is too long.

    A child is a split from 1 on, or a leaf as ``-1 - leaf``.
    """
    splits = leaves - 1
    starts = np.concatenate([[0], np.cumsum(splits)[:-1]])
    children = np.stack([left, right])
    most = np.repeat(splits, splits)
    is_leaf = children < 0
    if ((children == 0) | (children >= most) | (children < -1 - most)).any():
        raise TreeError("a child of a split is not a split or a leaf of its tree, or is its root")
    first_leaf = np.repeat(np.concatenate([[0], np.cumsum(leaves)[:-1]]), splits)
    first_split = np.repeat(starts, splits)
    as_leaf = np.where(is_leaf, -1 - children + first_leaf, 0)[is_leaf]
    as_split = np.where(is_leaf, 0, children + first_split)[~is_leaf]
    for one in (as_leaf, as_split):
        if (np.bincount(one, minlength=1) > 1).any():
            raise TreeError("a split or a leaf is the child of two splits")
    level = starts[splits > 0]
    for _ in range(_DEEPEST_TREE):
        below = np.concatenate([left[level], right[level]])
        base = np.concatenate([first_split[level], first_split[level]])
        level = (below + base)[below > 0]
        if len(level) == 0:
            return
    raise TreeError(f"a tree is more than {_DEEPEST_TREE} levels deep")


def _check_categories(
    trees: Sequence[Tree],
    categories: np.ndarray,
    decisions: np.ndarray,
    thresholds: np.ndarray,
    splits: np.ndarray,
) -> None:
    """Checks splits by categories: each names its part of the tree's bits."""
    is_category = (decisions & _CATEGORICAL) > 0
    wanted = thresholds[is_category]
    limits = np.repeat(categories, splits)[is_category]
    if not ((wanted >= 0) & (wanted < limits) & (wanted == np.floor(wanted))).all():
        raise TreeError("a split by categories names a 'threshold' that its tree does not have")
    has_some = categories > 0
    ends = np.where(has_some, categories + 1, 0)
    boundaries = _joined(trees, "cat_boundaries", ends, whole=True)
    at = np.concatenate([[0], np.cumsum(ends)])
    needed = np.zeros(len(trees), np.int64)
    for tree in np.flatnonzero(has_some):
        part = boundaries[at[tree] : at[tree + 1]]
        if part[0] != 0 or (np.diff(part) < 0).any():
            raise TreeError(f"'cat_boundaries' of tree {tree} do not rise from 0")
        needed[tree] = part[-1]
    _within("cat_threshold", _joined(trees, "cat_threshold", needed, whole=True), 2**32)


def _check_linear(at: int, tree: Tree, features: int) -> None:
    """Checks the linear models of a tree's leaves: their features and coefficients."""
    counts = _integers(tree.get("num_features", ""), "num_features", at)
    if "leaf_const" not in tree or "num_features" not in tree or (counts < 0).any():
        raise TreeError(f"tree {at} is linear, but lacks the models of its leaves")
    total = int(counts.sum())
    places = _integers(" ".join(tree.get("leaf_features", "").split()), "leaf_features", at)
    factors = tree.get("leaf_coeff", "").split()
    if not len(places) == len(factors) == total:
        raise TreeError(
            f"tree {at} has {len(places)} 'leaf_features' and {len(factors)} 'leaf_coeff', expected {total}"
        )
    _within("leaf_features", places, features)


def _counts(trees: Sequence[Tree], name: str) -> np.ndarray:
    texts = [tree.get(name, "") for tree in trees]
    wrong = next((at for at, text in enumerate(texts) if not _COUNT.fullmatch(text)), None)
    if wrong is not None:
        raise TreeError(f"'{name}' of tree {wrong} is not a whole number, or is missing")
    return np.array(list(map(int, texts)), np.int64)


def _joined(trees: Sequence[Tree], name: str, lengths: np.ndarray, *, whole: bool = False) -> np.ndarray:
    """Joins an array of all trees, each of which must have the length given for it."""
    parts = []
    for at, (text, length) in enumerate(zip(_texts(trees, name), lengths.tolist(), strict=True)):
        found = text.count(" ") + 1 if text else 0
        if found != length:
            raise TreeError(f"'{name}' of tree {at} has {found} items, expected {length}")
        if text:
            parts.append(text)
    return _parsed(" ".join(parts), name, is_whole=whole or name in _WHOLE)


def _texts(trees: Sequence[Tree], name: str) -> Iterator[str]:
    return (tree.get(name, "") for tree in trees)


def _integers(text: str, name: str, at: int) -> np.ndarray:
    try:
        return _parsed(text, name, is_whole=True)
    except TreeError as exc:
        raise TreeError(f"tree {at}: {exc}") from exc


def _parsed(text: str, name: str, *, is_whole: bool) -> np.ndarray:
    """Returns the numbers of a text, each of which stands between single spaces, ``[N]``."""
    if not text:
        return np.zeros(0, np.int64 if is_whole else np.float64)
    count = text.count(" ") + 1
    stray = text.encode().translate(None, _INTEGERS if is_whole else _NUMBERS)
    found = np.zeros(0)
    if not stray and "  " not in text and text[0] != " " and text[-1] != " ":
        with warnings.catch_warnings(), contextlib.suppress(ValueError):
            warnings.simplefilter("ignore", DeprecationWarning)  # numbers that cannot be read: counted below
            found = np.fromstring(text, np.int64 if is_whole else np.float64, sep=" ")
    if len(found) != count:
        raise TreeError(f"'{name}' of a tree is not a list of {'whole numbers' if is_whole else 'numbers'}")
    if is_whole and ((found >= 2**32) | (found < -(2**31))).any():
        raise TreeError(f"'{name}' of a tree has a number that is too large")
    return found


def _within(name: str, found: np.ndarray, limit: int) -> None:
    if len(found) and (int(found.min()) < 0 or int(found.max()) >= limit):
        raise TreeError(f"'{name}' has a number outside of 0 to {limit - 1}: {found.min()} to {found.max()}")
