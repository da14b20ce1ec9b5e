"""What may stand where in an ensemble file, as pieces of its JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from beam_ensembles.graph.options import Option
from beam_ensembles.spec.language import INPUT_KEYS, NAME_RULE, OUTPUT_KEYS, TRUNCATE
from beam_ensembles.types import SCALARS

Schema = dict[str, Any]

PARAMETER: Final = r"\$\{[^{}]*\}"
"""The pattern of a parameter."""

# Not all editors' patterns can name the letters of other alphabets, so that whatever is not ASCII passes for one.
_NAME: Final = r"(?!__)[^\x00-\x40\x5b-\x5e\x60\x7b-\x7f][^\x00-\x2c\x2e\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]*"
_NESTED: Final = r"array\s*<.+>\s*(?:\[[\d\s,]+\]\s*)?|map\s*<.+,.+>|row\s*<.+:.+>|optional\s*<.+>"
_TYPE: Final = rf"\s*(?:{'|'.join(SCALARS)}|{_NESTED})\s*\??\s*"


def name_schema() -> Schema:
    """Returns the schema of a name that stands as a value."""
    return text_like(_NAME, NAME_RULE, "A name.")


def key_schema() -> Schema:
    """Returns the schema of a name that stands as a key, where no parameter is filled in."""
    return {"type": "string", "pattern": f"^{_NAME}$", "patternErrorMessage": NAME_RULE}


def type_schema() -> Schema:
    """Returns the schema of a column's type."""
    nested = ("array<double>", "array<double>[64]", "map<string,double>", "row<a: string, b: double>")
    return {
        **text_like(_TYPE, 'a type such as double or "array<double>[64]"', "A column's type."),
        "examples": [*SCALARS, *nested],
    }


def option_schema(option: Option) -> Schema:
    """Returns the schema of a key that a kind takes."""
    default = f" Default: {option.default}." if option.default else ""
    shape = _SHAPES.get(option.name, {})
    if option.choices:
        given: Schema = {"anyOf": [{"enum": list(option.choices)}, {"type": "string", "pattern": PARAMETER}]}
    else:
        given = _ACCEPTED[option.accepts]()
    limits = {"minimum": option.least, "maximum": option.most}
    return {
        "description": f"{option.description}{default}",
        **given,
        **{word: limit for word, limit in limits.items() if limit is not None},
        **(shape if shape.get("type") == given.get("type") else {}),
    }


def ref(name: str) -> Schema:
    """Refers to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def mapping_of(definition: str, *, keys: str = "key") -> Schema:
    """Returns the schema of a mapping of names, or of other keys, that is not empty."""
    return {
        "type": "object",
        "minProperties": 1,
        "propertyNames": ref(keys),
        "additionalProperties": ref(definition),
    }


def list_of(definition: str) -> Schema:
    """Returns the schema of a list that is not empty."""
    return {"type": "array", "minItems": 1, "items": ref(definition)}


def text_like(pattern: str, wanted: str, description: str) -> Schema:
    """Returns the schema of a text of a form, or with a parameter in it."""
    return {
        "description": description,
        "type": "string",
        "pattern": rf"^(?:{pattern})$|{PARAMETER}",
        "patternErrorMessage": f"{wanted}, or a parameter: ${{name}}",
    }


def or_parameter(type_: str, wanted: str) -> Schema:
    """Returns the schema of a value that is no text: one that is given as a parameter is written as text."""
    return {
        "type": [type_, "string"],
        "pattern": f"^{PARAMETER}$",
        "patternErrorMessage": f"{wanted}, or a parameter: ${{name}}",
    }


def profile_schema() -> Schema:
    """Returns the schema of the profile that inputs are compared with."""
    return {
        "type": "object",
        "description": "What the inputs were like: they are compared with it while the ensemble runs.",
        "required": ["uri"],
        "additionalProperties": False,
        "properties": {
            "uri": {
                "type": "string",
                "description": "The file that beam-ensembles evaluate --profile has written.",
            },
            "sha256": {
                "type": "string",
                "description": "SHA-256 of the file, 64 hexadecimal digits; any other is refused.",
            },
        },
    }


def inputs_schema() -> Schema:
    """Returns the schema of what a node reads."""
    ports = {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": r"^\S(.*\S)?$"},
        "additionalProperties": ref("name"),
    }
    return {
        "description": "The columns that it reads: a list is one argument; a mapping names them, {port: column}.",
        "anyOf": [list_of("name"), ports],
    }


def input_schema() -> Schema:
    """Returns the schema of one column that an ensemble reads."""
    keys: Schema = {
        "type": ref("type"),
        "nanoseconds": {
            "description": "What becomes of nanoseconds in timestamps; a row that has some fails without this key.",
            "enum": [TRUNCATE],
        },
    }
    return {
        "description": "A column that the ensemble reads: its type, or {type: type, nanoseconds: truncate}.",
        "anyOf": [
            ref("type"),
            {
                "type": "object",
                "required": ["type"],
                "additionalProperties": False,
                "properties": {key: keys[key] for key in INPUT_KEYS},
            },
        ],
    }


def output_schema() -> Schema:
    """Returns the schema of one column that a node adds."""
    keys: Schema = {
        "from": {
            "type": "string",
            "pattern": r"^\S(.*\S)?$",
            "description": "The part of the answer, by the model's name for it.",
        },
        "type": ref("type"),
    }
    return {
        "description": "A column that a node adds: its type, {from: port, type: type}, or {} where the model says it.",
        "anyOf": [
            ref("type"),
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
            "prefix": {"type": "string", "description": "The text before it, such as 'Bearer '."},
        },
    }
    return {"anyOf": [{"type": "string"}, secret]}


_NAMED: Final[Schema] = {
    "type": "object",
    "minProperties": 1,
    "propertyNames": ref("key"),
    "additionalProperties": {"type": "string"},
}
_ACCEPTED: Final[Mapping[str, Callable[[], Schema]]] = {
    "string": lambda: {"type": "string"},
    "string or secret": _secret,
    "integer": lambda: or_parameter("integer", "a whole number"),
    "number": lambda: or_parameter("number", "a number"),
    "boolean": lambda: or_parameter("boolean", "true or false"),
    "list": lambda: {"type": "array"},
    "mapping": lambda: {"type": "object"},
    "columns": lambda: {"anyOf": [ref("name"), list_of("name"), _NAMED]},
}
"""The schema of each kind of value that an option accepts."""

_SHAPES: Final[Mapping[str, Schema]] = {
    "select": {
        "type": "object",
        "minProperties": 1,
        "propertyNames": ref("key"),
        "additionalProperties": ref("expression"),
    },
    "cases": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["when", "arm"],
            "additionalProperties": False,
            "properties": {
                "when": ref("expression"),
                "arm": {"type": "string", "description": "The arm's name."},
            },
        },
    },
    "passthrough": {"type": "array", "items": ref("name")},
    "weights": {"type": "array", "items": or_parameter("number", "a number")},
    "arms": {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": or_parameter("integer", "a whole number"),
    },
    "labels": {"type": "array", "items": {"type": ["string", "integer"]}},
    "batch": {
        "type": "object",
        "properties": {
            "max": {
                "description": "The most rows of one call.",
                **or_parameter("integer", "a whole number"),
            },
            "max_bytes": {
                "description": "The most bytes of one call, about.",
                **or_parameter("integer", "a whole number"),
            },
            "min": {
                "description": "Rows of a bundle are put together to batches of at least so many.",
                **or_parameter("integer", "a whole number"),
            },
            "max_wait": {
                "description": "Seconds that rows may wait for others, also for those of other bundles.",
                **or_parameter("number", "a number"),
            },
        },
    },
}
"""The contents of lists and mappings that mean the same everywhere."""
