"""``rank``: the best candidates of each row with their scores, as a list of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from beam_ensembles.combiners.ranking import Field, Ranking, item_of
from beam_ensembles.errors import nearest
from beam_ensembles.graph.kinds import CheckedNode, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.output_ports import check_ports
from beam_ensembles.limits import LARGEST_COUNT
from beam_ensembles.spec.language import NAME_RULE, is_name
from beam_ensembles.spec.model import OutputSpec
from beam_ensembles.spec.places import below
from beam_ensembles.types import Array, Row, Type, dtype_of, row_shape

PORT = "top"
_SCORES = "scores"
_NAMES = {"candidates": "candidate", _SCORES: "score"}
_EXAMPLE = "{candidates: captions, scores: probabilities}"


class RankOptions(Options):
    """What a ranking takes."""

    k: int | None = option(None, "The most candidates to keep of each row.", shown="all", most=LARGEST_COUNT)


class RankKind(Kind[RankOptions]):
    """Sorts a row's candidates by their scores, the greatest first; of equals the first stays first."""

    kind = "combine"
    name = "rank"
    summary = "The candidates of a row with the greatest scores, in order."
    takes = (
        "candidates and scores: two lists of a row, item by item; any more lists by the name of the field that "
        "holds their items."
    )
    gives = "top: a list of rows with a field each, candidate and score where the declared type has no other names."
    options = RankOptions
    members_have_places = True

    def check(self, node: NodeView[RankOptions]) -> Mapping[str, Type | None]:
        """Checks that there are lists of one length and numbers to sort them by; the declared type names the fields."""
        k = node.options.k
        if k is not None and k < 1:
            node.problem(
                "bad_value", "k", f"'k' cannot be {k}: it is how many candidates to keep, at least 1"
            )
        ports, columns = check_ports(node, [PORT]), _items(node)
        types: dict[str, Type | None] = {}
        for output in node.spec.outputs:
            types[output.column] = output.type
            if columns is not None and output.column in ports:
                types[output.column] = _settled(node, output, columns)
        return types

    def meanings(self, node: NodeView[RankOptions]) -> None:
        """Compares nothing. Candidates and scores are lists of each row, not of classes."""

    def load(self, node: CheckedNode[RankOptions]) -> Member:
        """Nothing is loaded: gives the function itself."""
        inputs = node.spec.inputs
        ports = dict(zip((inputs.ports if inputs else None) or (), node.spec.columns, strict=True))
        made: dict[str, tuple[Field, ...]] = {}
        for output, type_ in node.outputs.items():
            fields = _fields(type_)
            sources = [ports[port] for port in _sources(tuple(ports), [name for name, _ in fields])]
            made[output] = tuple(
                Field.of(name, source, item_of(node.inputs[source]), wanted)
                for source, (name, wanted) in zip(sources, fields, strict=True)
            )
        dtype = dtype_of(item_of(node.inputs[ports[_SCORES]])) or np.dtype(np.float64)
        return Ranking(ports[_SCORES], dtype, node.options.k, made)


def _items(node: NodeView) -> dict[str, Type] | None:
    """Returns the type of the items of each port's list; None where something is wrong with them, which is reported."""
    inputs = node.spec.inputs
    if inputs is None or inputs.ports is None:
        text = f"rank takes named lists, one of them the scores: {_EXAMPLE}"
        node.problem("unknown_port", "inputs[0]", text)
        return None
    is_right = _has_ports(node, inputs.ports)
    found: dict[str, Type] = {}
    width: int | None = None
    for port, column in zip(inputs.ports, inputs.columns, strict=True):
        type_ = node.inputs.get(column)
        if type_ is None:
            continue
        shape, place = row_shape(type_), below("inputs", port)
        if not isinstance(type_, Array):
            node.problem("type_mismatch", place, f"'{column}' is {type_}; rank takes a list per row")
        elif port == _SCORES and not _are_scores(type_):
            text = f"'{column}' is {type_}; scores are a list of numbers per row, such as array<double>"
            node.problem("type_mismatch", place, text)
        elif shape and width is not None and shape[0] != width:
            text = f"'{column}' has {shape[0]} items, the lists before it have {width}; give each candidate one score"
            node.problem("type_mismatch", place, text)
        else:
            found[port] = item_of(type_)
            width = shape[0] if shape else width
    return found if is_right and len(found) == len(inputs.ports) else None


def _has_ports(node: NodeView, ports: Sequence[str]) -> bool:
    """Ensures that there are scores and something to sort by them, whose names can be those of fields."""
    names = [_field_name(port) for port in ports]
    if _SCORES not in ports:
        meant = next((f"; call '{port}' so" for port in ports if nearest(port, [_SCORES])), "")
        text = f"rank needs 'scores', which it sorts by: {_EXAMPLE}{meant}"
        node.problem("missing_key", below("inputs", _SCORES), text)
    if set(ports) <= {_SCORES}:
        text = f"rank needs the candidates, which the scores are for: {_EXAMPLE}"
        node.problem("missing_key", below("inputs", "candidates"), text)
    wrong = next((port for port, name in zip(ports, names, strict=True) if names.count(name) > 1), None)
    text = f"two lists would give one field, '{_field_name(wrong or '')}'; give this one another name"
    if wrong is None:
        wrong = next((port for port in ports if not is_name(port)), None)
        text = f"'{wrong}' cannot be the name of a field: {NAME_RULE}"
    if wrong is not None:
        node.problem("bad_name", below("inputs", wrong), text)
    return _SCORES in ports and len(ports) > 1 and wrong is None


def _are_scores(type_: Array) -> bool:
    dtype = dtype_of(item_of(type_))
    return (
        dtype is not None
        and dtype.kind in "fiu"
        and not row_shape(item_of(type_))
        and not item_of(type_).nullable
    )


def _settled(node: NodeView, output: OutputSpec, items: Mapping[str, Type]) -> Type | None:
    """Returns the type of an output column: the declared one where its fields can hold the items."""
    given = Array(Row(tuple((_field_name(port), item) for port, item in items.items())))
    if output.type is None:
        return given
    fields = _fields(output.type)
    if len(fields) == len(items):
        sources = _sources(tuple(items), [name for name, _ in fields])
        pairs = zip(sources, fields, strict=True)
        if all(_holds(wanted, items[source]) for source, (_, wanted) in pairs):
            return output.type
    text = f"'{output.column}' is declared {output.type}, but rank gives {given}; fields may have other names"
    node.problem("type_mismatch", f"outputs.{output.column}", text)
    return None


def _holds(wanted: Type, item: Type) -> bool:
    """Returns whether a field holds the items of a list: as they are, or wider or as fractions of another precision."""
    to, of = dtype_of(wanted), dtype_of(item)
    if item.nullable and not wanted.nullable:
        return False
    if to is None or of is None or row_shape(wanted) != row_shape(item):
        return wanted.required() == item.required()
    return to == of or (of.kind != "b" and (np.can_cast(of, to, casting="safe") or to.kind == of.kind == "f"))


def _sources(ports: Sequence[str], names: Sequence[str]) -> list[str]:
    """Returns the port of each field: the one that it is named after, else the next of those that are left."""
    by_name = {_field_name(port): port for port in ports}
    rest = iter([port for port in ports if _field_name(port) not in names])
    return [by_name[name] if name in by_name else next(rest) for name in names]


def _fields(type_: Type) -> tuple[tuple[str, Type], ...]:
    """Returns the fields of the rows of a list; none where it is not a list of rows."""
    element = type_.element if isinstance(type_, Array) else None
    return element.fields if isinstance(element, Row) else ()


def _field_name(port: str) -> str:
    return _NAMES.get(port, port)
