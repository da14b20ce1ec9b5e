"""The words of the language: which keys there are, and what a name may look like."""

from __future__ import annotations

import re
from typing import Final

from beam_ensembles.limits import LONGEST_NAME
from beam_ensembles.messages.printable import is_visible

TOP_KEYS: Final = (
    "ensemble",
    "description",
    "parameters",
    "inputs",
    "profile",
    "nodes",
    "outputs",
    "refresh",
)
"""The keys of a file."""

PARAMETERS: Final = "parameters"
"""The key that holds the values of the parameters for which a call has none."""

INPUT_KEYS: Final = ("type", "nanoseconds")
"""The keys of an input where it is more than a type."""

PROFILE_KEYS: Final = ("uri", "sha256")
"""The keys of a profile of the inputs."""

TRUNCATE: Final = "truncate"
"""The only value of an input's ``nanoseconds``."""

REFRESH_KEYS: Final = ("gate", "max_label_changes", "max_shift")
"""The keys of ``refresh``."""

LOCK_GATE: Final = "lock"
"""The only value of the ``gate`` of ``refresh``."""

OUTPUT_KEYS: Final = ("from", "type")
"""The keys of a node's output where it is more than a type."""

COMMON_KEYS: Final = (
    "when", "enabled", "on_error", "timeout", "retries", "isolate", "batch", "device", "resources", "stage",
    "shadow_of", "tolerance", "quorum", "samples", "per_row",
)  # fmt: skip
"""The keys that every node of the language may have."""

POLICY_KEYS: Final = (
    "when",
    "enabled",
    "on_error",
    "shadow_of",
    "tolerance",
    "stage",
    "resources",
    "isolate",
)
"""Those of them that mean the same on a node of any kind."""

SELECT: Final = "select"
CASES: Final = "cases"
PASSTHROUGH: Final = "passthrough"

EXPRESSION_KEYS: Final = ("when", SELECT, CASES)
"""The keys of a node that hold expressions: they read columns by name, and parameters are literals there."""

NAME_RULE: Final = (
    f"names start with a letter or one '_', then letters, digits, '_' and '-' follow, {LONGEST_NAME} at most"
)
"""What ``is_name`` accepts, for messages."""

_NAME: Final = re.compile(r"(?!__)[^\W\d][\w-]*")


def is_name(text: str) -> bool:
    """Returns whether an ensemble, a node or a column may be called so.

    No dots, spaces or brackets, so that a place in the file (``nodes.vote.inputs[1]``) and a metric's
    namespace stay readable; not two underscores in front, which are the clients' own columns (``__opaque``).
    """
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None and is_visible(text)
