"""An explanation as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from beam_ensembles.execution.node_records import SKIPPED
from beam_ensembles.local.explanation import NOT_REACHED, Explanation, NodeAccount, Value
from beam_ensembles.messages.printable import printable

_INDENT: Final = "    "


def as_text(explanation: Explanation) -> str:
    """Returns an explanation as lines: the row, the nodes from top to bottom, the outputs."""
    named = f", {explanation.row}" if explanation.row else ""
    lines = [f"ensemble '{explanation.graph.spec.name}'{named}", *_values("reads", explanation.inputs, "  ")]
    widest = max((len(node.name) for node in explanation.nodes), default=0)
    for node in explanation.nodes:
        lines += ["", *_node(node, widest)]
    lines.append("")
    if explanation.failed:
        lines.append(f"failed at {explanation.failed}")
    else:
        lines += _values("out", explanation.outputs, "")
    return "\n".join(map(printable, lines))


def state_of(node: NodeAccount) -> str:
    """Returns what a node did in a word or two, with its time where it ran."""
    if node.state in (SKIPPED, NOT_REACHED):
        return node.state
    return f"{node.state}, {node.milliseconds:.2f} ms"


def _node(node: NodeAccount, widest: int) -> Iterator[str]:
    shadow = f", shadow of '{node.shadow_of}'" if node.shadow_of else ""
    yield f"{node.name:<{widest}}  {node.runs}{shadow}  [{state_of(node)}]"
    if node.state == NOT_REACHED:
        return
    if node.when:
        verdict = "" if node.holds is None else f"  is {'true' if node.holds else 'false'}"
        yield f"{_INDENT}when   {node.when}{verdict}"
        judged = ", ".join(f"{value.column} = {value.text()}" for value in node.judged)
        yield f"{_INDENT}       {judged}"
    yield from _values("reads", node.read, _INDENT)
    if node.code:
        yield f"{_INDENT}error  [{node.code}] {node.error}"
        yield f"{_INDENT}       {node.policy}"
    yield from _values("arm" if node.runs.startswith("route:") else "adds", node.added, _INDENT)


def _values(word: str, values: Sequence[Value], indent: str) -> Iterator[str]:
    widest = max((len(value.column) for value in values), default=0)
    for at, value in enumerate(values):
        yield f"{indent}{word if at == 0 else '':<5}  {value.column:<{widest}}  {value.text()}"
