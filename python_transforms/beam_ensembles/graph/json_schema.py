"""The JSON Schema of ensemble files, for editors: made from the words of the language and the table of kinds.

It knows a file's shape: keys, types, choices, names. What needs a look at several places (columns, types along edges)
or at files only ``validate`` sees. It is stricter in one thing: a key without a value, which is read as if it were not
there, is mostly a value that somebody has yet to write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from beam_ensembles.graph.kinds import Kind, Kinds, Option
from beam_ensembles.spec.language import NAME_RULE, OUTPUT_KEYS, POLICY_KEYS
from beam_ensembles.spec.model import KINDS, ON_ERROR
from beam_ensembles.spec.placement import RESOURCES
from beam_ensembles.types import SCALARS

Schema = dict[str, Any]

ADDRESS: Final = (
    "https://raw.githubusercontent.com/beam-ensembles/beam-ensembles/main/"
    "python_transforms/beam_ensembles/ensemble.schema.json"
)
"""Where the schema of the newest version is, for the line that editors read."""

_PARAMETER: Final = r"\$\{[^{}]*\}"
# Not all editors' patterns can name the letters of other alphabets, so that whatever is not ASCII passes for one.
_NAME: Final = r"(?!__)[^\x00-\x40\x5b-\x5e\x60\x7b-\x7f][^\x00-\x2c\x2e\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]*"
_NESTED: Final = r"array\s*<.+>\s*(?:\[[\d\s,]+\]\s*)?|map\s*<.+,.+>|row\s*<.+:.+>|optional\s*<.+>"
_TYPE: Final = rf"\s*(?:{'|'.join(SCALARS)}|{_NESTED})\s*\??\s*"
_KEYS: Final = {
    "model": "Runs a model; the value says of which framework, or on which server.",
    "combine": "Makes one prediction of several; the value says how.",
    "route": "Says in a column which arm a row takes; the value says how that is chosen.",
    "apply": "Computes columns from columns; the value says what.",
}
"""What each of the keys means of which a node has one."""


def file_schema(kinds: Kinds) -> Schema:
    """Gives the JSON Schema (draft 2020-12) of ensemble files.

    Args:
        kinds: The table of all kinds.
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
            "ensemble": _named("name", "The ensemble's name: a part of step names and metrics."),
            "description": {"type": "string", "description": "What it is for, in free text."},
            "inputs": {
                "description": "The columns that it reads from a row, with their types: the contract with the caller.",
                **_mapping("type"),
            },
            "nodes": {"description": "What it runs, by name.", **_mapping("node")},
            "outputs": {
                "description": "The columns to add to the row; without it, those that no node reads.",
                "uniqueItems": True,
                **_list("name"),
            },
        },
        "$defs": {
            "name": _pattern(_NAME, NAME_RULE, "A name."),
            "key": {"type": "string", "pattern": f"^{_NAME}$", "patternErrorMessage": NAME_RULE},
            "type": {
                **_pattern(_TYPE, 'a type such as double or "array<double>[64]"', "A column's type."),
                "examples": [
                    *SCALARS,
                    "array<double>",
                    "array<double>[64]",
                    "map<string,double>",
                    "row<a: string, b: double>",
                ],
            },
            "expression": {"type": "string", "description": "SQL over the columns of one row."},
            "inputs": _inputs(),
            "output": _output(),
            **{key: {"description": text, **_POLICIES.get(key, {})} for key, text in _POLICY_TEXTS.items()},
            "node": _node(kinds),
            **{_definition(kind): _of_kind(kind) for kind in kinds.values()},
        },
    }


def _node(kinds: Kinds) -> Schema:
    """Gives what every node has, and for each kind what else it has."""
    return {
        "type": "object",
        "description": "Reads columns and adds columns. It has one of the keys model, combine, route and apply.",
        "properties": {
            **{key: _targets(key, kinds.values()) for key in KINDS},
            # Only named here, so that each mistake is reported once: by the kind.
            "inputs": {"description": "The columns that it reads."},
            "outputs": {"description": "The columns that it adds."},
            **{key: {"description": _POLICY_TEXTS.get(key, "")} for key in POLICY_KEYS},
        },
        "oneOf": [{"required": [key]} for key in KINDS],
        "allOf": [
            {
                "if": {"required": [kind.kind], "properties": {kind.kind: {"const": kind.name}}},
                "then": _ref(_definition(kind)),
            }
            for kind in kinds.values()
        ],
    }


def _targets(key: str, kinds: Iterable[Kind]) -> Schema:
    named = [{"const": kind.name, "description": kind.summary} for kind in kinds if kind.kind == key]
    return {"description": _KEYS[key], "anyOf": [*named, {"type": "string", "pattern": _PARAMETER}]}


def _definition(kind: Kind) -> str:
    return f"{kind.kind}_{kind.name}"


def _of_kind(kind: Kind) -> Schema:
    names = [option.name for option in kind.options]
    required = [option.name for option in kind.options if option.required]
    if kind.kind in ("model", "combine"):
        required.append("inputs")
    if "select" not in names:
        required.append("outputs")
    extra = f" Workers need 'beam-ensembles[{kind.extra}]'." if kind.extra else ""
    return {
        "description": f"{kind.summary}{extra}",
        "required": required,
        "additionalProperties": False,
        "properties": {
            kind.kind: True,
            "inputs": {"description": kind.takes, **_ref("inputs")},
            "outputs": {"description": kind.gives, **_mapping("output")},
            **{option.name: _option(option) for option in kind.options},
            **{key: _ref(key) for key in POLICY_KEYS},
        },
    }


def _option(option: Option) -> Schema:
    default = f" Default: {option.default}." if option.default else ""
    shape = _SHAPES.get(option.name, {})
    if option.choices:
        given: Schema = {"anyOf": [{"enum": list(option.choices)}, {"type": "string", "pattern": _PARAMETER}]}
    else:
        given = _ACCEPTED[option.accepts]()
    return {
        "description": f"{option.description}{default}",
        **given,
        **(shape if shape.get("type") == given.get("type") else {}),
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _named(definition: str, description: str) -> Schema:
    return {"description": description, **_ref(definition)}


def _mapping(definition: str, *, keys: str = "key") -> Schema:
    """Gives the schema of a mapping of names, or of other keys, that is not empty."""
    return {
        "type": "object",
        "minProperties": 1,
        "propertyNames": _ref(keys),
        "additionalProperties": _ref(definition),
    }


def _list(definition: str) -> Schema:
    return {"type": "array", "minItems": 1, "items": _ref(definition)}


def _pattern(pattern: str, wanted: str, description: str) -> Schema:
    """Gives the schema of a text of a form, or with a parameter in it."""
    return {
        "description": description,
        "type": "string",
        "pattern": rf"^(?:{pattern})$|{_PARAMETER}",
        "patternErrorMessage": f"{wanted}, or a parameter: ${{name}}",
    }


def _or_parameter(type_: str, wanted: str) -> Schema:
    """Gives the schema of a value that is no text: one that is given as a parameter is written as text."""
    return {
        "type": [type_, "string"],
        "pattern": f"^{_PARAMETER}$",
        "patternErrorMessage": f"{wanted}, or a parameter: ${{name}}",
    }


def _inputs() -> Schema:
    ports = {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": r"^\S+$"},
        "additionalProperties": _ref("name"),
    }
    return {
        "description": "The columns that it reads: a list is one argument; a mapping names them, {port: column}.",
        "anyOf": [_list("name"), ports],
    }


def _output() -> Schema:
    keys: Schema = {
        "from": {
            "type": "string",
            "pattern": r"^\S+$",
            "description": "The part of the answer, by the model's name for it.",
        },
        "type": _ref("type"),
    }
    return {
        "description": "A column that a node adds: its type, {from: port, type: type}, or {} where the model says it.",
        "anyOf": [
            _ref("type"),
            {"type": "null"},
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {key: keys.get(key, True) for key in OUTPUT_KEYS},
            },
        ],
    }


def _secret() -> Schema:
    secret = {
        "type": "object",
        "required": ["secret"],
        "properties": {
            "secret": {
                "type": "string",
                "description": "Where workers find it: env:NAME or file:/absolute/path.",
            },
            "prefix": {"type": "string", "description": "What stands before it, such as 'Bearer '."},
        },
    }
    return {"anyOf": [{"type": "string"}, secret]}


_ACCEPTED: Final[Mapping[str, Callable[[], Schema]]] = {
    "string": lambda: {"type": "string"},
    "string or secret": _secret,
    "integer": lambda: _or_parameter("integer", "a whole number"),
    "number": lambda: _or_parameter("number", "a number"),
    "boolean": lambda: _or_parameter("boolean", "true or false"),
    "list": lambda: {"type": "array"},
    "mapping": lambda: {"type": "object"},
    "columns": lambda: {"anyOf": [_ref("name"), _inputs()]},
}
"""The schema of each kind of value that an option accepts."""

_SHAPES: Final[Mapping[str, Schema]] = {
    "select": {
        "type": "object",
        "minProperties": 1,
        "propertyNames": _ref("key"),
        "additionalProperties": _ref("expression"),
    },
    "cases": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["when", "arm"],
            "additionalProperties": False,
            "properties": {
                "when": _ref("expression"),
                "arm": {"type": "string", "description": "The arm's name."},
            },
        },
    },
    "passthrough": {"type": "array", "items": _ref("name")},
    "weights": {"type": "array", "items": _or_parameter("number", "a number")},
    "arms": {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": _or_parameter("integer", "a whole number"),
    },
    "labels": {"type": "array", "items": {"type": ["string", "integer"]}},
    "batch": {
        "type": "object",
        "properties": {
            "max": {
                "description": "The most rows of one call.",
                **_or_parameter("integer", "a whole number"),
            },
            "max_wait": {
                "description": "Seconds that rows may wait for others, also for those of other bundles.",
                **_or_parameter("number", "a number"),
            },
        },
    },
}
"""What is inside of lists and mappings that mean the same wherever they stand."""

_POLICY_TEXTS: Final[Mapping[str, str]] = {
    "when": "SQL condition over columns; where it does not hold, the node does not run and its columns are null.",
    "enabled": "false takes the node and its columns out of the graph.",
    "on_error": "What becomes of a row that the node fails on; without it, the row fails.",
    "shadow_of": "The node that this one runs beside and is compared with; it can never hurt a row.",
    "stage": "own gives the node a stage of its own.",
    "resources": "What its workers must have, as Beam's resource hints; such nodes get a stage of their own.",
}
"""What the keys mean that every node may have."""

_POLICIES: Final[Mapping[str, Schema]] = {
    "when": {"type": "string", "examples": ["score > 0.5", "arm = 'a'"]},
    "enabled": _or_parameter("boolean", "true or false"),
    "on_error": {
        "anyOf": [
            {"enum": [action for action in ON_ERROR if action != "default"]},
            {
                "type": "object",
                "required": ["default"],
                "additionalProperties": False,
                "properties": {
                    "default": {
                        "type": "object",
                        "description": "The value of each of its columns.",
                        "minProperties": 1,
                    }
                },
            },
            {"type": "string", "pattern": _PARAMETER},
        ]
    },
    "shadow_of": {"type": "string"},
    "stage": {"anyOf": [{"const": "own"}, {"type": "string", "pattern": _PARAMETER}]},
    "resources": {
        "type": "object",
        "additionalProperties": False,
        "properties": {hint: {"type": "string"} for hint in RESOURCES},
    },
}
