"""The JSON Schema of ensemble files, for editors: made from the words of the language and the table of kinds.

It knows a file's shape: keys, types, choices, names. What needs a look at several places (columns, types along edges)
or at files only ``validate`` sees. It is stricter in one thing: a key without a value, which is read as if it were not
there, is mostly a value that somebody has yet to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from beam_ensembles.graph.json_schema.policies import policy_schemas, policy_text
from beam_ensembles.graph.json_schema.values import (
    PARAMETER,
    Schema,
    input_schema,
    inputs_schema,
    key_schema,
    list_of,
    mapping_of,
    name_schema,
    option_schema,
    output_schema,
    profile_schema,
    ref,
    type_schema,
)
from beam_ensembles.graph.kinds import Kind
from beam_ensembles.spec.language import POLICY_KEYS
from beam_ensembles.spec.model import KINDS

ADDRESS: Final = (
    "https://raw.githubusercontent.com/beam-ensembles/beam-ensembles/main/"
    "python_transforms/beam_ensembles/ensemble.schema.json"
)
"""Where the schema of the newest version is, for the line that editors read."""

_KEYS: Final = {
    "model": "Runs a model; the value says of which framework, or on which server.",
    "combine": "Combines several predictions into one; the value says how.",
    "route": "Writes the arm that a row takes to a column; the value says how it is chosen.",
    "apply": "Computes columns from columns; the value says what.",
}
"""What each of the keys means of which a node has one."""


def file_schema(kinds: Sequence[Kind]) -> Schema:
    """Returns the JSON Schema (draft 2020-12) of ensemble files.

    Args:
        kinds: All kinds.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ADDRESS,
        "title": "An ensemble of models",
        "description": "Which models there are, and how their answers combine: one step of a Beam pipeline.",
        "type": "object",
        "required": ["ensemble", "inputs", "nodes"],
        "additionalProperties": False,
        "properties": {
            "ensemble": {
                "description": "The ensemble's name: a part of step names and metrics.",
                **ref("name"),
            },
            "description": {"type": "string", "description": "What it is for, in free text."},
            "parameters": {
                "description": "Values of ${name} where a call has none: {cut: 0.8}.",
                "type": "object",
                "additionalProperties": {"type": ["string", "number", "boolean"]},
            },
            "inputs": {
                "description": "The columns that it reads from a row, with their types: the contract with the caller.",
                **mapping_of("input"),
            },
            "profile": profile_schema(),
            "nodes": {"description": "What it runs, by name.", **mapping_of("node")},
            "outputs": {
                "description": "The columns to add to the row; without it, those that no node reads.",
                "uniqueItems": True,
                **list_of("name"),
            },
            "refresh": {
                "description": "Which new versions a running pipeline goes on with, where it looks for them.",
                "type": "object",
                "required": ["gate"],
                "additionalProperties": False,
                "properties": {
                    "gate": {
                        "description": "What a new version is compared with: the lock beside the file.",
                        "const": "lock",
                    },
                    "max_label_changes": {
                        "description": "The share of golden rows that may have another label, such as 1%; else none.",
                        "anyOf": [
                            {"type": "number", "minimum": 0, "maximum": 1},
                            {"type": "string", "pattern": "%$"},
                        ],
                    },
                    "max_shift": {
                        "description": "By how much the numbers of an output may shift, by column.",
                        "type": "object",
                        "additionalProperties": {"type": "number", "minimum": 0},
                    },
                },
            },
        },
        "$defs": {
            "name": name_schema(),
            "key": key_schema(),
            "type": type_schema(),
            "expression": {"type": "string", "description": "SQL over the columns of one row."},
            "input": input_schema(),
            "inputs": inputs_schema(),
            "output": output_schema(),
            **policy_schemas(),
            "node": _node(kinds),
            **{_definition(kind): _of_kind(kind) for kind in kinds},
        },
    }


def _node(kinds: Sequence[Kind]) -> Schema:
    """Returns what every node has, and for each kind what else it has."""
    return {
        "type": "object",
        "description": "Reads columns and adds columns. It has one of the keys model, combine, route and apply.",
        "properties": {
            **{key: _targets(key, kinds) for key in KINDS},
            # Only named here, so that each mistake is reported once: by the kind.
            "inputs": {"description": "The columns that it reads."},
            "outputs": {"description": "The columns that it adds."},
            **{key: policy_text(key) for key in POLICY_KEYS},
        },
        "oneOf": [{"required": [key]} for key in KINDS],
        "allOf": [
            {
                "if": {"required": [kind.kind], "properties": {kind.kind: {"const": kind.name}}},
                "then": ref(_definition(kind)),
            }
            for kind in kinds
        ],
    }


def _targets(key: str, kinds: Iterable[Kind]) -> Schema:
    named = [{"const": kind.name, "description": kind.summary} for kind in kinds if kind.kind == key]
    return {"description": _KEYS[key], "anyOf": [*named, {"type": "string", "pattern": PARAMETER}]}


def _definition(kind: Kind) -> str:
    return f"{kind.kind}_{kind.name}"


def _of_kind(kind: Kind) -> Schema:
    names = [option.name for option in kind.keys]
    required = [option.name for option in kind.keys if option.required]
    if kind.kind in ("model", "combine"):
        required.append("inputs")
    if "select" not in names:
        required.append("outputs")
    extra = f" Workers need '{kind.distribution_name}[{kind.extra}]'." if kind.extra else ""
    return {
        "description": f"{kind.summary}{extra}",
        "required": required,
        "additionalProperties": False,
        "properties": {
            kind.kind: True,
            "inputs": {"description": kind.takes, **ref("inputs")},
            "outputs": {"description": kind.gives, **mapping_of("output")},
            **{option.name: option_schema(option) for option in kind.keys},
            **{key: ref(key) for key in POLICY_KEYS},
        },
    }
