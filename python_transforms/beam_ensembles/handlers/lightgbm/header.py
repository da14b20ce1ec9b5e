"""Reads what a LightGBM model takes and gives from its text file, without lightgbm and without its trees.

Lines of ``key=value`` stand before the trees; the parameters of the training and the categories of a DataFrame stand
behind them. Written for the versions v2 to v4 of the format.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, Final

from beam_ensembles.errors import ModelFormatError
from beam_ensembles.files.bounded_json import read_json
from beam_ensembles.handlers.support.signatures import refusing
from beam_ensembles.limits import LARGEST_JSON

TREE: Final = "Tree="
END: Final = "end of trees"
OVA: Final = "multiclassova"
MULTI: Final = ("multiclass", OVA)
NO_TREES: Final = "the file is not a LightGBM model in text; save it with save_model('model.txt')"
_KEY: Final = re.compile(r"([a-z_]+)(?:=(.*))?")
_WITH_EQUALS: Final = ("feature_names", "monotone_constraints")
"""Keys whose value may have a ``=`` of its own."""
_PARAMETER: Final = re.compile(r"\[(\w+): (.*)\]")
_CATEGORIES: Final = "pandas_categorical:"
_WHOLE: Final = re.compile(r"\d{1,9}", re.ASCII)
_OBJECTIVE: Final = (
    r"([a-z0-9_]+)(?: num_class:([0-9]{1,9}))?(?: sqrt)?(?: (?!num_class)[a-z_]+:[0-9.e+-]{1,30})*"
)
_PLACES: Final = re.compile(r"\d{1,9}(?:,\d{1,9})*", re.ASCII)
_NO_NAME: Final = "Column_{}"
_MOST_HEAD: Final = LARGEST_JSON
_MOST_BEFORE: Final = 100
"""Lines before the trees, of which LightGBM writes thirteen."""
_MOST_FEATURES: Final = 2_000_000
_MOST_BEHIND: Final = _MOST_FEATURES + 1_000
"""Lines behind the trees: the importance of each feature, and about 130 parameters."""
_PART: Final = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """What a model says about itself.

    Attributes:
        features: How many features it takes.
        values: How many values it gives per row: the classes of ``multiclass``, else 1.
        objective: What it was trained for, such as ``binary``; empty where it was a function of the user's.
        names: The features' names; None where it was trained on an array.
        kept: The categories that it keeps of a DataFrame, in the order of its category columns.
        categorical: The places of the features that were trained as categories, as far as its parameters say.
    """

    features: int
    values: int
    objective: str = ""
    names: tuple[str, ...] | None = None
    kept: tuple[tuple[Any, ...], ...] = ()
    categorical: tuple[int, ...] = ()

    @property
    def categories(self) -> Mapping[int, Sequence[Any]]:
        """The kept categories by the feature's place; empty where nothing tells to which features they belong."""
        return dict(zip(self.categorical, self.kept, strict=True)) if self.are_placed else {}

    @property
    def are_placed(self) -> bool:
        """Whether the features are known to which the kept categories belong.

        They are not where an ordered category was trained as a number, or where whole numbers were named as categories.
        """
        return len(self.kept) == len(self.categorical)


@refusing("the file is not a LightGBM model in text")
def read_header(path: str) -> Header:
    """Reads the header of a model file.

    Raises:
        ModelFormatError: It is not a LightGBM model in text.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        lines = list(_lines_before_trees(file))
        tail = _tail(file)
    return header_of(lines, lines_behind(tail.decode()))


def lines_before(text: str) -> list[str]:
    """Splits the text before the trees, once it is known to have few lines: each takes 60 bytes in memory."""
    return _split(text, _MOST_BEFORE, "before")


def lines_behind(text: str) -> list[str]:
    """Splits the text behind the trees likewise."""
    return _split(text, _MOST_BEHIND, "behind")


def _split(text: str, most: int, where: str) -> list[str]:
    if text.count("\n") > most:
        raise ModelFormatError(f"the file has more than {most:,} lines {where} its trees")
    return text.split("\n")


def _lines_before_trees(file: IO[bytes]) -> Iterator[str]:
    left = _MOST_HEAD
    if file.read(5) != b"tree\n":
        raise ModelFormatError(NO_TREES)
    yield "tree"
    for _ in range(_MOST_BEFORE):
        if not (line := file.readline(left)):
            return
        left -= len(line)
        if left <= 0:
            raise ModelFormatError(f"the file has more than {_MOST_HEAD >> 20} MiB before its trees")
        text = line.decode().removesuffix("\n")
        if text.startswith(TREE) or text == END:
            return
        yield text
    raise ModelFormatError(f"the file has more than {_MOST_BEFORE} lines before its trees")


def _tail(file: IO[bytes]) -> bytes:
    """Returns the file from the end of its trees on; a model without trees has its whole text before."""
    file.seek(0, 2)
    size, wanted, mark = file.tell(), _PART, f"\n{END}\n".encode()
    while True:
        file.seek(max(0, size - wanted))
        tail = file.read()
        at = tail.rfind(mark)
        if at >= 0:
            return tail[at + 1 :]
        if wanted >= min(size, _MOST_HEAD):
            raise ModelFormatError("the file ends before its trees do")
        wanted *= 8


def header_of(before: Sequence[str], behind: Sequence[str]) -> Header:
    """Returns the header of a model.

    Args:
        before: The lines before the trees.
        behind: Those from the end of the trees on.

    Raises:
        ModelFormatError: They contradict each other, or LightGBM could read them otherwise.
    """
    fields = _fields(before)
    features = _whole(fields, "max_feature_idx") + 1
    written = [fields.get(name, "") for name in ("feature_names", "feature_infos")]
    counts = [text.count(" ") + 1 for text in written]
    if features > _MOST_FEATURES:
        raise ModelFormatError(f"the model takes {features:,} features, more than {_MOST_FEATURES:,}")
    if counts != [features, features] or any(
        not text or "  " in text or text != text.strip(" ") for text in written
    ):
        raise ModelFormatError(
            f"'feature_names' has {counts[0]} names and 'feature_infos' {counts[1]} items, the model takes "
            f"{features} features"
        )
    names = written[0].split(" ")
    if len(set(names)) < features:
        raise ModelFormatError("'feature_names' has a name twice")
    objective = fields.get("objective")
    values = _values(fields, objective)
    constraints = fields.get("monotone_constraints")
    if constraints is not None and len(constraints.split(" ")) != features:
        raise ModelFormatError(
            f"'monotone_constraints' does not have an item for each of {features} features"
        )
    parameters, kept = _behind(behind)
    places = parameters.get("categorical_feature", "")
    categorical = sorted(map(int, places.split(","))) if _PLACES.fullmatch(places) else []
    if any(place >= features for place in categorical):
        raise ModelFormatError(f"'categorical_feature' names a feature beyond the model's {features}")
    are_numbers = all(name == _NO_NAME.format(at) for at, name in enumerate(names))
    return Header(
        features,
        values,
        "" if objective is None else objective.partition(" ")[0].replace("custom", ""),
        None if are_numbers else tuple(names),
        kept,
        tuple(dict.fromkeys(categorical)),
    )


def _fields(lines: Sequence[str]) -> dict[str, str]:
    """Returns the fields before the trees; each occurs once, in a line that LightGBM reads in the same way."""
    if not lines or lines[0] != "tree":
        raise ModelFormatError(NO_TREES)
    fields: dict[str, str] = {}
    for line in lines[1:]:
        if not line:
            continue
        found = _KEY.fullmatch(line)
        if found is None or ("=" in (found[2] or "") and found[1] not in _WITH_EQUALS):
            raise ModelFormatError(f"a line before the trees is not as LightGBM writes it: {line[:80]!r}")
        if found[1] in fields:
            raise ModelFormatError(f"'{found[1]}' occurs twice before the trees")
        fields[found[1]] = found[2] or ""
    return fields


def _values(fields: Mapping[str, str], objective: str | None) -> int:
    """Returns how many values the model gives per row.

    LightGBM makes room for ``num_class``, and writes as many as it has trees in each round, or as its objective says.
    """
    classes = _whole(fields, "num_class")
    trees = _whole(fields, "num_tree_per_iteration") if "num_tree_per_iteration" in fields else classes
    found = re.fullmatch(_OBJECTIVE, "custom" if objective is None else objective)
    name, own = found.groups() if found is not None else (None, None)
    may_be_many = name in (*MULTI, "custom")
    is_right = name is not None and own == (str(classes) if name in MULTI else None)
    if not is_right or not 1 <= classes == trees or (classes > 1 and not may_be_many):
        raise ModelFormatError(
            f"'num_class' is {classes}, 'num_tree_per_iteration' {trees}, and the objective {str(objective)[:80]!r}"
        )
    return classes


def _whole(fields: Mapping[str, str], name: str) -> int:
    text = fields.get(name, "")
    if not _WHOLE.fullmatch(text):
        raise ModelFormatError(f"'{name}' is not a whole number, or is missing")
    return int(text)


def _behind(lines: Sequence[str]) -> tuple[dict[str, str], tuple[tuple[Any, ...], ...]]:
    """Returns the parameters of the training, and the categories that the model keeps."""
    parameters: dict[str, str] = {}
    is_parameters, kept = False, ""
    for line in lines:
        if line == "parameters:":
            is_parameters = True
        elif line == "end of parameters":
            is_parameters = False
        elif is_parameters and line:
            found = _PARAMETER.fullmatch(line)
            if found is None:
                raise ModelFormatError(f"a parameter is not as LightGBM writes it: {line[:80]!r}")
            parameters[found[1]] = found[2]
        elif line.startswith(_CATEGORIES):
            kept = line.removeprefix(_CATEGORIES)
    return parameters, _kept(kept)


def _kept(text: str) -> tuple[tuple[Any, ...], ...]:
    found = (read_json(text.encode()) if text else None) or []
    are_lists = isinstance(found, list) and all(isinstance(one, list) for one in found)
    if not are_lists or not all(isinstance(value, str | int | float) for one in found for value in one):
        raise ModelFormatError("'pandas_categorical' does not hold lists of texts and numbers")
    return tuple(map(tuple, found))
