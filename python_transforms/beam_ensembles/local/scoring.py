"""The one stage in which all nodes of an ensemble score chunks of rows, and what must hold for the rows' fields."""

from __future__ import annotations

from collections.abc import Mapping

from apache_beam.portability.api import schema_pb2
from apache_beam.typehints.schemas import PYTHON_ANY_URN

from beam_ensembles.beam_repairs.row_coder import RowType
from beam_ensembles.columns.schema_checks import MOST_LEVELS
from beam_ensembles.columns.schemas import field_type
from beam_ensembles.execution.loaded_stage import StageCode
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.tables.chunk import ChunkRows
from beam_ensembles.tables.formats import Columns
from beam_ensembles.transforms.binding import CallOptions, bind
from beam_ensembles.transforms.row_forms import InputRows
from beam_ensembles.types import Array, Type, depth_of, dtype_of, is_portable, row_shape


def columns_of(graph: EnsembleGraph, prefix: str = "") -> Columns:
    """Returns which fields an ensemble reads, and the columns that it adds under names with a prefix."""
    added = tuple((prefix + name, type_) for name, type_ in graph.outputs)
    return Columns(dict(graph.columns_read), added)


def stage_of(graph: EnsembleGraph, columns: Columns) -> StageCode:
    """Returns the one stage in which all nodes score chunks of rows."""
    inputs = tuple((name, name, type_) for name, type_ in graph.columns_read)
    form = ChunkRows(columns.added_names, columns.inputs)
    return StageCode(
        graph.spec.name,
        graph.nodes,
        inputs,
        graph.outputs,
        form,
        truncated=graph.spec.truncated,
        profile=graph.profile,
    )


def check_fields(graph: EnsembleGraph, fields: Mapping[str, Type | None], prefix: str = "") -> None:
    """Checks rows' fields as a pipeline's are checked.

    Args:
        graph: The ensemble.
        fields: Their types, None where the rows do not say them.
        prefix: Put before the name of every added column.

    Raises:
        InvalidRows: A field is missing, has a wrong type, or the name of an added column.
    """
    schema, graph_inputs = schema_pb2.Schema(), dict(graph.columns_read)
    for name, type_ in fields.items():
        declared = graph_inputs.get(name)
        schema.fields.add(name=name, type=_field_type(None if _is_nested(type_, declared) else type_))
    bind(graph, InputRows(schema, RowType(schema)), CallOptions(prefix=prefix))


def _is_nested(found: Type | None, declared: Type | None) -> bool:
    """Whether a field holds lists in lists where a tensor is declared: their lengths are in the values alone."""
    depth, shape = 0, row_shape(declared) if isinstance(declared, Array) else ()
    while isinstance(found, Array):
        found, depth = found.element, depth + 1
    return len(shape) == depth > 1 and found is not None and dtype_of(found) is not None


def _field_type(type_: Type | None) -> schema_pb2.FieldType:
    """Returns a field's type; one that the rows do not say, or that is nested too deep, is checked value by value."""
    if type_ is not None and is_portable(type_) and depth_of(type_) <= MOST_LEVELS:
        return field_type(type_)
    return schema_pb2.FieldType(logical_type=schema_pb2.LogicalType(urn=PYTHON_ANY_URN))
