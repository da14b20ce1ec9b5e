"""Checks of an XGBoost model before xgboost loads it.

xgboost follows the indices in a file as they are: a child, a feature or a category out of range ends the process, and
a loop never ends. The arrays of all trees are joined and looked at together, so that a thousand trees cost little more
than reading them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import ModelFormatError
from beam_ensembles.handlers.support.library_versions import version_here
from beam_ensembles.handlers.xgboost.document import DocumentError, read_document

_DEEPEST_TREE: Final = 1_000
_MOST_OUTPUTS: Final = 1 << 16
_HIGHEST_CATEGORY: Final = 1 << 24
"""xgboost keeps categories as float32, which tells whole numbers apart up to here."""
_MOST_CATEGORY_BYTES: Final = 1 << 30
"""xgboost keeps a bit for each category up to the highest at every split."""
_LAST_OF_ASCII: Final = 127
_NO_PARENT: Final = (-1, 2**31 - 1)
_WHOLE: Final = re.compile(r"[0-9]{1,10}")
_NUMBER: Final = r"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?"
_BASE_SCORE: Final = re.compile(rf"{_NUMBER}|\[{_NUMBER}(?:,{_NUMBER})*\]")
"""How xgboost writes it. Python reads more as numbers (``1_0``), and not what xgboost makes of that."""
_OF_NODES: Final = ("left_children", "right_children", "parents", "split_indices", "default_left")
_WEIGHTS: Final = ("split_conditions", "sum_hessian", "loss_changes")
_MULTI: Final = ("multi:softmax", "multi:softprob")


class TreeError(ModelFormatError):
    """The model contradicts itself, so xgboost must not load it."""


def check_model(data: bytes) -> None:
    """Checks a model file: indices within bounds, arrays of the right lengths, trees without loops.

    Raises:
        TreeError: A check fails; the message names the tree and the array.
    """
    try:
        document = _mapping(read_document(data), "the file")
        _check_version(document)
        learner = _mapping(document.get("learner"), "learner")
        outputs, features = _check_parameters(learner)
        booster = _mapping(learner.get("gradient_booster"), "gradient_booster")
        _check_booster(booster, outputs, features)
        inner = booster["gbtree"] if booster["name"] == "dart" else booster
        check_names(_mapping(inner["model"].get("cats") or {}, "cats"), learner.get("feature_names", ()))
    except DocumentError as exc:
        raise TreeError(str(exc)) from exc


def _check_version(document: Mapping[str, Any]) -> None:
    """Checks the version: xgboost shows the whole file where it cannot read one, and ends the process if that fails."""
    found = document.get("version", [0, 0, 0])
    if not isinstance(found, list) or len(found) != 3 or not all(type(part) is int for part in found):
        raise TreeError("'version' is not a list of three whole numbers")


def _check_parameters(learner: Mapping[str, Any]) -> tuple[int, int]:
    """Checks the model's parameters; returns how many values it gives per row, and how many features it takes."""
    params = _mapping(learner.get("learner_model_param"), "learner_model_param")
    classes, targets = _whole(params, "num_class", 0), _whole(params, "num_target", 1)
    features = _whole(params, "num_feature")
    outputs = max(classes, targets, 1)
    if outputs > _MOST_OUTPUTS:
        raise TreeError(f"the model gives {outputs} values per row; at most {_MOST_OUTPUTS} are supported")
    _check_base_score(params.get("base_score"), outputs)
    objective = _mapping(learner.get("objective"), "objective")
    if objective.get("name") in _MULTI:
        own = _whole(_mapping(objective.get("softmax_multiclass_param"), "objective"), "num_class")
        if own != classes or classes < 1:
            raise TreeError(f"'num_class' is {classes} for the model and {own} for its objective")
    for name in ("feature_names", "feature_types"):
        texts = _listed(learner.get(name, []), name)
        if len(texts) not in (0, features) or not all(isinstance(text, str) for text in texts):
            raise TreeError(f"'{name}' has {len(texts)} texts, the model takes {features} features")
    return outputs, features


def _check_base_score(score: Any, outputs: int) -> None:
    if not _BASE_SCORE.fullmatch(str(score)):
        raise TreeError("'base_score' is not a number or a list of numbers")
    scores = [float(text) for text in str(score).strip("[]").split(",")]
    if len(scores) not in (1, outputs) or not all(map(math.isfinite, scores)):
        raise TreeError(f"'base_score' has {len(scores)} numbers, the model returns {outputs} values per row")


def _check_booster(booster: Mapping[str, Any], outputs: int, features: int) -> None:
    name = booster.get("name")
    if name == "gblinear":
        weights = _numbers(_mapping(booster.get("model"), "model").get("weights"), "weights")
        _same("weights", len(weights), (features + 1) * outputs)
    elif name == "dart":
        inner = _mapping(booster.get("gbtree"), "gbtree")
        trees = _check_trees(_mapping(inner.get("model"), "model"), outputs, features)
        _same("weight_drop", len(_numbers(booster.get("weight_drop"), "weight_drop")), trees)
    elif name == "gbtree":
        _check_trees(_mapping(booster.get("model"), "model"), outputs, features)
    else:
        raise TreeError("the booster is none of gbtree, dart and gblinear")


def _check_trees(model: Mapping[str, Any], outputs: int, features: int) -> int:
    trees = [_mapping(tree, "trees") for tree in _listed(model.get("trees"), "trees")]
    params = _mapping(model.get("gbtree_model_param"), "gbtree_model_param")
    _same("num_trees", _whole(params, "num_trees"), len(trees))
    parallel = _whole(params, "num_parallel_tree", 1)
    if not 1 <= parallel <= max(len(trees), 1) and trees:
        raise TreeError(f"'num_parallel_tree' is {parallel}, the model has {len(trees)} trees")
    groups = _integers(model.get("tree_info"), "tree_info")
    _same("tree_info", len(groups), len(trees))
    _within("tree_info", groups, outputs)
    if model.get("iteration_indptr") is not None:
        _check_pointers(
            "iteration_indptr", _integers(model["iteration_indptr"], "iteration_indptr"), len(trees)
        )
    if model.get("cats") is not None:
        _check_categories(_mapping(model["cats"], "cats"), features)
    if trees:
        _check_nodes(trees, outputs, features)
    return len(trees)


def _check_pointers(name: str, found: np.ndarray, last: int) -> None:
    """Checks numbers that say where parts of a list begin and end."""
    if len(found) == 0 or found[0] != 0 or found[-1] != last or (np.diff(found) < 0).any():
        raise TreeError(f"'{name}' does not rise from 0 to {last}")


def _check_nodes(trees: Sequence[Mapping[str, Any]], outputs: int, features: int) -> None:
    params = [_mapping(tree.get("tree_param"), "tree_param") for tree in trees]
    ids = _integers([tree.get("id") for tree in trees], "id")
    if (ids != np.arange(len(trees))).any():
        raise TreeError("the trees are not in the order of their 'id'")
    nodes = np.array([_whole(param, "num_nodes") for param in params], np.int64)
    sizes = np.array([_whole(param, "size_leaf_vector", 1) for param in params], np.int64)
    if (nodes < 1).any() or not np.isin(sizes, (0, 1, outputs)).all():
        raise TreeError("a tree has no nodes, or leaves of another size than the model's answer")
    joined = {name: _joined(trees, name, nodes) for name in _OF_NODES}
    is_vector = sizes > 1
    _check_vectors(trees, is_vector)
    for name in _WEIGHTS:
        needed = np.array(
            [
                not vector or name == "split_conditions" or name in tree
                for vector, tree in zip(is_vector, trees, strict=True)
            ]
        )
        _joined(trees, name, np.where(needed, nodes, 0), whole=False)
    _joined(trees, "base_weights", nodes * np.maximum(sizes, 1), whole=False)
    starts = np.concatenate([[0], np.cumsum(nodes)])
    left, right = joined["left_children"], joined["right_children"]
    is_split = left != -1
    _check_children(left, right, joined["parents"], is_split, starts)
    _check_leaves(trees, right, is_split, is_vector, starts)
    _within("split_indices", joined["split_indices"][is_split], features)
    _within("default_left", joined["default_left"], 2)
    _check_splits(trees, nodes, is_split)


def _check_vectors(trees: Sequence[Mapping[str, Any]], is_vector: np.ndarray) -> None:
    """Checks that trees of several targets have all lists: XGBoost from 3.2 reads any memory for a missing one.

    Older versions neither write nor read them.
    """
    version = version_here("xgboost") or ""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdecimal()]
    if not is_vector.any() or (len(numbers) == 2 and numbers < [3, 2]):
        return
    for at in np.flatnonzero(is_vector).tolist():
        for name in ("leaf_weights", "loss_changes", "sum_hessian"):
            found = trees[at].get(name)
            if found is None or len(_numbers(found, name)) == 0:
                raise TreeError(
                    f"tree {at} has no '{name}', which XGBoost {version} needs for trees of several targets; "
                    "XGBoost before 3.2 did not write it: train the model again with this version"
                )


def _check_children(
    left: np.ndarray, right: np.ndarray, parents: np.ndarray, is_split: np.ndarray, starts: np.ndarray
) -> None:
    """Checks that every tree is one: each node has one parent, the root none, and no path is too long."""
    nodes = np.diff(starts)
    (splits,) = np.nonzero(is_split)
    tree_of = np.repeat(np.arange(len(nodes)), nodes)[splits]
    children = np.stack([left[splits], right[splits]])
    if ((children < 1) | (children >= nodes[tree_of])).any():
        raise TreeError("a node's child is not a node of its tree, or is its root")
    if (parents[children + starts[tree_of]] != splits - starts[tree_of]).any():
        raise TreeError("'parents' says otherwise than 'left_children' and 'right_children'")
    if (np.bincount((children + starts[tree_of]).ravel(), minlength=1) > 1).any():
        raise TreeError("a node is the child of two nodes")
    if not np.isin(parents[starts[:-1]], _NO_PARENT).all():
        raise TreeError("the root of a tree has a parent")
    _check_depth(left, right, is_split, starts, nodes)


def _check_depth(
    left: np.ndarray, right: np.ndarray, is_split: np.ndarray, starts: np.ndarray, nodes: np.ndarray
) -> None:
    first_of = np.repeat(starts[:-1], nodes)
    level = starts[:-1]
    for _ in range(_DEEPEST_TREE):
        level = level[is_split[level]]
        if len(level) == 0:
            return
        base = first_of[level]
        level = np.concatenate([left[level] + base, right[level] + base])
    raise TreeError(f"a tree is more than {_DEEPEST_TREE} levels deep")


def _check_leaves(
    trees: Sequence[Mapping[str, Any]],
    right: np.ndarray,
    is_split: np.ndarray,
    is_vector: np.ndarray,
    starts: np.ndarray,
) -> None:
    """Checks the right children of leaves: none, or the place of the leaf's weights where these are vectors."""
    for at, tree in enumerate(trees if is_vector.any() else ()):
        part = slice(starts[at], starts[at + 1])
        places = right[part][~is_split[part]]
        weights = _numbers(tree.get("leaf_weights", []), "leaf_weights")
        size = _whole(tree["tree_param"], "size_leaf_vector", 1)
        if is_vector[at] and len(weights):
            _same("leaf_weights", len(weights), len(places) * size)
            _within("right_children", places, len(places))
        elif (places != -1).any():
            raise TreeError("a leaf has a right child")
    if not is_vector.any() and (right[~is_split] != -1).any():
        raise TreeError("a leaf has a right child")


def _check_splits(trees: Sequence[Mapping[str, Any]], nodes: np.ndarray, is_split: np.ndarray) -> None:
    """Checks splits by categories: each has its part of the tree's list of categories."""
    has_types = np.array(["split_type" in tree for tree in trees])
    kinds = _joined(trees, "split_type", np.where(has_types, nodes, 0))
    _within("split_type", kinds, 2)
    lists = [_lists_of_categories(tree) for tree in trees]
    where = np.concatenate([first for first, *_ in lists])
    if len(where) == 0 and not kinds.any():
        return
    ends = np.concatenate([[0], np.cumsum(np.where(has_types, nodes, 0))])
    needed = 0
    for at, (places, segments, sizes, categories) in enumerate(lists):
        found = np.flatnonzero(kinds[ends[at] : ends[at + 1]] * 1)
        if not np.array_equal(places, found):
            raise TreeError("'categories_nodes' says otherwise than 'split_type'")
        if not len(segments) == len(sizes) == len(places):
            raise TreeError(
                "'categories_segments' and 'categories_sizes' have other lengths than 'categories_nodes'"
            )
        if (sizes < 0).any() or (segments < 0).any() or (segments > len(categories) - sizes).any():
            raise TreeError("'categories_segments' and 'categories_sizes' go beyond 'categories'")
        _within("categories", categories, _HIGHEST_CATEGORY)
        highest = [int(categories[a : a + n].max(initial=0)) for a, n in zip(segments, sizes, strict=True)]
        needed += sum(highest) // 8
    if needed > _MOST_CATEGORY_BYTES:
        raise TreeError("the categories of all splits would need more than 1 GiB of memory")


def _lists_of_categories(tree: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
    names = ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    return tuple(_integers(tree.get(name, []), name) for name in names)


def _check_categories(cats: Mapping[str, Any], features: int) -> None:
    """Checks the categories that the model keeps: for each feature a list of texts or numbers, and their order."""
    lists = _listed(cats.get("enc"), "enc")
    pointers = _integers(cats.get("feature_segments"), "feature_segments")
    order = _integers(cats.get("sorted_idx"), "sorted_idx")
    if not lists and len(pointers) <= 1 and len(order) == 0:
        return
    _same("enc", len(lists), features)
    _same("feature_segments", len(pointers), features + 1)
    _check_pointers("feature_segments", pointers, len(order))
    counts = np.diff(pointers)
    if ((order < 0) | (order >= np.repeat(counts, counts))).any():
        raise TreeError("'sorted_idx' names a category that its feature does not have")
    for one, count in zip(lists, counts.tolist(), strict=True):
        _check_list(_mapping(one, "enc"), count)


def _check_list(one: Mapping[str, Any], count: int) -> None:
    values = _numbers(one.get("values"), "values")
    if "offsets" not in one:
        _same("values", len(values), count)
        return
    offsets = _integers(one["offsets"], "offsets")
    if count == len(offsets) == len(values) == 0:
        return
    _same("offsets", len(offsets), count + 1)
    _check_pointers("offsets", offsets, len(values))


def check_names(cats: Mapping[str, Any], features: Sequence[str]) -> None:
    """Refuses categories that are not all ASCII, since nothing tells what they are.

    XGBoost 3.1 and 3.2 take the lengths of a pandas index in characters, and cut its UTF-8 by them: after the first
    letter of more than one byte each name begins too early, and the last bytes are not in the file. Names of Polars and
    PyArrow are right, and look the same: ``["Köl", "n"]`` is one or the other.

    Args:
        cats: The categories, as the file has them.
        features: The names of the features; empty where they have none.

    Raises:
        TreeError: Those of a feature are not all ASCII.
    """
    for at, one in enumerate(_listed(cats.get("enc", []), "enc")):
        values = _numbers(_mapping(one, "enc").get("values", []), "values")
        if "offsets" in one and ((values < 0) | (values > _LAST_OF_ASCII)).any():
            name = f"'{features[at]}'" if at < len(features) else f"{at}"
            raise TreeError(
                f"the categories of the feature {name} are not all ASCII, and cannot be relied on: XGBoost 3.1 and 3.2 "
                "write those of a pandas DataFrame shifted and cut off, and the file does not tell whether these are; "
                "train the model on categories in ASCII or on whole numbers, and give it the same here"
            )


def _joined(
    trees: Sequence[Mapping[str, Any]], name: str, lengths: np.ndarray, *, whole: bool = True
) -> np.ndarray:
    """Joins an array of all trees, each of which must have the length given for it."""
    lists = [tree.get(name, ()) for tree in trees]
    try:
        wrong = np.flatnonzero(np.fromiter(map(len, lists), np.int64, len(lists)) != lengths)
    except TypeError:
        raise TreeError(f"'{name}' of a tree is not a list") from None
    if len(wrong):
        at = int(wrong[0])
        raise TreeError(f"'{name}' of tree {at} has {len(lists[at])} items, expected {lengths[at]}")
    if isinstance(lists[0], np.ndarray):
        if not all(isinstance(one, np.ndarray) for one in lists):
            raise TreeError(f"'{name}' is not a list of numbers in every tree")
        return (_integers if whole else _numbers)(np.concatenate(lists), name)
    return (_integers if whole else _numbers)(list(itertools.chain.from_iterable(lists)), name)


def _numbers(found: Any, name: str) -> np.ndarray:
    """Returns a flat array of numbers, ``[N]``."""
    if isinstance(found, np.ndarray):
        return found
    if not isinstance(found, list | tuple):
        raise TreeError(f"'{name}' is not a list of numbers")
    try:
        array = np.array(found) if found else np.zeros(0, np.int64)
    except (ValueError, OverflowError):
        raise TreeError(f"'{name}' is not a list of numbers") from None
    if array.ndim != 1 or array.dtype.kind not in "iufb":
        raise TreeError(f"'{name}' is not a list of numbers")
    return array


def _integers(found: Any, name: str) -> np.ndarray:
    """Returns a flat array of whole numbers, ``[N]``, dtype int64."""
    array = _numbers(found, name)
    if array.dtype.kind not in "iub":
        raise TreeError(f"'{name}' is not a list of whole numbers")
    return array.astype(np.int64)


def _within(name: str, found: np.ndarray, limit: int) -> None:
    if len(found) and (int(found.min()) < 0 or int(found.max()) >= limit):
        raise TreeError(f"'{name}' has a number outside of 0 to {limit - 1}: {found.min()} to {found.max()}")


def _same(name: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise TreeError(f"'{name}' is, or has, {found}, expected {wanted}")


def _mapping(found: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise TreeError(f"'{name}' is not an object, or is missing")
    return found


def _listed(found: Any, name: str) -> Sequence[Any]:
    if not isinstance(found, list | np.ndarray):
        raise TreeError(f"'{name}' is not a list, or is missing")
    return list(found)


def _whole(params: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """Returns a parameter, which XGBoost writes as text."""
    text = params.get(name, default)
    if isinstance(text, bool) or not _WHOLE.fullmatch(str(text)) or int(text) >= 2**31:
        raise TreeError(f"'{name}' is not a whole number from 0 to {2**31 - 1}")
    return int(text)
