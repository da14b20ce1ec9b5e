"""The one column that every route adds: the name of the arm that a row takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.types import STRING, Type

PORT: Final = "arm"
GIVES: Final = "arm: a string, the name of the row's arm."


def settle_arm(node: NodeView) -> Mapping[str, Type | None]:
    """Checks that a route adds one column, and that it is text; reports ``unknown_port`` and ``type_mismatch``."""
    for output in node.spec.outputs[1:]:
        text = f"a route adds one column, the arm; '{node.spec.outputs[0].column}' is it already"
        node.problem("unknown_port", f"outputs.{output.column}", text)
    return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), STRING))
