"""The options of a kind: the keys that it takes on its nodes, declared once as the fields of a class.

Each kind has a subclass of ``Options``. How a node is checked, what holds where it has no such key, the JSON Schema,
``beam-ensembles list`` and docs/reference/handlers.md all come from its fields.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeVar, dataclass_transform

from beam_ensembles.errors import listed


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """What a field of ``Options`` declares.

    Attributes:
        name: The key.
        accepts: ``string``, ``string or secret``, ``integer``, ``number``, ``boolean``, ``list``, ``mapping`` or
            ``columns`` (a name, a list or a mapping).
        description: One sentence for people.
        required: Whether the node must have it.
        choices: The allowed values, where only some are.
        default: What holds where the node has none, as text for people.
        least: The least number that it may be, where there is one; only with ``most``.
        most: The greatest.
        last: Whether it is listed behind the options that are not, whichever class declares it.
    """

    name: str
    accepts: str
    description: str
    required: bool = False
    choices: tuple[str, ...] = ()
    default: str = ""
    least: int | None = None
    most: int | None = None
    last: bool = False


def option(
    default: Any,
    description: str,
    *,
    required: bool = False,
    shown: str | None = None,
    choices: Sequence[str] = (),
    accepts: str = "",
    least: int | None = None,
    most: int | None = None,
    last: bool = False,
) -> Any:
    """Declare an option: the value of a field of ``Options``, whose type says what the option accepts.

    Args:
        default: What holds where a node has no such key. Of a required one, what its kind is shown instead when it
            checks the node; what is then reported at the key is dropped, since its absence is reported.
        description: One sentence for people.
        required: Whether a node must have it.
        shown: The default as text for people, where the value does not say it.
        choices: The allowed values, where only some are.
        accepts: What it accepts, where the type does not say it (``Option.accepts``).
        least: The least number that it may be; only with ``most``.
        most: The greatest number that it may be.
        last: Whether it is listed behind the options that are not, such as one that many kinds share.
    """
    text = shown if shown is not None else "" if required else _text(default)
    declared = Option("", accepts, description, required, tuple(choices), text, least, most, last)
    metadata = {_DECLARED: declared}
    if isinstance(default, dict | list):
        return dataclasses.field(default_factory=type(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


class Mistake(NamedTuple):
    """A wrong value of an option.

    Attributes:
        place: The key, or what is wrong below it: ``batch``, ``batch.max``.
        code: The code of the problem.
        text: One sentence: what was found, and what is allowed.
    """

    place: str
    code: str
    text: str


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclasses.dataclass(frozen=True)
class Options:
    """The options of a node as the frozen dataclass of its kind; a subclass declares one with each field.

    A subclass of it is made a dataclass by itself. Its fields are those of its bases, then its own.
    """

    def mistakes(self) -> Iterator[Mistake]:
        """Finds values that are wrong although their types are right; a subclass adds its own to those of its bases.

        A key that is reported has its default when its kind checks the node.
        """
        return iter(())

    def check_node(self, node: Any) -> None:
        """Reports what only the node shows to be wrong, such as a host that nobody allowed; its kind checks it later.

        Args:
            node: The node (``kinds.NodeView``).
        """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)


O = TypeVar("O", bound=Options)  # noqa: E741 - the usual name


def read_options(declared: type[O], given: Mapping[str, Any]) -> O:
    """Returns a node's options as an object of its kind's class.

    Args:
        declared: The class.
        given: The node's own keys; those that the class does not declare are left out.
    """
    return declared(**{name: given[name] for name in declared.__dataclass_fields__ if name in given})


def declared_options(declared: type[Options]) -> tuple[Option, ...]:
    """Returns what a class declares, in the order in which people read it.

    Raises:
        TypeError: A field has no description, or a type that no option has.
    """
    return _declared_options(typing.cast(Any, declared))


@functools.cache
def _declared_options(declared: Any) -> tuple[Option, ...]:
    hints = typing.get_type_hints(declared)
    found = [_declared(field, hints[field.name]) for field in declared.__dataclass_fields__.values()]
    return tuple(sorted(found, key=lambda option: option.last))


def _declared(field: dataclasses.Field[Any], hint: Any) -> Option:
    declared: Option | None = field.metadata.get(_DECLARED)
    if declared is None:
        raise TypeError(f"an option '{field.name}' that is not declared with 'option(default, description)'")
    accepts = declared.accepts or _accepted(hint)
    if accepts not in ACCEPTS:
        shown = declared.accepts or getattr(hint, "__name__", hint)
        raise TypeError(f"an option '{field.name}' that accepts {shown!r} (allowed: {listed(list(ACCEPTS))})")
    return dataclasses.replace(declared, name=field.name, accepts=accepts)


def _accepted(hint: Any) -> str:
    """Returns what an option of a type accepts; nothing for a type that no option has."""
    if isinstance(hint, types.UnionType):
        some = [one for one in typing.get_args(hint) if one is not types.NoneType]
        return _accepted(some[0]) if len(some) == 1 else ""
    origin = typing.get_origin(hint) or hint
    if origin is Literal:
        return _accepted(type(typing.get_args(hint)[0]))
    return _OF_TYPES.get(origin, "")


def _text(default: Any) -> str:
    """Returns a default as text for people."""
    if default is None or isinstance(default, dict | list):
        return ""
    if isinstance(default, bool):
        return "true" if default else "false"
    return f"{default:g}" if isinstance(default, float) else str(default)


ACCEPTS: Final = (
    "string",
    "string or secret",
    "integer",
    "number",
    "boolean",
    "list",
    "mapping",
    "columns",
)
"""What an option may accept."""

_OF_TYPES: Final[Mapping[Any, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "list",
    Sequence: "list",
    dict: "mapping",
    Mapping: "mapping",
}
_DECLARED: Final = "declared"
