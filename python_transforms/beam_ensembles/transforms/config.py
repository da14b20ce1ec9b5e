"""The configuration of ``run_ensemble`` as every language sends it, field by field."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Final

from apache_beam.portability.api import schema_pb2

from beam_ensembles import __version__
from beam_ensembles.columns.schemas import describe
from beam_ensembles.errors import InvalidEnsemble, Problem, listed, nearest
from beam_ensembles.messages.printable import shortened
from beam_ensembles.types import STRING, Array, Map, Row, Scalar, Type, parse_type

RUN_ENSEMBLE: Final = "beam:schematransform:io.github.beamensembles:run_ensemble:v1"
"""The identifier of the schema transform."""

OUTPUT: Final = "output"
"""Tag of the main output."""

ROWS: Final = "rows"
ARROW: Final = "arrow"
ENCODINGS: Final = (ROWS, ARROW)
"""How rows cross: one element a row, or many rows in one element of bytes, an Arrow IPC stream of one record batch."""
_MOST_PROBLEMS: Final = 20


def _field(type_: str, description: str) -> Any:
    return dataclasses.field(default=None, metadata={"type": type_, "description": description})


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunEnsembleConfig:
    """What a caller says to ``run_ensemble``; a field that is None was not given. Fields and words are the contract."""

    spec: str | None = _field("string?", "The ensemble file's text, YAML or JSON.")
    base_uri: str | None = _field(
        "string?",
        "Absolute folder or URI that relative URIs in the spec are relative to; for spec_uri its own folder.",
    )
    spec_uri: str | None = _field("string?", "Instead of spec: where the service reads the ensemble file.")
    parameters: Mapping[str, str] | None = _field(
        "map<string,string>?", "Values of ${name} in the ensemble file."
    )
    columns: Mapping[str, str] | None = _field(
        "map<string,string>?", "The file's input column: the row's field, where their names differ."
    )
    prefix: str | None = _field("string?", "Put before the name of every added column.")
    pass_through: tuple[str, ...] | None = _field(
        "array<string>?", "Which of the row's own fields the output keeps; all where absent."
    )
    provenance: bool | None = _field(
        "boolean?",
        "Adds the column 'provenance': ensemble, digest of its file and models, the arm of each route, and the nodes "
        "whose errors were ignored.",
    )
    refresh_interval_secs: int | None = _field(
        "int64?",
        "How often workers look whether the ensemble's file (spec_uri) or a file that it names has changed, to go on "
        "with what is there now; where absent they keep what they started with.",
    )
    error_handling: Mapping[str, str] | None = _field(
        "row<output: string>?",
        "Takes rows that cannot be scored on a second output of this name; without it such a row fails its bundle.",
    )
    output_schema: bytes | None = _field(
        "bytes?",
        "The schema (serialized) with which the caller decodes the output; its columns come in that order.",
    )
    errors_schema: bytes | None = _field(
        "bytes?", "The schema with which the caller decodes the error output."
    )
    opaque: Mapping[str, str] | None = _field(
        "map<string,string>?",
        "Fields that travel inside the bytes column __opaque, with the caller's name of their type; models cannot "
        "read them.",
    )
    encoding: str | None = _field(
        "string?",
        "How rows cross: 'rows' (where absent), or 'arrow': the input's elements are bytes, each an Arrow IPC stream "
        "of one record batch with the fields of input_schema and __event_time, and so are the outputs'.",
    )
    input_schema: bytes | None = _field(
        "bytes?", "With encoding 'arrow': the schema (serialized) of the rows in the record batches."
    )
    client: str | None = _field("string?", "The client's language and version, such as 'go 0.1.0'.")

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> RunEnsembleConfig:
        """Creates a configuration from named values, and refuses names and values that it does not know.

        Raises:
            InvalidEnsemble: With one problem for each wrong field.
        """
        types = field_types()
        problems = [_problem(name, value, types) for name, value in given.items()]
        found = [problem for problem in problems if problem]
        if not found:
            config = cls(**{name: _frozen(value) for name, value in given.items()})
            found = [
                *config._source_problems(),
                *config._encoding_problems(),
                *config._refresh_problems(),
                *client_problems(config.client),
            ]
        if found:
            raise InvalidEnsemble(found)
        return config

    def _source_problems(self) -> list[Problem]:
        if (self.spec is None) == (self.spec_uri is None):
            count = "neither" if self.spec is None else "both"
            return [Problem("spec", "wrong_config", f"give either spec (text) or spec_uri, found {count}")]
        if self.error_handling is not None and self.error_output in ("", OUTPUT):
            where = "error_handling.output"
            return [
                Problem(
                    where, "wrong_config", f"the error output needs a name of its own, not '{OUTPUT}' or ''"
                )
            ]
        return []

    def _encoding_problems(self) -> list[Problem]:
        if self.encoding is not None and self.encoding not in ENCODINGS:
            text = f"rows cross as {listed(ENCODINGS)}, not as '{self.encoding}'"
            return [Problem("encoding", "wrong_config", text + nearest(self.encoding, ENCODINGS))]
        if self.is_arrow and self.input_schema is None:
            text = "encoding 'arrow' needs input_schema: bytes do not say which fields the rows in them have"
            return [Problem("input_schema", "wrong_config", text)]
        return []

    def _refresh_problems(self) -> list[Problem]:
        secs = self.refresh_interval_secs
        if secs is None or secs >= 1:
            return []
        text = f"refresh_interval_secs is {secs}; it is a whole number of at least 1"
        return [Problem("refresh_interval_secs", "wrong_config", text)]

    @property
    def is_arrow(self) -> bool:
        """Whether the rows cross in Arrow record batches."""
        return self.encoding == ARROW

    @property
    def error_output(self) -> str | None:
        """Name of the error output, or None where the caller takes none."""
        return None if self.error_handling is None else self.error_handling["output"]


def client_problems(client: str | None, service: str = __version__) -> list[Problem]:
    """Returns whether a client's version goes with the service's: the same first number, before 1.0 the first two.

    Args:
        client: The client's language and version (``go 0.1.0``); None where it did not say, which is taken as fitting.
        service: The service's version.
    """
    if client is None:
        return []
    language, _, version = client.rpartition(" ")
    theirs, ours = _release(version), _release(service)
    if theirs is None:
        text = f"'{client}' is not a client and version; expected a text such as 'go {service}'"
        return [Problem("client", "wrong_config", text)]
    if theirs == ours or ours is None:
        return []
    older = theirs < ours
    update = f"update the {language} client" if older else "update the service"
    text = (
        f"the {language} client is version {version} and this service is {service}, which do not go together"
    )
    return [Problem("client", "client_too_old" if older else "service_too_old", f"{text}; {update}")]


def _release(version: str) -> tuple[int, ...] | None:
    """Returns the numbers that must be equal: ``(1,)`` of 1.4.2, ``(0, 3)`` of 0.3.1."""
    found = re.match(r"(\d+)\.(\d+)(\.|$)", version)
    if not found:
        return None
    major, minor = int(found[1]), int(found[2])
    return (major,) if major else (major, minor)


def field_types() -> dict[str, Type]:
    """Returns the type of each field, in order."""
    return {field.name: parse_type(field.metadata["type"]) for field in dataclasses.fields(RunEnsembleConfig)}


def field_descriptions() -> dict[str, str]:
    """Returns the description of each field, in order."""
    return {field.name: field.metadata["description"] for field in dataclasses.fields(RunEnsembleConfig)}


def check_fields(found: Mapping[str, schema_pb2.FieldType]) -> None:
    """Checks which fields a caller's configuration has and their types, before values are decoded.

    Args:
        found: Type of each field by name.

    Raises:
        InvalidEnsemble: With one problem for each field that is unknown or of a wrong type.
    """
    types = field_types()
    problems = []
    for name, type_ in found.items():
        if name not in types:
            problems.append(_unknown(name, types))
        elif not _accepts(types[name], type_):
            text = f"'{name}' takes {types[name].required()}, found {shortened(describe(type_))}"
            problems.append(Problem(name, "wrong_type", text))
        if len(problems) == _MOST_PROBLEMS:
            break
    if problems:
        raise InvalidEnsemble(problems)


def _accepts(type_: Type, found: schema_pb2.FieldType) -> bool:
    """Whether values of a schema's type can be an option's. A row of texts may stand for a map, and a map for it."""
    info = found.WhichOneof("type_info")
    if isinstance(type_, Scalar):
        return info == "atomic_type" and found.atomic_type in _ATOMIC_TYPES[type_.name]
    if isinstance(type_, Array):
        if info != "array_type" and info != "iterable_type":
            return False
        return _accepts(type_.element, getattr(found, info).element_type)
    if info == "map_type":
        parts = [found.map_type.key_type, found.map_type.value_type]
    elif info == "row_type":
        parts = [field.type for field in found.row_type.schema.fields]
    else:
        return False
    return all(_accepts(STRING, part) for part in parts)


_ATOMIC_TYPES: Final = {
    "string": (schema_pb2.STRING,),
    "bytes": (schema_pb2.BYTES,),
    "boolean": (schema_pb2.BOOLEAN,),
    "int64": (schema_pb2.BYTE, schema_pb2.INT16, schema_pb2.INT32, schema_pb2.INT64),
}


def _unknown(name: str, types: Mapping[str, Type]) -> Problem:
    said = shortened(name)
    text = f"this service knows no option '{said}'{nearest(said, types)} (options: {listed(list(types), 20)})"
    return Problem(said, "unknown_option", text)


def _problem(name: str, value: Any, types: Mapping[str, Type]) -> Problem | None:
    if name not in types:
        return _unknown(name, types)
    if value is None or _fits(value, types[name]):
        return None
    return Problem(
        name, "wrong_type", f"'{name}' takes {types[name].required()}, found {type(value).__name__}"
    )


_PYTHON_TYPES: Final = {"string": str, "bytes": bytes, "boolean": bool, "int64": int}


def _fits(value: Any, type_: Type) -> bool:
    if isinstance(type_, Scalar):
        if isinstance(value, bool) and type_.name != "boolean":
            return False
        return isinstance(value, _PYTHON_TYPES[type_.name])
    if isinstance(type_, Array):
        return isinstance(value, list | tuple) and all(_fits(item, type_.element) for item in value)
    if isinstance(type_, Map):
        items = value.items() if isinstance(value, Mapping) else [(None, None)]
        return all(_fits(key, type_.key) and _fits(item, type_.value) for key, item in items)
    names = {name for name, _ in type_.fields} if isinstance(type_, Row) else set()
    return (
        isinstance(value, Mapping) and set(value) == names and all(isinstance(v, str) for v in value.values())
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
