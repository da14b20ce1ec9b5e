"""Templates: ``{name}`` is a value, ``{{`` and ``}}`` are braces; nothing is evaluated."""

from __future__ import annotations

import dataclasses
import re
from typing import Final

from beam_ensembles.spec.language import is_name

_PIECE: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")


class TemplateError(ValueError):
    """A text is not a template; the message says why in one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """A template in its parts.

    Attributes:
        texts: The text before each name, then the text after the last one: one more than there are names.
        names: The names, as often as written.
    """

    texts: tuple[str, ...]
    names: tuple[str, ...]


def parse_template(text: str) -> Template:
    """Reads a template.

    Args:
        text: Such as ``{title}: {body}``.

    Raises:
        TemplateError: A brace has no partner, or the text in braces is not a name.
    """
    texts, names = [""], []
    for piece in _PIECE.finditer(text):
        found = piece.group()
        if piece.group(1) is not None:
            names.append(_name(piece.group(1)))
            texts.append("")
        elif found in ("{", "}"):
            raise TemplateError(
                f"the '{found}' at character {piece.start() + 1} has no partner; write '{found * 2}' for a brace"
            )
        else:
            texts[-1] += found[:1] if found in ("{{", "}}") else found
    return Template(tuple(texts), tuple(names))


def _name(text: str) -> str:
    if not is_name(text):
        raise TemplateError(
            f"{{{text}}} names nothing; write a column's name alone in braces, such as {{title}}; "
            "'{{' is a brace itself"
        )
    return text
