"""Parameters in expressions: a value becomes a literal of SQL, whatever characters it has.

Outside quotes the value has the type that it would have in the file: ``2`` is a number, ``true`` a truth value,
anything else a text. In single quotes it is a part of the text. Double quotes hold the name of a column, and which
columns an expression reads is the file's to say.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from beam_ensembles.spec.yaml_scalars import plain_value

_PARTS: Final = re.compile(
    r"""(?P<text>'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")*")
    | (?P<open>['"].*)
    | \$\{(?P<parameter>[^{}]*)\}""",
    re.VERBOSE | re.DOTALL,
)
PARAMETER: Final = re.compile(r"\$\{([^{}]*)\}")
"""A parameter, whose name is its group."""


class LiteralError(ValueError):
    """A parameter that cannot be in an expression as it is there."""


def bound(expression: str, parameters: Mapping[str, str]) -> str:
    """Returns an expression with the values of its parameters as literals.

    Args:
        expression: SQL with ``${name}`` in it.
        parameters: The text of each.

    Raises:
        LiteralError: A value is null or not finite, or a parameter stands for the name of a column.
    """

    def part(found: re.Match[str]) -> str:
        if found["parameter"] is not None:
            literal = _literal(found["parameter"], parameters[found["parameter"]])
            before, after = expression[: found.start()][-1:], expression[found.end() :][:1]
            return f"{_gap(before)}{literal}{_gap(after)}"
        if found["text"] is not None:
            return PARAMETER.sub(lambda match: _escaped(parameters[match[1]]), found["text"])
        inside = PARAMETER.search(found["name"] or "")
        if inside is not None:
            raise LiteralError(
                f"the parameter '{inside[1]}' stands in double quotes, which hold the name of a column; without quotes "
                "it is a value, in single quotes a text"
            )
        return found[0]  # a text without an end is reported when the expression is read

    return _PARTS.sub(part, expression)


def _gap(beside: str) -> str:
    """Returns a space where a literal and the character beside it would become one word, number or text."""
    return "" if beside.isspace() or beside in "()[],<>=" else " "


def _literal(name: str, text: str) -> str:
    value = plain_value(text)
    if value is None:
        raise LiteralError(
            f"the parameter '{name}' is null here, and nothing compares with null; give it a value, or write "
            f"'${{{name}}}' in single quotes for the text {text!r}"
        )
    if isinstance(value, str):
        return f"'{_escaped(value)}'"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and not math.isfinite(value):
        raise LiteralError(
            f"the parameter '{name}' is {text.strip()}, and numbers of an expression are finite; write '${{{name}}}' "
            "in single quotes for the text"
        )
    return f"({value!r})" if value < 0 or math.copysign(1, value) < 0 else repr(value)


def _escaped(text: str) -> str:
    return text.replace("'", "''")
