"""One node's plain data to a ``NodeSpec``: its kind, what it reads, what it adds, and its kind's own keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import nearest
from beam_ensembles.limits import LONGEST_NAME
from beam_ensembles.messages.printable import is_visible, truncate
from beam_ensembles.spec.language import OUTPUT_KEYS, PASSTHROUGH, POLICY_KEYS, SELECT
from beam_ensembles.spec.lookup_keys import with_key
from beam_ensembles.spec.mistakes import Mistakes
from beam_ensembles.spec.model import KINDS, Inputs, NodeSpec, OptionsOf, OutputSpec
from beam_ensembles.spec.node_expressions import with_expressions
from beam_ensembles.spec.placement import isolated, own_stage, resources
from beam_ensembles.spec.places import below
from beam_ensembles.spec.policies import with_policies

_OWN_KEYS: Final = (*KINDS, *POLICY_KEYS, "inputs", "outputs")
_EXAMPLES: Final = {"model": "sklearn", "combine": "mean", "route": "split", "apply": "sql"}
"""A value of each of the four keys, for messages; the table of kinds has them all."""
_PORT: Final = re.compile(r"\S(?:.*\S)?")


def read_node(name: str, value: Any, path: str, options_of: OptionsOf, mistakes: Mistakes) -> NodeSpec | None:
    """Reads one node as far as it can be read.

    Args:
        name: The node's name.
        value: The value at its key in the file.
        path: The node's place.
        options_of: Knows the options of all kinds.
        mistakes: Takes what is wrong.

    Returns:
        The node with what could be read (an empty ``kind`` or ``target`` where there is none), or None where
        it is not a mapping.
    """
    found = mistakes.mapping(value, path, "{model: sklearn, uri: ..., inputs: [...], outputs: {...}}")
    if found is None:
        return None
    given = {key: item for key, item in found.items() if item is not None}
    kind, target = _kind(given, path, mistakes)
    options = options_of(kind, target)
    node = NodeSpec(
        name=name,
        kind=kind,
        target=target,
        inputs=_inputs(given, path, options, mistakes),
        outputs=_outputs(given, path, options, mistakes),
        options={key: item for key, item in given.items() if key not in _OWN_KEYS},
        own_stage=own_stage(given, path, mistakes),
        resources=resources(given, path, mistakes),
        isolated=isolated(given, path, mistakes),
    )
    node = with_key(with_expressions(node, given, path, options, mistakes), given, path, options, mistakes)
    return with_policies(node, given, path, mistakes)


def _kind(given: Mapping[str, Any], path: str, mistakes: Mistakes) -> tuple[str, str]:
    kinds = [key for key in KINDS if key in given]
    if not kinds:
        near = next((hint for key in given if key not in _OWN_KEYS and (hint := nearest(key, KINDS))), "")
        mistakes.add(path, "no_kind", f"a node needs one of the keys {', '.join(KINDS)}: what it runs{near}")
        return "", ""
    if len(kinds) > 1:
        message = f"a node runs one thing, but this one has {' and '.join(kinds)}; make it several nodes"
        mistakes.add(path, "several_kinds", message)
        return "", ""
    kind = kinds[0]
    return kind, mistakes.text(given[kind], below(path, kind), _EXAMPLES[kind]) or ""


def _inputs(
    given: Mapping[str, Any], path: str, options: Mapping[str, str], mistakes: Mistakes
) -> Inputs | None:
    place = below(path, "inputs")
    if "inputs" not in given:
        if "model" in given or "combine" in given:
            mistakes.add(
                place, "missing_key", "a node needs inputs: the columns that it reads, such as [pixels]"
            )
        return None
    value = given["inputs"]
    if value in ([], {}):
        mistakes.add(place, "no_inputs", "a node reads at least one column")
        return None
    if isinstance(value, dict):
        return _ports(value, place, mistakes)
    if options.get(PASSTHROUGH) == "list" and PASSTHROUGH in given:
        members = mistakes.names(value, place, "[forest, network]")
        passed = mistakes.names(given[PASSTHROUGH], below(path, PASSTHROUGH), "[age, amount]")
        return Inputs((*members, *passed), passed=len(passed))
    return Inputs(mistakes.names(value, place, "[pixels], or a mapping such as {X: pixels}"))


def _ports(value: Mapping[str, Any], place: str, mistakes: Mistakes) -> Inputs:
    named: dict[str, str] = {}
    for port, value_there in value.items():
        path = below(place, port)
        column = mistakes.name(value_there, path, "a column's name")
        if _is_port(port, path, mistakes) and column is not None:
            named[port] = column
    return Inputs(tuple(named.values()), tuple(named))


def _outputs(
    given: Mapping[str, Any], path: str, options: Mapping[str, str], mistakes: Mistakes
) -> tuple[OutputSpec, ...]:
    place = below(path, "outputs")
    if "outputs" not in given:
        return _selected(options, place, mistakes)
    value = mistakes.mapping(given["outputs"], place, "{label: string, confidence: double}")
    if value is not None and not value:
        mistakes.add(place, "no_outputs", "a node adds at least one column")
    columns = [column for column in value or {} if mistakes.is_name(column, below(place, column))]
    return tuple(_output(column, (value or {})[column], below(place, column), mistakes) for column in columns)


def _selected(options: Mapping[str, str], place: str, mistakes: Mistakes) -> tuple[OutputSpec, ...]:
    if options.get(SELECT) == "mapping":
        return ()  # its columns are added with what its expressions read
    example = "{label: string, confidence: double}"
    mistakes.add(place, "missing_key", f"a node needs outputs: the columns that it adds, such as {example}")
    return ()


def _output(column: str, value: Any, path: str, mistakes: Mistakes) -> OutputSpec:
    if value is None:
        return OutputSpec(column)
    if not isinstance(value, dict):
        return OutputSpec(column, type=mistakes.type(value, path))
    mistakes.unknown_keys(value, OUTPUT_KEYS, path, "an output")
    port, type_ = value.get("from"), value.get("type")
    if port is not None:
        port = mistakes.text(port, below(path, "from"), "the name that the model gives it")
    if port is not None and not _is_port(port, below(path, "from"), mistakes):
        port = None
    return OutputSpec(column, port, None if type_ is None else mistakes.type(type_, below(path, "type")))


def _is_port(port: str, path: str, mistakes: Mistakes) -> bool:
    if len(port) <= LONGEST_NAME and is_visible(port) and _PORT.fullmatch(port):
        return True
    mistakes.add(
        path,
        "bad_name",
        f"{truncate(repr(port), 60)} cannot be the name of a model's argument or result: it has no space at its "
        f"ends, nothing that cannot be seen, and {LONGEST_NAME} characters at most",
    )
    return False
