"""The keys that every node of an ensemble file may have, as pieces of its JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from beam_ensembles.graph.json_schema.values import PARAMETER, Schema, or_parameter
from beam_ensembles.spec.language import POLICY_KEYS
from beam_ensembles.spec.model import ON_ERROR
from beam_ensembles.spec.placement import RESOURCES


def policy_schemas() -> dict[str, Schema]:
    """Returns the schema of each key, with what it means."""
    return {key: {**policy_text(key), **_SCHEMAS.get(key, {})} for key in POLICY_KEYS}


def policy_text(key: str) -> Schema:
    """Returns only what a key means."""
    return {"description": _TEXTS.get(key, "")}


_TEXTS: Final[Mapping[str, str]] = {
    "when": "SQL condition over columns; where it does not hold, the node does not run and its columns are null.",
    "enabled": "false takes the node and its columns out of the graph.",
    "on_error": "What becomes of a row that the node fails on; without it, the row fails.",
    "shadow_of": "The node that this one runs beside and is compared with; it can never fail a row.",
    "tolerance": "By how much numbers of a shadow may differ from the other node's and still agree.",
    "stage": "own gives the node a stage of its own.",
    "isolate": "process gives the node a process of its own, which is ended where it takes longer than its timeout.",
    "resources": "What its workers must have, as Beam's resource hints; such nodes get a stage of their own.",
}
"""What the keys mean that every node may have."""

_SCHEMAS: Final[Mapping[str, Schema]] = {
    "when": {"type": "string", "examples": ["score > 0.5", "arm = 'a'"]},
    "enabled": or_parameter("boolean", "true or false"),
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
            {"type": "string", "pattern": PARAMETER},
        ]
    },
    "shadow_of": {"type": "string"},
    "tolerance": or_parameter("number", "a number of at least 0"),
    "stage": {"anyOf": [{"const": "own"}, {"type": "string", "pattern": PARAMETER}]},
    "isolate": {"anyOf": [{"const": "process"}, {"type": "string", "pattern": PARAMETER}]},
    "resources": {
        "type": "object",
        "additionalProperties": False,
        "properties": {hint: {"type": "string"} for hint in RESOURCES},
    },
}
