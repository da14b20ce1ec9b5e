"""What an ensemble did with one row: plain values, and the sentences about them."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.graph import EnsembleGraph

NOT_REACHED: Final = "not reached"
"""The state of a node that did not run because the row had left before."""
_LONGEST: Final = 120
_DIGITS: Final = 6


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """A column of the row.

    Attributes:
        column: The column's name.
        type: Its type, as files write it.
        value: Its value, None for null.
        began: Where a null comes from, for people; empty for others.
    """

    column: str
    type: str
    value: Any
    began: str = ""

    def text(self) -> str:
        """Returns the value as one short line."""
        shown = shown_value(self.value)
        return f"{shown}  ({self.began})" if self.began else shown

    def as_data(self) -> dict[str, Any]:
        """Returns it for programs."""
        found = {"column": self.column, "type": self.type, "value": plain(self.value)}
        return {**found, "null_began": self.began} if self.began else found


@dataclasses.dataclass(frozen=True, slots=True)
class NodeAccount:
    """What one node did with the row.

    Attributes:
        name: The node's name.
        runs: What it runs, such as ``model: sklearn``.
        state: ``answered``, ``skipped``, ``failed`` or ``not reached``.
        read: The columns that it reads.
        added: The columns that it added; none where the row left.
        when: Its condition, or empty.
        holds: Whether the condition holds; None where there is none or it cannot be told.
        judged: The columns that the condition reads.
        code: The code of its error, or empty.
        error: The message of its error, or empty.
        policy: What became of the row because of the error, or empty.
        milliseconds: How long its call took with this row alone.
        shadow_of: The node that it runs beside, or empty.
    """

    name: str
    runs: str
    state: str
    read: tuple[Value, ...] = ()
    added: tuple[Value, ...] = ()
    when: str = ""
    holds: bool | None = None
    judged: tuple[Value, ...] = ()
    code: str = ""
    error: str = ""
    policy: str = ""
    milliseconds: float = 0.0
    shadow_of: str = ""

    def as_data(self) -> dict[str, Any]:
        """Returns it for programs."""
        return {
            "node": self.name,
            "runs": self.runs,
            "state": self.state,
            "milliseconds": round(self.milliseconds, 3),
            **({"shadow_of": self.shadow_of} if self.shadow_of else {}),
            **(
                {"when": self.when, "holds": self.holds, "when_reads": _data(self.judged)}
                if self.when
                else {}
            ),
            "read": _data(self.read),
            "added": _data(self.added),
            **(
                {"error": {"code": self.code, "message": self.error, "policy": self.policy}}
                if self.code
                else {}
            ),
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Explanation:
    """What an ensemble did with one row, node by node; a notebook shows it as a picture and a table.

    Attributes:
        graph: The ensemble.
        row: What names the row, such as ``row 3``; empty where nothing does.
        inputs: The columns that it reads of the row.
        nodes: The nodes, from top to bottom.
        outputs: The columns that the ensemble adds; none where the row failed.
        failed: Why the row has no outputs, or empty.
    """

    graph: EnsembleGraph
    row: str
    inputs: tuple[Value, ...]
    nodes: tuple[NodeAccount, ...]
    outputs: tuple[Value, ...]
    failed: str = ""

    @property
    def values(self) -> Mapping[str, Value]:
        """Every column that the row has got, by name."""
        added = (value for node in self.nodes for value in node.added)
        return {value.column: value for value in (*self.inputs, *added)}

    def as_data(self) -> dict[str, Any]:
        """Returns it as plain data, as ``beam-ensembles explain --json`` prints it."""
        return {
            "ensemble": self.graph.spec.name,
            "row": self.row,
            "inputs": _data(self.inputs),
            "nodes": [node.as_data() for node in self.nodes],
            "outputs": _data(self.outputs),
            "failed": self.failed or None,
        }

    def to_svg(self) -> str:
        """Returns the picture of the ensemble with the row's values on its edges, as an SVG document."""
        from beam_ensembles.local.explanation_picture import explanation_svg

        return explanation_svg(self)

    def __repr__(self) -> str:
        from beam_ensembles.local.explanation_text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from beam_ensembles.local.explanation_picture import as_html

        return as_html(self)


def _data(values: tuple[Value, ...]) -> list[dict[str, Any]]:
    return [value.as_data() for value in values]


def plain(value: Any) -> Any:
    """Returns a value as JSON can hold it: bytes are base64, points in time and other objects their text."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def shown_value(value: Any) -> str:
    """Returns a value as people read it: on one line, few digits, the start of what is long."""
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    text = json.dumps(_rounded(plain(value)), ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def _rounded(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, list):
        return [_rounded(item) for item in value[:_LONGEST]]
    return {key: _rounded(item) for key, item in value.items()} if isinstance(value, dict) else value
