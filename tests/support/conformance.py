"""The cases of ``tests/conformance``: models as people save them, and what their own library says of the same rows."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import io
import json
import math
import runpy
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import yaml

from beam_ensembles.columns.arrow_types import arrow_field
from beam_ensembles.types import Array, Map, Row, Scalar, Type, parse_type
from scripts.layout import ROOT

CASES: Final = ROOT / "tests" / "conformance" / "cases"
_RELATIVE: Final = 1e-5
_ABSOLUTE: Final = 1e-6
_SETTINGS: Final = ("parameters", "large", "clients")


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """A problem that the ensemble has, before the run or when its models are loaded.

    Attributes:
        code: Its code.
        path: Where it is in the file.
        says: Words that stand in its message.
    """

    code: str
    path: str
    says: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """A case, made in a folder of its own.

    Attributes:
        name: Its folder's name.
        folder: Where it was made.
        rows: The rows as JSON has them, with their places as ``id``; empty where they are in no JSON lines.
        expected: What must come of each: its columns, or ``{"error": "NODE CODE"}``.
        refusals: What must be said instead of scoring anything.
        parameters: Values of the file's parameters.
        large: Whether it is quick enough for 10,001 rows.
    """

    name: str
    folder: Path
    rows: tuple[dict[str, Any], ...]
    expected: tuple[dict[str, Any], ...]
    refusals: tuple[Refusal, ...]
    parameters: Mapping[str, str]
    large: bool = True

    @property
    def file(self) -> Path:
        """The ensemble file."""
        return self.folder / "ensemble.yaml"

    @property
    def inputs(self) -> dict[str, Type]:
        """The fields of its rows: ``id`` and the ensemble's inputs."""
        return {"id": parse_type("int64"), **inputs(self.folder)}

    def table(self) -> pa.Table:
        """Returns its rows in Arrow."""
        inputs = self.inputs
        schema = pa.schema([arrow_field(name, type_) for name, type_ in inputs.items()])
        rows = [{name: typed(row.get(name), type_) for name, type_ in inputs.items()} for row in self.rows]
        return pa.Table.from_pylist(rows, schema)


def names() -> list[str]:
    """Returns the names of all cases."""
    return sorted(path.parent.name for path in CASES.glob("*/ensemble.yaml"))


def of_clients() -> list[str]:
    """Returns the names of the cases that Go and Java score, too."""
    return [name for name in names() if _settings(CASES / name).get("clients")]


def inputs(folder: Path) -> dict[str, Type]:
    """Returns the inputs of the ensemble in a folder."""
    read = yaml.safe_load((folder / "ensemble.yaml").read_text(encoding="utf-8"))["inputs"]
    return {name: parse_type(text) for name, text in read.items()}


def make(name: str, folder: Path) -> Case:
    """Make a case: copies its folder, runs its ``make.py`` there, and reads what is there then.

    Args:
        name: The case's name.
        folder: Where to.
    """
    shutil.copytree(CASES / name, folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    if (folder / "make.py").exists():
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a library's, of how people save their models
            runpy.run_path(str(folder / "make.py"), run_name="__main__")
    settings = _settings(folder)
    assert not settings.keys() - set(_SETTINGS), f"{name}: case.json may hold {', '.join(_SETTINGS)}"
    rows = tuple(row | {"id": at} for at, row in enumerate(lines(folder / "rows.jsonl")))
    expected = tuple(_without_id(line) for line in lines(folder / "expected.jsonl"))
    refusals = tuple(
        Refusal(line["code"], line["path"], tuple(line.get("says", ())))
        for line in lines(folder / "refused.jsonl")
    )
    assert expected or refusals, f"{name} says neither what is expected nor what is refused"
    assert not rows or refusals or len(rows) == len(expected), f"{name}: a line is expected of each row"
    parameters = settings.get("parameters", {})
    large = settings.get("large", True)
    return Case(name, folder, rows, expected, refusals, parameters, large)


def _settings(folder: Path) -> dict[str, Any]:
    file = folder / "case.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def write(rows: Any, **answers: Any) -> None:
    """Writes the rows of a case, and what its library says of them, into the working folder: for ``make.py``.

    Args:
        rows: A DataFrame, or a mapping of columns; NaN is null.
        answers: What the library gives for each column, an item per row.
    """
    write_pairs(zip(_by_row(dict(rows)), _by_row(answers), strict=True))


def write_pairs(pairs: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> None:
    """Writes rows, and what must come of each, into the working folder: for ``make.py``, where some rows fail.

    Args:
        pairs: Each row, and its answers, or its ``{"error": "NODE CODE"}``; NaN is null.
    """
    with (
        open("rows.jsonl", "w", encoding="utf-8") as rows,
        open("expected.jsonl", "w", encoding="utf-8") as out,
    ):
        for row, expected in pairs:
            rows.write(_line(row))
            out.write(_line(expected))


def _by_row(columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))


def _line(values: Mapping[str, Any]) -> str:
    plain = {name: _as_json(value) for name, value in values.items()}
    return json.dumps(plain, ensure_ascii=False) + "\n"


def _as_json(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    return None if isinstance(value, float) and math.isnan(value) else value


def lines(file: Path) -> list[dict[str, Any]]:
    """Reads JSON lines; none where there is no such file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def _without_id(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != "id"}


def typed(value: Any, type_: Type) -> Any:
    """Returns a value of JSON as Python has those of a type."""
    if value is None:
        return None
    if isinstance(type_, Array):
        return [typed(item, type_.element) for item in value]
    if isinstance(type_, Map):
        return {key: typed(item, type_.value) for key, item in value.items()}
    if isinstance(type_, Row):
        return {name: typed(value.get(name), field) for name, field in type_.fields}
    if isinstance(type_, Scalar) and type_.name == "bytes":
        return base64.b64decode(value)
    return float(value) if isinstance(type_, Scalar) and type_.name in ("float", "double") else value


def difference(found: Sequence[Mapping[str, Any]], expected: Sequence[Mapping[str, Any]]) -> str:
    """Returns where answers are not what is expected; nothing where they are."""
    if len(found) != len(expected):
        return f"{len(found)} rows came out, not {len(expected)}"
    for at, (one, wanted) in enumerate(zip(found, expected, strict=True)):
        for name, value in wanted.items():
            if name not in one:
                return f"row {at} has no '{name}': {one}"
            if not _is_near(one[name], value):
                return f"row {at}: '{name}' is {one[name]!r}, the library says {value!r}"
    return ""


def _is_near(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return (
            isinstance(found, Mapping)
            and found.keys() == wanted.keys()
            and all(_is_near(found[key], wanted[key]) for key in wanted)
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(wanted)
            and all(map(_is_near, found, wanted))
        )
    if isinstance(wanted, float) or isinstance(found, float):
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        both_nan = is_number and math.isnan(found) and (wanted == "NaN" or wanted != wanted)
        return both_nan or (
            is_number
            and isinstance(wanted, int | float)
            and math.isclose(found, wanted, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
        )
    return type(found) is type(wanted) and bool(found == wanted)


Way = Callable[[Case, Path], list[dict[str, Any]]]
"""Scores a case's rows; gives what came of each, in order. The path is an empty folder."""
