"""Text to plain data: YAML 1.2 with the core schema, or JSON; the two read alike.

Only what a person can see on the page counts: no aliases, no tags, no merge keys, no second document, no key
twice. Keys are text as they are written, as in JSON. libyaml is asked for its events rather than for its
tree, because it builds trees by recursion and a file of a hundred thousand brackets would end the process.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from beam_ensembles.errors import WHOLE_FILE, Problem
from beam_ensembles.limits import DEEPEST_FILE, LONGEST_FILE, LONGEST_KEY, MOST_IN_PLACES
from beam_ensembles.spec.places import below
from beam_ensembles.spec.yaml_scalars import plain_value, whole_number

_TEXT_TAGS: Final = ("!", "tag:yaml.org,2002:str")
_OWN_TAGS: Final = (None, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_TYPE_IN_LINE: Final = re.compile(r"\b(array|map|row|optional)<")


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """What a text holds.

    Attributes:
        data: Mappings, lists, text, numbers, truth values and None; None where the text could not be read.
        places: Every place of the text in the order in which it is written.
        problems: The problems of the text as a text.
    """

    data: Any
    places: tuple[str, ...]
    problems: tuple[Problem, ...]


def read_document(text: str) -> Document:
    """Reads a text; never raises for what is in it."""
    if len(text) > LONGEST_FILE:
        long = f"the text has {len(text):,} characters; an ensemble file has {LONGEST_FILE:,} at most"
        return Document(None, (), (Problem(WHOLE_FILE, "too_large", long),))
    builder = _Builder()
    try:
        text.encode()
        data = _read_json(text, builder) if text.lstrip("\ufeff \t\r\n").startswith("{") else _NOT_JSON
        if data is _NOT_JSON:
            builder = _Builder()
            data = _read_yaml(text, builder)
    except _Unreadable as exc:
        return Document(None, (), (exc.problem,))
    except UnicodeError:
        halved = Problem(WHOLE_FILE, "syntax", "the text holds half a character (a lone surrogate)")
        return Document(None, (), (halved,))
    return Document(data, tuple(builder.places), tuple(builder.problems))


class _Unreadable(Exception):
    """The text cannot be read beyond this point."""

    def __init__(self, code: str, message: str) -> None:
        self.problem = Problem(WHOLE_FILE, code, message)
        super().__init__(message)


class _Builder:
    """Collects places and problems while data is put together."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.problems: list[Problem] = []
        self._characters = 0

    def start(self, path: str, line: int = 0) -> None:
        """Notes a place, where it is not known yet."""
        if path not in self.places:
            self.places[path] = line
            self._characters += len(path)
        if self._characters > MOST_IN_PLACES:
            text = "the file has too many values below long keys; give what it names shorter names"
            raise _Unreadable("too_large", text)

    def is_new(self, path: str, key: str, line: int = 0) -> bool:
        """Notes a key; reports it where the mapping has it already."""
        if len(key) > LONGEST_KEY:
            text = f"the key '{key[:20]}...' has {len(key):,} characters; a key has {LONGEST_KEY:,} at most"
            raise _Unreadable("too_large", text)
        if path not in self.places:
            self.start(path, line)
            return True
        first = self.places[path]
        where = f" (line {line})" if first == line else f" (lines {first} and {line})"
        message = f"this key stands twice in one mapping{where if line else ''}; keep one"
        self.problems.append(Problem(path, "duplicate_key", message))
        return False


def _read_yaml(text: str, builder: _Builder) -> Any:
    events = yaml.parse(text.removeprefix("\ufeff"), Loader=yaml.CSafeLoader)
    try:
        next(events)  # the start of the stream
        if isinstance(next(events), yaml.StreamEndEvent):
            return None
        data = _Tree(events, builder).value(next(events), WHOLE_FILE, 0)
        next(events)  # the end of the document
        if not isinstance(next(events), yaml.StreamEndEvent):
            message = "the file holds several documents (lines of '---'); give each a file of its own"
            raise _Unreadable("several_documents", message)
    except yaml.YAMLError as exc:
        raise _Unreadable("syntax", _syntax_message(exc, text)) from exc
    return data


class _Tree:
    """Puts plain data together from libyaml's events."""

    def __init__(self, events: Iterator[Any], builder: _Builder) -> None:
        self._events = events
        self._builder = builder

    def value(self, event: Any, path: str, depth: int) -> Any:
        self._builder.start(path, _line(event))
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, path)
        if isinstance(event, yaml.AliasEvent):
            return self._refuse(
                event, path, f"aliases (*{event.anchor}) are not part of the language; write the value out"
            )
        if depth >= DEEPEST_FILE:
            raise _Unreadable("syntax", f"{_at(event)}: nested more than {DEEPEST_FILE} deep")
        if event.tag not in _OWN_TAGS:
            self._refuse_tag(event, path)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path, depth)
        return self._list(path, depth)

    def _scalar(self, event: Any, path: str) -> Any:
        if event.tag is None:
            return plain_value(event.value) if event.implicit[0] else event.value
        return event.value if event.tag in _TEXT_TAGS else self._refuse_tag(event, path)

    def _refuse_tag(self, event: Any, path: str) -> None:
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        self._refuse(event, path, f"the tag '{tag}' is not part of the language; write plain values")

    def _refuse(self, event: Any, path: str, message: str) -> None:
        self._builder.problems.append(Problem(path, "syntax", f"{_at(event)}: {message}"))

    def _list(self, path: str, depth: int) -> list[Any]:
        found: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            found.append(self.value(event, below(path, len(found)), depth + 1))
        return found

    def _mapping(self, path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                message = f"{_at(event)}: a key is a word, not a list, a mapping or an alias"
                raise _Unreadable("syntax", message)
            place = below(path, event.value)
            is_new = self._builder.is_new(place, event.value, _line(event))
            reader = self if is_new else _Tree(self._events, _Builder())
            value = reader.value(next(self._events), place, depth + 1)
            if is_new:
                found[event.value] = value
        return found


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _at(event: Any) -> str:
    return f"line {_line(event)}, column {event.start_mark.column + 1}"


def _syntax_message(exc: yaml.YAMLError, text: str) -> str:
    mark = getattr(exc, "problem_mark", None)
    if mark is None:
        return f"not YAML: {' '.join(str(exc).split())}"
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    hint = " (a type with '<', '[' or '?' must be quoted)" if _TYPE_IN_LINE.search(line) else ""
    problem = getattr(exc, "problem", None) or "not YAML"
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}{hint}"


_NOT_JSON: Final = object()


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it is written, with the keys that stand twice."""


def _read_json(text: str, builder: _Builder) -> Any:
    """Reads JSON, or says that it is none: what starts with a brace may be YAML in flow style."""
    try:
        pairs = json.loads(
            text.removeprefix("\ufeff"),
            object_pairs_hook=_Pairs,
            parse_constant=_no_constant,
            parse_int=whole_number,
        )
    except (ValueError, RecursionError):
        return _NOT_JSON
    return _from_json(pairs, WHOLE_FILE, builder, 0)


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


def _from_json(value: Any, path: str, builder: _Builder, depth: int) -> Any:
    builder.start(path)
    if isinstance(value, str):
        value.encode()
    if not isinstance(value, list):
        return value
    if depth >= DEEPEST_FILE:
        raise _Unreadable("syntax", f"nested more than {DEEPEST_FILE} deep")
    if not isinstance(value, _Pairs):
        return [_from_json(item, below(path, index), builder, depth + 1) for index, item in enumerate(value)]
    found: dict[str, Any] = {}
    for key, item in value:
        key.encode()
        place = below(path, key)
        if builder.is_new(place, key):
            found[key] = _from_json(item, place, builder, depth + 1)
    return found
