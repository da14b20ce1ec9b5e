"""A text or a file to an ``EnsembleSpec``, with everything that is wrong reported together."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Mapping, Set
from typing import Any, Final

from beam_ensembles.errors import WHOLE_FILE, InvalidEnsemble, Problem, few_suggestions, listed
from beam_ensembles.limits import LONGEST_FILE, MOST_NODES
from beam_ensembles.messages.printable import truncate
from beam_ensembles.spec.document import read_document
from beam_ensembles.spec.language import INPUT_KEYS, PARAMETERS, PROFILE_KEYS, TOP_KEYS, TRUNCATE
from beam_ensembles.spec.mistakes import Mistakes
from beam_ensembles.spec.model import EnsembleSpec, NodeSpec, OptionsOf, ProfileSpec, RefreshGate
from beam_ensembles.spec.nodes import read_node
from beam_ensembles.spec.parameters import fill, names_in, read_defaults
from beam_ensembles.spec.places import above, around, below, in_order
from beam_ensembles.spec.policies import is_enabled
from beam_ensembles.types import Type, has_instants

_ZIP: Final = b"PK\3\4"
_MOST_BYTES: Final = 4 * LONGEST_FILE + 3
"""Bytes that the characters of the longest file can have, with a mark of their order."""
_PIN: Final = "a SHA-256: expected 64 hexadecimal digits"
_DIGEST: Final = re.compile(r"[0-9a-fA-F]{64}")
_REQUIRED: Final = {
    "ensemble": "the ensemble's name",
    "inputs": "the columns that it reads from a row and their types, such as {x: double}",
    "nodes": "what it runs, by name",
}


def load_text(
    text: str,
    options_of: OptionsOf,
    *,
    base_uri: str | None = None,
    parameters: Mapping[str, str] | None = None,
) -> EnsembleSpec:
    """Reads an ensemble file's text.

    Args:
        text: YAML or JSON.
        options_of: Knows the options of all kinds.
        base_uri: What relative URIs in it are relative to.
        parameters: Values of ``${name}``.

    Returns:
        What the text says; no name was looked up and no file was opened.

    Raises:
        InvalidEnsemble: With everything that is wrong with it.
    """
    spec, problems = examine_text(text, options_of, base_uri=base_uri, parameters=parameters)
    if spec is None or problems:
        raise InvalidEnsemble(problems, ensemble=spec.name if spec else None)
    return spec


def load_file(
    path: str | os.PathLike[str], options_of: OptionsOf, *, parameters: Mapping[str, str] | None = None
) -> EnsembleSpec:
    """Reads a local ensemble file; relative URIs in it are relative to its folder.

    Raises:
        InvalidEnsemble: It cannot be read, or with everything that is wrong with it.
    """
    base_uri = os.path.dirname(os.path.abspath(path))
    return load_text(read_text(path), options_of, base_uri=base_uri, parameters=parameters)


def read_text(path: str | os.PathLike[str]) -> str:
    """Returns the text of a local ensemble file.

    Raises:
        InvalidEnsemble: It cannot be opened, is too large, or is not UTF-8.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError as exc:
        message = f"there is no file '{os.fspath(path)}'"
        raise InvalidEnsemble([Problem(WHOLE_FILE, "missing_file", message)]) from exc
    except OSError as exc:
        message = f"'{os.fspath(path)}' cannot be read: {exc.strerror}"
        raise InvalidEnsemble([Problem(WHOLE_FILE, "unreadable_file", message)]) from exc
    if len(content) > _MOST_BYTES:
        message = f"the file is longer than the {LONGEST_FILE:,} characters that an ensemble file has at most"
        raise InvalidEnsemble([Problem(WHOLE_FILE, "too_large", message)])
    return decoded(content)


def decoded(content: bytes) -> str:
    """Returns the text of an ensemble file's bytes.

    Raises:
        InvalidEnsemble: They are not UTF-8, or those of a zip.
    """
    if content.startswith(_ZIP):
        message = "the file is a zip; if it is a bundle, its name must end in .ensemble.zip"
        raise InvalidEnsemble([Problem(WHOLE_FILE, "syntax", message)])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        message = f"the file is not UTF-8 text (byte {exc.start} is 0x{content[exc.start]:02x})"
        raise InvalidEnsemble([Problem(WHOLE_FILE, "syntax", message)]) from exc


def examine_text(
    text: str,
    options_of: OptionsOf,
    *,
    base_uri: str | None = None,
    parameters: Mapping[str, str] | None = None,
) -> tuple[EnsembleSpec | None, list[Problem]]:
    """Reads a text as far as it can be read, so that what is readable can be checked further.

    Args:
        text: YAML or JSON.
        options_of: Knows the options of all kinds.
        base_uri: What relative URIs in it are relative to.
        parameters: Values of ``${name}``.

    Returns:
        What could be read (None where nothing could) and what is wrong, in the order of the file. A node or a
        column that is missing from the result has a problem at its place.
    """
    with few_suggestions():
        return _examined(text, options_of, base_uri, parameters or {})


def _examined(
    text: str, options_of: OptionsOf, base_uri: str | None, parameters: Mapping[str, str]
) -> tuple[EnsembleSpec | None, list[Problem]]:
    document = read_document(text)
    if not isinstance(document.data, dict):
        return None, list(document.problems) or [_no_mapping(document.data)]
    mistakes = Mistakes()
    written = {key: value for key, value in document.data.items() if key != PARAMETERS}
    names = names_in(written)
    defaults = read_defaults(document.data.get(PARAMETERS), names, mistakes)
    data, unfilled = fill(written, {**defaults, **parameters})
    spec = _ensemble(data, options_of, base_uri, text, mistakes)
    spec = dataclasses.replace(spec, parameters=tuple(sorted(names)), defaults=defaults)
    disabled = frozenset(below("nodes", name) for name in spec.disabled)
    known = [
        *document.problems,
        *(problem for problem in unfilled if not disabled.intersection(around(problem.path))),
    ]
    # What holds a value that is not read, such as an alias, looks as if it lacked the value.
    lacking = {above(problem.path) for problem in document.problems if problem.code == "syntax"}
    found = [problem for problem in mistakes.found if problem.path not in lacking]
    return spec, in_order([*known, *without_echo(found, known)], document.places)


def without_echo(problems: Iterable[Problem], known: Iterable[Problem]) -> list[Problem]:
    """Leaves out problems at places of which something else is known to be wrong: they follow from that."""
    places = {problem.path for problem in known}
    return [problem for problem in problems if problem.path not in places]


def _no_mapping(data: Any) -> Problem:
    if data is None:
        return Problem(
            WHOLE_FILE, "empty_file", "there is nothing in it: it needs the keys ensemble, inputs, nodes"
        )
    return Problem(
        WHOLE_FILE, "wrong_type", "the file must be a mapping with the keys ensemble, inputs and nodes"
    )


def _ensemble(
    data: Mapping[str, Any], options_of: OptionsOf, base_uri: str | None, text: str, mistakes: Mistakes
) -> EnsembleSpec:
    mistakes.unknown_keys(data, TOP_KEYS, WHOLE_FILE, "an ensemble file")
    given = {key: item for key, item in data.items() if item is not None}
    for key, meaning in _REQUIRED.items():
        if key not in given:
            mistakes.add(key, "missing_key", f"the file needs the key '{key}': {meaning}")
    name = mistakes.name(given["ensemble"], "ensemble", "digits") if "ensemble" in given else None
    description = given.get("description", "")
    nodes, disabled = _nodes(given, options_of, mistakes)
    inputs = _inputs(given, mistakes)
    return EnsembleSpec(
        name=name or "",
        description=mistakes.text(description, "description", "'Votes on a handwritten digit.'") or "",
        inputs=tuple((found.column, found.type) for found in inputs),
        nodes=nodes,
        outputs=_outputs(given, mistakes, {column for columns in disabled.values() for column in columns}),
        base_uri=base_uri,
        text=text,
        disabled=disabled,
        truncated=frozenset(found.column for found in inputs if found.truncated),
        gate=_gate(given, nodes, mistakes) if "refresh" in given else None,
        profile=_profile(given, mistakes),
    )


def _gate(given: Mapping[str, Any], nodes: Iterable[NodeSpec], mistakes: Mistakes) -> RefreshGate | None:
    from beam_ensembles.spec.refresh import read_gate  # few files have one

    columns = frozenset(output.column for node in nodes for output in node.outputs)
    return read_gate(given["refresh"], columns, mistakes)


def _inputs(given: Mapping[str, Any], mistakes: Mistakes) -> tuple[InputSpec, ...]:
    if "inputs" not in given:
        return ()
    value = mistakes.mapping(given["inputs"], "inputs", '{pixels: "array<double>[64]"}')
    if value is not None and not value:
        mistakes.add("inputs", "no_inputs", "an ensemble reads at least one column of the incoming rows")
    columns = [column for column in value or {} if mistakes.is_name(column, below("inputs", column))]
    inputs = (_input(column, (value or {})[column], below("inputs", column), mistakes) for column in columns)
    return tuple(found for found in inputs if found is not None)


@dataclasses.dataclass(frozen=True, slots=True)
class InputSpec:
    """An input of the file.

    Attributes:
        column: Its name.
        type: Its type.
        truncated: Whether its points in time lose their nanoseconds.
    """

    column: str
    type: Type
    truncated: bool


def _input(column: str, value: Any, path: str, mistakes: Mistakes) -> InputSpec | None:
    truncates = False
    if isinstance(value, dict):
        mistakes.unknown_keys(value, INPUT_KEYS, path, "an input")
        truncates = _truncates(value, path, mistakes)
        if "type" not in value:
            mistakes.add(path, "missing_key", "an input needs the key 'type', such as {type: timestamp}")
            return None
        value, path = value["type"], below(path, "type")
    type_ = mistakes.type(value, path)
    if type_ is None:
        return None
    if truncates and not has_instants(type_):
        text = f"only points in time have nanoseconds, and '{column}' is {type_}; take 'nanoseconds' away"
        mistakes.add(path, "wrong_type", text)
    return InputSpec(column, type_, truncates)


def _truncates(value: Mapping[str, Any], path: str, mistakes: Mistakes) -> bool:
    if "nanoseconds" not in value:
        return False
    if value["nanoseconds"] != TRUNCATE:
        mistakes.wrong(value["nanoseconds"], below(path, "nanoseconds"), f"'{TRUNCATE}'")
    return True


def _profile(given: Mapping[str, Any], mistakes: Mistakes) -> ProfileSpec | None:
    if "profile" not in given:
        return None
    value = mistakes.mapping(given["profile"], "profile", "{uri: fraud.profile.json}")
    if value is None:
        return None
    mistakes.unknown_keys(value, PROFILE_KEYS, "profile", "a profile")
    if "uri" not in value:
        text = "a profile needs the key 'uri', such as {uri: fraud.profile.json}"
        mistakes.add("profile", "missing_key", f"{text}; beam-ensembles evaluate --profile writes the file")
        return None
    uri = mistakes.text(value["uri"], "profile.uri", "fraud.profile.json")
    pin = None if value.get("sha256") is None else mistakes.text(value["sha256"], "profile.sha256", _PIN)
    if pin is not None and not _DIGEST.fullmatch(pin):
        mistakes.add("profile.sha256", "bad_sha256", f"'{pin}' is not {_PIN}")
        return None
    return None if uri is None else ProfileSpec(uri, pin.lower() if pin else None)


def _nodes(
    given: Mapping[str, Any], options_of: OptionsOf, mistakes: Mistakes
) -> tuple[tuple[NodeSpec, ...], dict[str, tuple[str, ...]]]:
    """Reads the nodes; gives those of the graph, and the columns of the others by node."""
    if "nodes" not in given:
        return (), {}
    value = mistakes.mapping(given["nodes"], "nodes", "{forest: {model: sklearn, ...}}")
    if value is not None and not value:
        mistakes.add("nodes", "no_nodes", "an ensemble has at least one node")
    if value is not None and len(value) > MOST_NODES:
        text = f"the file has {len(value):,} nodes; an ensemble has {MOST_NODES:,} at most"
        mistakes.add("nodes", "too_large", text)
        return (), {}
    nodes: list[NodeSpec] = []
    disabled: dict[str, tuple[str, ...]] = {}
    for name, item in (value or {}).items():
        path = below("nodes", name)
        if not mistakes.is_name(name, path):
            continue
        is_part = is_enabled(item, path, mistakes)
        node = read_node(name, item, path, options_of, mistakes)
        if node is None:
            continue
        if is_part:
            nodes.append(node)
        else:
            disabled[name] = tuple(output.column for output in node.outputs)
    if disabled and not nodes and not mistakes.found:
        mistakes.add("nodes", "no_nodes", f"none of the nodes ({listed(list(disabled))}) is enabled")
    return tuple(nodes), disabled


def _outputs(given: Mapping[str, Any], mistakes: Mistakes, disabled: Set[str]) -> tuple[str, ...] | None:
    if "outputs" not in given:
        return None
    if given["outputs"] == []:
        message = "an ensemble adds at least one column; leave 'outputs' out to add those that no node reads"
        mistakes.add("outputs", "no_outputs", message)
        return None
    names = mistakes.names(given["outputs"], "outputs", "[label, confidence]")
    if isinstance(given["outputs"], list):
        _report_twice(given["outputs"], mistakes)
    left = tuple(name for name in names if name not in disabled)
    if names and not left:
        text = f"the nodes that make these columns ({listed(list(names))}) are not enabled; nothing is left to add"
        mistakes.add("outputs", "no_outputs", text)
    return left or None


def _report_twice(outputs: list[Any], mistakes: Mistakes) -> None:
    seen: set[str] = set()
    for index, name in enumerate(outputs):
        if isinstance(name, str) and name in seen:
            text = f"the column {truncate(repr(name), 60)} is named twice; name it once"
            mistakes.add(below("outputs", index), "duplicate_column", text)
        elif isinstance(name, str):
            seen.add(name)
