"""The ways on which rows go through an ensemble: one by one or in Arrow, through one stage or through several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from beam_ensembles.columns.arrow_rows import ArrowRows
from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.columns.rows import TupleRows
from beam_ensembles.execution.loaded_stage import StageCode
from beam_ensembles.graph import EnsembleGraph, plan
from beam_ensembles.graph.planning import alive_between
from beam_ensembles.runtime.row_source import BatchResult
from beam_ensembles.runtime.stage_handler import ArrowStageHandler, StageModelHandler
from beam_ensembles.types import Array, Type, parse_type
from beam_ensembles.types import Row as Nested
from tests.support.arrow_batches import read, record_batch, stream
from tests.unit.properties.graphs import INPUTS
from tests.unit.properties.plain import Outcome, Row

FIELDS = {"id": "int64", **{name: type_.rstrip("?") + "?" for name, (_, type_) in INPUTS.items()}}


def codes(graph: EnsembleGraph, *, fused: bool) -> list[StageCode]:
    """Returns what each stage does."""
    added = tuple(name for name, _ in graph.outputs)
    form = TupleRows(tuple(FIELDS), tuple(range(len(FIELDS) + len(added))), (*FIELDS, *added))
    inputs = tuple((name, name, type_) for name, type_ in graph.columns_read)
    stages = plan(graph)
    parts = [
        (stage.nodes, alive)
        for stage, alive in zip(stages.stages, (*alive_between(graph, stages), None), strict=True)
    ]
    if fused:
        parts = [(graph.nodes, None)]
    return [StageCode(graph.spec.name, nodes, inputs, graph.outputs, form, alive) for nodes, alive in parts]


def elements_of(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Returns rows in the order of ``FIELDS``, each with its number."""
    return [(at, *(row[name] for name in INPUTS)) for at, row in enumerate(rows)]


def by_rows(graph: EnsembleGraph, rows: Sequence[Row], *, fused: bool = True) -> Outcome:
    """Scores rows that come one by one."""
    batch: Any = RowBatch(elements_of(rows))
    for code in codes(graph, fused=fused):
        handler = StageModelHandler(code)
        (batch,) = handler.run_inference(batch, handler.load_model())
    return in_order(outcomes_of(graph, batch), len(rows))


def outcomes_of(graph: EnsembleGraph, result: BatchResult) -> list[tuple[int, tuple[Any, ...]]]:
    """Returns what became of the rows of a batch, each with its id."""
    found: list[tuple[int, tuple[Any, ...]]] = []
    for row in result.ok:
        found.append((row.id, ("ok", {name: _named(getattr(row, name), of) for name, of in graph.outputs})))
    for _, row in result.failed:
        found.append((row.element.id, ("failed", row.node, row.code)))
    return found


def _named(value: Any, type_: Type) -> Any:
    """Returns rows within a value as mappings: here they are tuples in the order of their type."""
    if isinstance(type_, Array) and value is not None:
        return [_named(item, type_.element) for item in value]
    if isinstance(type_, Nested) and value is not None:
        return {name: _named(item, of) for (name, of), item in zip(type_.fields, value, strict=True)}
    return value


def by_arrow(
    graph: EnsembleGraph, rows: Sequence[Row], *, fused: bool = True
) -> tuple[Outcome, pa.Schema | None]:
    """Scores rows in an Arrow record batch; gives the schema of what came out, too, if any row did."""
    data = record_batch(FIELDS, elements_of(rows), range(len(rows)))
    batch: Any = stream(data)
    fields = tuple((name, parse_type(type_)) for name, type_ in FIELDS.items())
    layout = ArrowRows(fields, graph.outputs, tuple(range(len(FIELDS) + len(graph.outputs))))
    for code in codes(graph, fused=fused):
        handler = ArrowStageHandler(code, layout)
        (batch,) = handler.run_inference(batch, handler.load_model())
    found: list[tuple[int, tuple[Any, ...]]] = []
    scored = None if batch.ok is None else read(batch.ok)
    for row in [] if scored is None else scored.to_pylist(maps_as_pydicts="strict"):
        assert row["__event_time"] == row["id"]
        found.append((row["id"], ("ok", {name: row[name] for name, _ in graph.outputs})))
    for row in [] if batch.failed is None else read(batch.failed).to_pylist(maps_as_pydicts="strict"):
        assert row["__event_time"] == row["element"]["id"]
        found.append((row["element"]["id"], ("failed", row["node"], row["code"])))
    return in_order(found, len(rows)), None if scored is None else scored.schema


def in_order(found: list[tuple[int, tuple[Any, ...]]], count: int) -> Outcome:
    """Puts outcomes into the order of the rows, and makes sure that there is one of each."""
    assert sorted(at for at, _ in found) == list(range(count)), "every row comes out once"
    return [outcome for _, outcome in sorted(found, key=lambda pair: pair[0])]
