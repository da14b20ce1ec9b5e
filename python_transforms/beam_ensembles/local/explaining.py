"""Scores one row and tells what each node did with it, on the path on which ``predict`` and ``run`` score rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.columns.batch import RowFailure
from beam_ensembles.columns.convert import to_values
from beam_ensembles.errors import NodeFailed
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.execution.node_records import ANSWERED, FAILED, SKIPPED, NodeRecord, NodeRecorder
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.kinds import CheckedNode, Columns, valid_rows
from beam_ensembles.local.explanation import NOT_REACHED, Explanation, NodeAccount, Value
from beam_ensembles.runtime.row_source import score
from beam_ensembles.types import Type

_POLICIES: Final = {
    "fail_row": "on_error: fail_row: the row fails",
    "nullify": "on_error: nullify: its columns are null",
    "default": "on_error: default: its columns have the defaults",
    "fail": "on_error: fail: the whole run fails",
}


def explain_row(
    graph: EnsembleGraph, code: StageCode, stage: LoadedStage, row: Sequence[Any], name: str = ""
) -> Explanation:
    """Scores one row and returns what each node did with it.

    Args:
        graph: The ensemble.
        code: Its one stage.
        stage: The stage, loaded.
        row: A chunk of one row.
        name: What names the row.
    """
    recorder, failure = NodeRecorder(), None
    outputs: tuple[Value, ...] = ()
    try:
        scored = score(code, stage, row, recorder)
    except NodeFailed as error:
        failure = RowFailure(0, error.node, error)
    else:
        failure = next(iter(scored.failures), None)
        if failure is None:
            outputs = tuple(
                Value(column, str(type_), values[0])
                for (column, type_), values in zip(code.outputs, scored.added, strict=True)
            )
    story = _Story(graph, recorder.records)
    inputs = tuple(story.values(name for name, _ in graph.columns_read)) or _as_given(graph, code, row)
    failed = "" if failure is None else _said(failure)
    accounts = tuple(map(story.account, code.nodes))
    return Explanation(graph, name, inputs, accounts, tuple(story.with_origin(outputs)), failed)


def _said(failure: RowFailure) -> str:
    place = f"node '{failure.node}'" if failure.node else "the row itself"
    return f"{place}: [{failure.error.code}] {failure.error.message}"


def _as_given(graph: EnsembleGraph, code: StageCode, row: Sequence[Any]) -> tuple[Value, ...]:
    """Returns the row's fields as they came: no node has seen them, so they may not be as declared."""
    return tuple(
        Value(column, str(type_), code.form.values(row, column)[0]) for column, type_ in graph.columns_read
    )


class _Story:
    """Reads from records what nodes did with the one row of a batch.

    Args:
        graph: The ensemble.
        records: What each node noted.
    """

    def __init__(self, graph: EnsembleGraph, records: Sequence[NodeRecord]) -> None:
        self._records = {record.name: record for record in records}
        self._makers = {column: node for node in graph.nodes for column in node.outputs}
        self._types: dict[str, Type] = dict(graph.columns_read)
        self._columns: dict[str, np.ndarray] = {}
        for node in graph.nodes:
            self._types |= node.outputs
        for record in records:
            self._columns |= record.read
            self._columns |= record.made

    def values(self, columns: Iterable[str]) -> list[Value]:
        """Returns those of some columns that the row has got."""
        return [self._value(name) for name in columns if len(self._columns.get(name, ()))]

    def with_origin(self, values: Iterable[Value]) -> list[Value]:
        """Returns values, the nulls among them with where they began."""
        return [
            Value(one.column, one.type, one.value, self._origin(one.column)) if one.value is None else one
            for one in values
        ]

    def account(self, node: CheckedNode) -> NodeAccount:
        """Returns what a node did."""
        record, spec = self._records.get(node.spec.name), node.spec
        runs, shadow = f"{spec.kind}: {spec.target}", spec.shadow_of or ""
        if record is None:
            return NodeAccount(spec.name, runs, NOT_REACHED, when=spec.when or "", shadow_of=shadow)
        error, state = record.faults.get(0), record.state(0)
        is_known = spec.when is not None and (state == SKIPPED or bool(record.runs[0]))
        return NodeAccount(
            spec.name,
            runs,
            state,
            tuple(self.values(node.inputs)),
            tuple(self.values(node.outputs)) if len(record.left) else (),
            spec.when or "",
            state != SKIPPED if is_known else None,
            tuple(self.values(node.condition)),
            "" if error is None else error.code,
            "" if error is None else error.message,
            "" if error is None else _POLICIES[node.on_error.action],
            record.nanoseconds / 1e6,
            shadow,
        )

    def _value(self, column: str) -> Value:
        type_ = self._types[column]
        known: Columns = self._columns
        if not valid_rows(known, column)[0]:
            return Value(column, str(type_), None, self._origin(column))
        (value,) = to_values(self._columns[column][:1], type_)
        return Value(column, str(type_), value, self._origin(column) if value is None else "")

    def _origin(self, column: str) -> str:
        """Returns where a null began: followed back through nodes that passed it on."""
        while (node := self._makers.get(column)) is not None:
            name = node.spec.name
            record = self._records.get(name)
            state = ANSWERED if record is None else record.state(0)
            if state != ANSWERED:
                return f"null since '{name}' {'was skipped' if state == SKIPPED else FAILED}"
            earlier = next((one for one in node.inputs if self._is_null(one)), None)
            if earlier is None:
                return f"null since '{name}' answered null"
            column = earlier
        return f"null since the row's '{column}' is null"

    def _is_null(self, column: str) -> bool:
        known: Mapping[str, np.ndarray] = self._columns
        return column in known and not valid_rows(known, column)[:1].all()
