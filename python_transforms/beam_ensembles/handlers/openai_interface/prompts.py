"""The messages of a node: read from its file, and filled with the values of rows.

A value goes into the content of one message as it is. Whatever a row says, the roles and the number of messages are
those of the file.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.columns.value_texts import has_text, texts_of
from beam_ensembles.errors import NodeError, listed, nearest
from beam_ensembles.graph.kinds import CheckedNode, Columns, NodeView
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.spec.templates import Template, TemplateError, parse_template
from beam_ensembles.types import BYTES, Type

ROLES: Final = ("system", "developer", "user", "assistant")
FORM: Final = (
    '[{role: user, content: "Which product is this about? {ticket}"}]; a content may be a list of such texts and of '
    "{image: COLUMN}"
)
_KEYS: Final = ("role", "content")
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"RIFF", "webp"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Picture:
    """A part of a content: the picture in a column."""

    name: str


Part = Template | Picture


@dataclasses.dataclass(frozen=True, slots=True)
class Message:
    """A message of a node.

    Attributes:
        role: One of ``ROLES``.
        parts: The parts of its content.
        is_text: Whether its content is one text, not a list.
    """

    role: str
    parts: tuple[Part, ...]
    is_text: bool


class _Mistake(Exception):
    """A message that is not of the form."""

    def __init__(self, place: str, code: str, text: str) -> None:
        self.place, self.code, self.text = place, code, text
        super().__init__(text)


def names_of(spec: NodeSpec) -> Sequence[str]:
    """Returns the name of each column of ``inputs`` in the messages."""
    return spec.columns if spec.inputs is None or spec.inputs.ports is None else spec.inputs.ports


def check_messages(node: NodeView, messages: Sequence[Any]) -> None:
    """Reports messages that are not of the form, and names in them that are not those of the node's ``inputs``."""
    if node.spec.inputs is None:
        text = f"{node.spec.target} needs inputs: the columns of its messages, such as [ticket]"
        node.problem("missing_key", "inputs", text)
        return
    names = names_of(node.spec)
    used: dict[str, bool] = {}
    found: list[Message] = []
    for at, message in enumerate(messages):
        try:
            found.append(_read(message, f"messages[{at}]"))
        except _Mistake as mistake:
            node.problem(mistake.code, mistake.place, mistake.text)
    if not messages:
        node.problem("bad_value", "messages", f"'messages' is empty; write {FORM}")
    if len(found) < len(messages) or not found:
        return
    for at, message in enumerate(found):
        for name, is_picture in _names_in(message):
            if name not in names:
                known = f"(inputs: {listed(names)})"
                text = f"{{{name}}} is none of the inputs{nearest(name, names)} {known}"
                node.problem("bad_template", f"messages[{at}].content", text)
            elif used.setdefault(name, is_picture) != is_picture:
                text = f"'{name}' stands in a text and as an image; a column is one of the two"
                node.problem("bad_template", f"messages[{at}].content", text)
    for index, (name, column) in enumerate(zip(names, node.spec.columns, strict=True)):
        if name not in used:
            text = f"no message has {{{name}}}; use it there, or take it out here"
            node.problem("bad_template", node.spec.inputs.path(index), text)
        else:
            _check_type(node, index, column, is_picture=used[name])


def _check_type(node: NodeView, index: int, column: str, *, is_picture: bool) -> None:
    type_ = node.inputs.get(column)
    if type_ is None or node.spec.inputs is None or (type_ == BYTES if is_picture else has_text(type_)):
        return
    wanted = "bytes for an image" if is_picture else "texts, numbers, truth values and lists of those"
    hint = "; {image: COLUMN} sends a picture" if type_ == BYTES else ""
    text = f"'{column}' is {type_}; messages take {wanted}{hint}"
    node.problem("type_mismatch", node.spec.inputs.path(index), text)


def read_messages(messages: Sequence[Any]) -> tuple[Message, ...]:
    """Returns the messages of a node that was checked."""
    return tuple(_read(message, "") for message in messages)


def _read(message: Any, place: str) -> Message:
    if not isinstance(message, Mapping):
        raise _Mistake(place, "bad_value", f"a message is {message!r}; write {FORM}")
    for key in message:
        if key not in _KEYS:
            text = f"a message takes no key {key!r}{nearest(str(key), _KEYS)} (keys: {listed(_KEYS)})"
            raise _Mistake(f"{place}.{key}", "unknown_option", text)
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        text = f"'role' is {role!r}{nearest(str(role), ROLES)}; allowed: {listed(ROLES)}"
        raise _Mistake(f"{place}.role", "bad_value", text)
    if isinstance(content, str):
        return Message(role, (_template(content, f"{place}.content"),), is_text=True)
    if not isinstance(content, list) or not content:
        raise _Mistake(f"{place}.content", "bad_value", f"'content' is {content!r}; write {FORM}")
    parts = tuple(_part(part, f"{place}.content[{at}]") for at, part in enumerate(content))
    return Message(role, parts, is_text=False)


def _part(part: Any, place: str) -> Part:
    if isinstance(part, str):
        return _template(part, place)
    if isinstance(part, Mapping) and list(part) == ["image"] and isinstance(part["image"], str):
        return Picture(part["image"])
    raise _Mistake(place, "bad_value", f"a part of a content is {part!r}; it is a text, or {{image: COLUMN}}")


def _template(text: str, place: str) -> Template:
    try:
        return parse_template(text)
    except TemplateError as error:
        raise _Mistake(place, "bad_template", str(error)) from None


def _names_in(message: Message) -> Iterator[tuple[str, bool]]:
    for part in message.parts:
        if isinstance(part, Picture):
            yield part.name, True
        else:
            yield from ((name, False) for name in part.names)


class Prompts:
    """Fills the messages of a node.

    Args:
        node: The node, which was checked.
        messages: Its messages.
    """

    def __init__(self, node: CheckedNode, messages: Sequence[Any]) -> None:
        self._messages = read_messages(messages)
        self._columns = dict(zip(names_of(node.spec), node.spec.columns, strict=True))
        self._types: Mapping[str, Type] = node.inputs

    def of_rows(self, columns: Columns) -> list[list[dict[str, Any]] | NodeError]:
        """Returns the messages of each row, as the interface takes them; an error for a row whose image is none."""
        written: dict[str, Sequence[Any]] = {}
        for name, column in self._columns.items():
            if self._types[column].required() == BYTES:
                written[name] = [_data_url(value, column) for value in columns[column].tolist()]
            else:
                written[name] = texts_of(columns, column, self._types[column])
        rows = len(next(iter(written.values())))
        return [self._of_row({name: texts[at] for name, texts in written.items()}) for at in range(rows)]

    def _of_row(self, texts: Mapping[str, Any]) -> list[dict[str, Any]] | NodeError:
        fault = next((text for text in texts.values() if isinstance(text, NodeError)), None)
        if fault is not None:
            return fault
        return [{"role": one.role, "content": _content(one, texts)} for one in self._messages]


def _content(message: Message, texts: Mapping[str, str]) -> Any:
    parts = [
        {"type": "image_url", "image_url": {"url": texts[part.name]}}
        if isinstance(part, Picture)
        else {"type": "text", "text": _filled(part, texts)}
        for part in message.parts
    ]
    return parts[0]["text"] if message.is_text else parts


def _filled(template: Template, texts: Mapping[str, str]) -> str:
    pieces = [template.texts[0]]
    for name, text in zip(template.names, template.texts[1:], strict=True):
        pieces += [texts[name], text]
    return "".join(pieces)


def _data_url(picture: bytes, column: str) -> str | NodeError:
    kind = next((kind for start, kind in _SIGNATURES if picture.startswith(start)), None)
    if kind is None:
        return NodeError("wrong_value", f"'{column}' is not a PNG, JPEG, GIF or WEBP image")
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode('ascii')}"
