"""``beam-ensembles plan FILE``: the stages that an ensemble runs in, why each begins, and what rows carry between."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.cli import capacity
from beam_ensembles.cli.checking import checked_or_told, contents
from beam_ensembles.cli.ensemble_file import add_file_arguments, no_file
from beam_ensembles.cli.output import print_json, say
from beam_ensembles.errors import EnsembleError
from beam_ensembles.graph import EnsembleGraph, Plan, Stage, plan
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.graph.planning import alive_between
from beam_ensembles.messages.printable import printable

DESCRIPTION: Final = """\
Show the stages that an ensemble runs in: the nodes of each, why it begins there, how its rows are batched, what its
workers must have, and which columns rows carry on. The file is checked first; nothing is run.

With --capacity, predict rows per second, time, memory and cost of a number of workers instead, from the metrics of
a small run:

  beam-ensembles run fraud.yaml --input rows.jsonl --output scored.jsonl --metrics --json > metrics.json
  beam-ensembles plan fraud.yaml --capacity metrics.json --rows 1e9 --workers 100

With --json, print an object that also has the ensemble's 'inputs' and 'outputs' with their types, the 'labels' of
outputs whose classes are known, and the 'parameters' that the file has.

exit code: 0 the plan is printed, 1 the file or the metrics are not valid, 2 wrong usage
"""
_PLANNED: Final = 0
_WRONG: Final = 1
_USAGE: Final = 2
_WIDEST: Final = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_file_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    capacity.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Plans the file and prints the stages."""
    if not os.path.isfile(args.file):
        say("plan", no_file(args.file))
        return _USAGE
    if alone := capacity.surplus(args):
        say("plan", f"{alone} needs --capacity")
        return _USAGE
    graph = checked_or_told(args)
    if graph is None:
        return _WRONG
    if args.capacity is not None:
        try:
            capacity.show(args, graph.spec.name)
        except EnsembleError as error:
            say("plan", str(error))
            return _WRONG
        return _PLANNED
    found = described(graph, plan(graph))
    if args.json:
        print_json(found)
    else:
        _print(found)
    return _PLANNED


def described(graph: EnsembleGraph, found: Plan) -> dict[str, Any]:
    """Returns a plan as plain data.

    Args:
        graph: The ensemble.
        found: Its plan.
    """
    outputs = tuple(column for column, _ in graph.outputs)
    carried = (*alive_between(graph, found), outputs)
    return {
        **contents(graph),
        "stages": [
            _stage(stage, columns, graph) for stage, columns in zip(found.stages, carried, strict=True)
        ],
    }


def _stage(stage: Stage, columns: Sequence[str], graph: EnsembleGraph) -> dict[str, Any]:
    types = dict(graph.spec.inputs) | {
        name: type_ for node in graph.nodes for name, type_ in node.outputs.items()
    }
    gathering = stage.gathering
    return {
        "name": stage.name,
        "reason": stage.reason,
        "nodes": [_node(node) for node in stage.nodes],
        "gathers": None
        if gathering is None
        else {"node": gathering.node.spec.name, "max_wait": gathering.max_wait},
        "resources": dict(stage.resources),
        "carries": {column: str(types[column]) for column in columns},
    }


def _node(node: CheckedNode) -> dict[str, Any]:
    options = node.spec.options
    return {
        "name": node.spec.name,
        "kind": node.spec.kind,
        "runs": node.spec.target,
        "when": node.spec.when,
        "shadow_of": node.spec.shadow_of,
        "batch": options.get("batch"),
        "device": options.get("device"),
        "notes": list(node.notes),
    }


def _print(found: Mapping[str, Any]) -> None:
    # Only a person who reads the table waits for it.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    stages = found["stages"]
    console = Console(highlight=False)
    count = f"{len(stages)} stage{'' if len(stages) == 1 else 's'}"
    console.print(Text(f"ensemble '{found['ensemble']}': {count}", style="bold"))
    for at, stage in enumerate(stages, 1):
        table = Table(
            title=f"{at}. {stage['name']}",
            title_justify="left",
            title_style="bold",
            show_header=False,
            width=min(console.width, _WIDEST),
        )
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold", ratio=1)
        for label, text in _lines(stage, is_last=at == len(stages)):
            table.add_row(label, Text("\n".join(map(printable, text.split("\n")))))
        console.print(table)


def _lines(stage: Mapping[str, Any], *, is_last: bool) -> Iterator[tuple[str, str]]:
    yield "why", stage["reason"]
    yield "runs", "\n".join(_runs(node) for node in stage["nodes"]) or "nothing"
    yield "batches", "\n".join(_batches(stage))
    yield "workers", "\n".join(_workers(stage)) or "any"
    columns = "\n".join(f"{column}: {type_}" for column, type_ in stage["carries"].items())
    yield "adds to the row" if is_last else "carries on", columns or "nothing but the row"


def _runs(node: Mapping[str, Any]) -> str:
    text = f"{node['name']} ({node['kind']}: {node['runs']})"
    text += f" when {node['when']}" if node["when"] else ""
    text += f", in the shadow of {node['shadow_of']}" if node["shadow_of"] else ""
    return text + "".join(f", {note}" for note in node["notes"])


def _batches(stage: Mapping[str, Any]) -> Iterator[str]:
    gathers = stage["gathers"]
    if gathers is None:
        yield "the rows of a bundle, as they come"
    elif gathers["max_wait"] is None:
        yield f"the rows of a bundle on which '{gathers['node']}' runs, put together; the others go on"
    else:
        yield (
            f"rows for '{gathers['node']}' wait up to {gathers['max_wait']:g} s for others, also of other bundles"
        )
    for node in stage["nodes"]:
        limits = [f"{key} {value}" for key, value in (node["batch"] or {}).items() if key != "max_wait"]
        if limits:
            yield f"calls of {node['name']}: {', '.join(limits)}"


def _workers(stage: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{hint}: {value}" for hint, value in stage["resources"].items())
    for node in stage["nodes"]:
        if node["device"] not in (None, "auto"):
            yield f"{node['name']} runs on the {node['device']}"
