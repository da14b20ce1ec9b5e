"""Calls of ensembles drawn at random: rows that have what the ensemble reads in a form of their own, and more."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from beam_ensembles.types import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    STRING,
    Array,
    Map,
    Row,
    Scalar,
    Type,
    parse_type,
)
from tests.unit.properties.graphs import INPUTS, REQUIRED, Case, drafts, files, rows
from tests.unit.properties.plain import PlainNode, scored

_NARROWER: Final[Mapping[Type, Type]] = {DOUBLE: FLOAT, INT64: INT32}
"""What may stand where a file says more; the values of ``graphs`` are the same in it."""

_VALUES: Final[Mapping[Type, st.SearchStrategy[Any]]] = {
    STRING: st.sampled_from(["", "a", "ключ", "🙂"]),
    BYTES: st.binary(max_size=3),
    BOOLEAN: st.booleans(),
    INT32: st.sampled_from([0, 7, -(2**31), 2**31 - 1]),
    INT64: st.sampled_from([0, 7, -(2**63), 2**63 - 1]),
    FLOAT: st.sampled_from([0.0, -1.5, math.nan, math.inf]),
    DOUBLE: st.sampled_from([0.0, 0.1, 1e300, math.nan, -math.inf]),
}


GRAPHS: Final = 16
"""How many graphs are in one ensemble: for every call runners start a worker of its own, which takes seconds."""

_ROWS: Final = 24
_NEVER_FAILED: Final = 4


@dataclasses.dataclass(frozen=True)
class Caller:
    """Rows, and how an ensemble is asked to score them.

    Attributes:
        case: The ensemble, which is some graphs side by side, and the input columns of each row. Of its inputs it has
            those that nodes read, and some that none reads.
        fields: The fields of the rows, with their types, in order; ``id`` is the place of a row in ``rows``.
        columns: The field of each input column whose name is another.
        prefix: The prefix of each added column's name.
        rows: The rows.
    """

    case: Case
    fields: Mapping[str, Type]
    columns: Mapping[str, str]
    prefix: str
    rows: tuple[Mapping[str, Any], ...]


@st.composite
def callers(draw: st.DrawFn) -> Caller:
    """A call with rows that fit; their other fields are of any types that cross, also nested ones."""
    case = draw(_several_graphs())
    inputs = list(json.loads(case.text)["inputs"])
    renamed = {name: f"my_{name}" for name in inputs if draw(st.integers(0, 4)) == 0}
    fields: dict[str, Type] = {"id": INT64}
    for name in inputs:
        type_ = draw(_taken(parse_type(INPUTS[name][1])))
        has_null = any(row[name] is None for row in case.rows)
        fields[renamed.get(name, name)] = type_.optional() if has_null else type_
    own = {f"own{at}": draw(types()) for at in range(draw(st.integers(2, 5)))}
    sent = [
        {"id": at}
        | {renamed.get(name, name): row[name] for name in inputs}
        | {name: draw(values(type_)) for name, type_ in own.items()}
        for at, row in enumerate(case.rows)
    ]
    fields |= own
    order = draw(st.permutations(list(fields)))
    in_order = {name: fields[name] for name in order}
    return Caller(case, in_order, renamed, draw(st.sampled_from(["", "the_"])), tuple(sent))


@st.composite
def _several_graphs(draw: st.DrawFn) -> Case:
    """Some graphs side by side in one file; the nodes of some of them may fail rows, but not the first rows."""
    numbers = itertools.count(1)
    graphs = [draw(drafts(numbers=numbers)) for _ in range(GRAPHS)]
    asked = draw(st.lists(rows(), min_size=_ROWS, max_size=_ROWS))
    severe, mild = graphs[: GRAPHS // 2], graphs[GRAPHS // 2 :]
    nodes = _forgiving([node for graph in severe for node in graph.nodes], asked[:_NEVER_FAILED])
    nodes += _forgiving([node for graph in mild for node in graph.nodes], asked)
    read = {column for node in nodes for column in node.all_reads()}
    file = draw(files(nodes))
    file["inputs"] = {
        name: type_ for name, type_ in file["inputs"].items() if name in read or draw(st.booleans())
    }
    return Case(tuple(nodes), json.dumps(file, ensure_ascii=False, indent=1), tuple(asked))


def _forgiving(nodes: Sequence[PlainNode], asked: Sequence[Mapping[str, Any]]) -> list[PlainNode]:
    """Returns nodes that fail none of some rows: those that would give null instead."""
    found = list(nodes)
    whole = [row for row in asked if all(row[name] is not None for name in REQUIRED)]
    while failing := {name for row in whole for name, _ in scored(found, row, REQUIRED)[1]}:
        found = [
            dataclasses.replace(node, on_error="nullify") if node.name in failing else node for node in found
        ]
    return found


@st.composite
def _taken(draw: st.DrawFn, declared: Type) -> Type:
    """A type of which an input takes values; callers have no tensors, and may allow nulls where there are none."""
    if isinstance(declared, Array):
        found: Type = Array(draw(_taken(declared.element)).required())
    else:
        found = declared.required()
        if found in _NARROWER and draw(st.booleans()):
            found = _NARROWER[found]
    return found.optional() if draw(st.integers(0, 3)) == 0 else found


def types() -> st.SearchStrategy[Type]:
    """A type of which all languages have values, as the field of a row."""
    plain: st.SearchStrategy[Type] = st.sampled_from(sorted(_VALUES, key=str))
    return _perhaps_null(st.recursive(plain, _nested, max_leaves=4))


def _nested(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    items = inner | _perhaps_null(inner).filter(_is_pointer_in_go)
    fields = st.lists(_perhaps_null(inner), min_size=1, max_size=3)
    return (
        st.builds(Array, items)
        | st.builds(Map, st.just(STRING), items)
        | fields.map(lambda of: Row(tuple((f"f{at}", type_) for at, type_ in enumerate(of))))
    )


def _perhaps_null(of: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    return of | of.map(lambda type_: type_.optional())


def _is_pointer_in_go(type_: Type) -> bool:
    """Returns whether Go can have null items of the type: it has slices and maps, which are null in fields only."""
    return (isinstance(type_, Scalar) and type_.name != "bytes") or isinstance(type_, Row)


def values(type_: Type) -> st.SearchStrategy[Any]:
    """A value of a type: lists, mappings by name, None."""
    if type_.nullable:
        return st.none() | values(type_.required())
    if isinstance(type_, Array):
        return st.lists(values(type_.element), max_size=2)
    if isinstance(type_, Map):
        return st.dictionaries(st.sampled_from(["", "a", "ключ"]), values(type_.value), max_size=2)
    if isinstance(type_, Row):
        return st.fixed_dictionaries({name: values(of) for name, of in type_.fields})
    return _VALUES[type_]


def drawn(number: int) -> Caller:
    """Draws a call, the same one for the same number.

    Args:
        number: Where chance begins.
    """
    found: list[Caller] = []

    @seed(number)
    @settings(
        max_examples=2,  # the first one is the smallest that there is
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
        deadline=None,
    )
    @given(callers())
    def collect(caller: Caller) -> None:
        found.append(caller)

    collect()
    return found[-1]
