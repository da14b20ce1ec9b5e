"""``RunEnsemble``: rows in, the same rows with the ensemble's answers out."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.portability.api import schema_pb2

from beam_ensembles.beam_repairs.row_coder import RowType
from beam_ensembles.bundles.file_names import is_bundle
from beam_ensembles.bundles.opening import open_bundle
from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.execution.provenance import with_provenance
from beam_ensembles.files.ensemble_files import Bundle, Files
from beam_ensembles.graph.kinds import added_by
from beam_ensembles.graph.model import EnsembleGraph
from beam_ensembles.runtime.ensemble_text import check_bundle_readable, read_uri
from beam_ensembles.runtime.loading import checked_with_warnings, files_of, graph_of_file
from beam_ensembles.runtime.refresh import Watch
from beam_ensembles.transforms.binding import Binding, CallOptions, bind
from beam_ensembles.transforms.config import OUTPUT, RunEnsembleConfig
from beam_ensembles.transforms.output_schema import parse_schema
from beam_ensembles.transforms.row_forms import InputRows, arrow_input_rows
from beam_ensembles.transforms.stages import run_plan, run_plan_on_arrow

ERRORS = "errors"
"""Usual tag of the error output."""


class RunEnsemble(beam.PTransform[Any, Any]):
    """Runs an ensemble over rows: each row comes out with the ensemble's columns added.

    Takes a PCollection of rows with a schema (``beam.Row``, named tuples, data classes) or of pairs of a key and such
    a row; gives rows (``beam.Row``), or pairs with the same keys. Event times and windows stay as they are. A row that
    cannot be scored fails its bundle, with one sentence that says why; ``with_errors`` returns such rows separately:

        scored = rows | RunEnsemble("digits.yaml")
        scored, errors = rows | RunEnsemble("digits.yaml").with_errors()

    Args:
        file: The ensemble file, YAML or JSON.
        parameters: Values of ``${name}`` in the file.
        columns: The file's input column to the row's field, where their names differ.
        prefix: Put before the name of every added column.
        pass_through: The fields of the row to keep; None keeps all.
        trust: Folders whose pickles may be loaded without a ``sha256``; the file's own folder where not given.
        provenance: Adds the column ``provenance``, a row: ``ensemble``, ``digest`` (of the file and its models),
            ``route`` (the arm of each route) and ``errors_ignored`` (nodes that failed and whose ``on_error`` let the
            row go on).
        refresh_interval_secs: How often workers look whether the file, its models or the newest match of a pattern in
            it have changed; all of it is then taken between two batches. None: they keep what they started with.

    Raises:
        InvalidEnsemble: The file is wrong; everything that is wrong is reported at once.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        parameters: Mapping[str, str] | None = None,
        columns: Mapping[str, str] | None = None,
        prefix: str = "",
        pass_through: Sequence[str] | None = None,
        trust: Sequence[str] | None = None,
        provenance: bool = False,
        refresh_interval_secs: float | None = None,
    ) -> None:
        super().__init__()
        graph = graph_of_file(file, parameters=parameters, trust=trust)
        watch = None
        if refresh_interval_secs is not None:
            _refuse_refresh(os.fspath(file))
            files, uri = files_of(file, trust), os.path.abspath(file)
            watch = Watch.of(graph, files, parameters or {}, uri, refresh_interval_secs)
        self._graph = with_provenance(graph) if provenance else graph
        self._call = CallOptions(columns=columns or {}, prefix=prefix, pass_through=pass_through, watch=watch)
        self._errors: str | None = None
        self._arrow_schema: pa.Schema | None = None

    def with_arrow_schema(self, schema: pa.Schema) -> RunEnsemble:
        """Takes a PCollection of Arrow record batches or tables, and gives such with the ensemble's columns added.

        Nothing is made a row of: this is the fastest way where the elements are in Arrow's memory already:

            tables = pipeline | beam.io.ReadFromParquetBatched("flowers.parquet")
            scored = tables | RunEnsemble("flowers.yaml").with_arrow_schema(pq.read_schema("flowers.parquet"))

        Columns that the ensemble does not read may have any of Arrow's types. With ``with_errors`` the second output
        holds record batches (or tables) too, whose ``element`` is a struct.

        Args:
            schema: The schema of every record batch.

        Raises:
            TypeError: It is not an Arrow schema.
        """
        if not isinstance(schema, pa.Schema):
            found = type(schema).__name__
            raise TypeError(
                f"with_arrow_schema takes a pyarrow.Schema, not {found}; pyarrow.schema(...) makes one"
            )
        self._arrow_schema = schema
        return self

    def with_errors(self) -> RunEnsemble:
        """Takes rows that cannot be scored on a second output instead of failing.

        Their rows are ``element`` (the row as it came), ``ensemble``, ``node``, ``code``, ``msg`` and ``stack``.
        """
        self._errors = ERRORS
        return self

    def default_label(self) -> str:
        """Names the step after the ensemble."""
        return f"RunEnsemble({self._graph.spec.name})"

    def expand(self, pcoll: beam.PCollection[Any]) -> Any:
        """Returns the scored rows, or the pair of scored rows and errors."""
        graph, call, errors, schema = self._graph, self._call, self._errors, self._arrow_schema
        if schema is None:
            outputs = run_plan(pcoll, graph, call, errors)
        else:
            rows = arrow_input_rows(schema)
            binding = bind(graph, rows, call)
            outputs = run_plan_on_arrow(pcoll, rows, graph, binding, call.watch, errors, schema)
        return outputs[OUTPUT] if self._errors is None else (outputs[OUTPUT], outputs[self._errors])


class RunEnsembleFromConfig(beam.PTransform[Any, Any]):
    """The schema transform ``run_ensemble``: what a client of any language asks the expansion service for.

    Args:
        config: What the caller said.
        files: What the ensemble may use of this and other machines.

    Raises:
        InvalidEnsemble: The ensemble is wrong; everything that is wrong is reported at once.
    """

    def __init__(self, config: RunEnsembleConfig, files: Files) -> None:
        super().__init__()
        self._errors = config.error_output
        self._rows: InputRows | None = None
        if config.is_arrow:
            schema = parse_schema(config.input_schema or b"", "input_schema")
            self._rows = InputRows(schema, RowType(schema))
        graph, files = _graph_of(config, files)
        self.bundle: Bundle | None = files.bundle
        """The bundle that the workers need, if the ensemble came in one."""
        watch = None
        if config.refresh_interval_secs is not None:
            parameters, interval = config.parameters or {}, config.refresh_interval_secs
            watch = Watch.of(graph, files, parameters, config.spec_uri, interval)
        self._graph = with_provenance(graph) if config.provenance else graph
        self._call = CallOptions(
            columns=config.columns or {},
            prefix=config.prefix or "",
            pass_through=config.pass_through,
            opaque=config.opaque or {},
            output_schema=_parsed(config.output_schema, "output_schema"),
            errors_schema=_parsed(config.errors_schema, "errors_schema"),
            watch=watch,
        )

    def expand(self, pcoll: beam.PCollection[Any]) -> dict[str, beam.PCollection[Any]]:
        """Returns the outputs by tag."""
        graph, call, errors = self._graph, self._call, self._errors
        if self._rows is None:
            return run_plan(pcoll, graph, call, errors)
        return run_plan_on_arrow(pcoll, self._rows, graph, self._arrow_binding, call.watch, errors)

    @functools.cached_property
    def _arrow_binding(self) -> Binding:
        if self._rows is None:
            raise TypeError("rows that cross as rows are bound when they are known")
        return bind(self._graph, self._rows, self._call)

    @property
    def ensemble(self) -> str:
        """The ensemble's name."""
        return self._graph.spec.name

    @property
    def plugins(self) -> Mapping[str, str]:
        """The versions of the distributions that add kinds which the ensemble uses, by name."""
        return added_by(self._graph.nodes)

    def batch_schemas(self) -> dict[str, schema_pb2.Schema]:
        """Returns the schemas of the rows in the outputs' record batches, by tag; none where rows cross as rows.

        Raises:
            InvalidEnsemble: The rows are not what the ensemble reads.
        """
        if self._rows is None:
            return {}
        outputs = self._arrow_binding.outputs
        schemas = {OUTPUT: outputs.hint.schema}
        return schemas if self._errors is None else {**schemas, self._errors: outputs.errors_hint.schema}

    def expected_schemas(self) -> dict[str, schema_pb2.Schema]:
        """Returns the schemas that the caller decodes the outputs' rows with, by tag; none for record batches."""
        if self._rows is not None:
            return {}
        given = {OUTPUT: self._call.output_schema}
        if self._errors is not None:
            given[self._errors] = self._call.errors_schema
        return {tag: schema for tag, schema in given.items() if schema is not None}


def _parsed(data: bytes | None, path: str) -> schema_pb2.Schema | None:
    return None if data is None else parse_schema(data, path)


def _graph_of(config: RunEnsembleConfig, files: Files) -> tuple[EnsembleGraph, Files]:
    """Returns the checked ensemble, and what it may use where relative URIs are relative to its base."""
    text, base_uri = config.spec, config.base_uri
    if config.spec_uri is not None and is_bundle(config.spec_uri):
        return _graph_of_bundle(config, config.spec_uri, files)
    if text is None:
        text, folder = read_uri(config.spec_uri or "", dataclasses.replace(files, shared=True))
        base_uri = base_uri or folder
    files = dataclasses.replace(files, base_uri=base_uri)
    return checked_with_warnings(text, files, config.parameters), files


def _graph_of_bundle(config: RunEnsembleConfig, uri: str, files: Files) -> tuple[EnsembleGraph, Files]:
    if config.base_uri is not None:
        text = (
            "a bundle has all that its ensemble file names, relative to nothing outside; leave base_uri out"
        )
        raise InvalidEnsemble([Problem("base_uri", "wrong_config", text)])
    if config.refresh_interval_secs is not None:
        _refuse_refresh(uri)
    check_bundle_readable(uri, dataclasses.replace(files, shared=True))
    opened = open_bundle(uri, files, config.parameters, where="spec_uri", is_asked_for=True)
    return checked_with_warnings(opened.text, opened.files, opened.parameters), opened.files


def _refuse_refresh(file: str) -> None:
    if is_bundle(file):
        text = "a bundle never changes; name the ensemble file itself, or start the pipeline anew with another bundle"
        raise InvalidEnsemble([Problem("refresh_interval_secs", "wrong_config", text)])
