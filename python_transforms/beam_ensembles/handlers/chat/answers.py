"""The values of a language model's answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from beam_ensembles.columns.convert import to_column
from beam_ensembles.errors import NodeError
from beam_ensembles.files.bounded_json import check_memory
from beam_ensembles.types import Type

_FENCE: Final = "```"
_LONGEST_SHOWN: Final = 200


class Answers:
    """Reads answers as values of a node's outputs.

    Args:
        outputs: The types by the name of the property.
        choices: The allowed texts of some of them.
    """

    def __init__(self, outputs: Mapping[str, Type], choices: Mapping[str, Sequence[str]]) -> None:
        self._outputs = outputs
        self._choices = choices

    def read(self, text: str) -> dict[str, Any]:
        """Returns the value of each output.

        Args:
            text: The answer: an object in JSON, which may stand in a fenced block.

        Raises:
            NodeError: ``bad_output``: It is something else; the message says what is wrong.
        """
        held = _without_fence(text)
        try:
            check_memory(held.encode(errors="surrogatepass"))
            found = json.loads(held, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            said = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
            raise _bad(f"the answer is not JSON: {said}; it begins {_shown(text)}") from None
        if not isinstance(found, dict):
            raise _bad(f"the answer is {_shown(text)}; an object with {', '.join(self._outputs)} is wanted")
        return {name: self._value(found, name, type_) for name, type_ in self._outputs.items()}

    def _value(self, found: Mapping[str, Any], name: str, type_: Type) -> Any:
        value = found.get(name)
        if value is None and type_.nullable:
            return None
        if name not in found:
            raise _bad(f"the answer has no '{name}'; it has {_shown(', '.join(map(str, found)))}")
        column = to_column([value], type_.required(), name)
        if column.faults:
            raise _bad(f"of the answer: {column.faults[0].message}")
        if name in self._choices and value not in self._choices[name]:
            allowed = ", ".join(map(repr, self._choices[name]))
            raise _bad(f"'{name}' of the answer is {_shown(str(value))}; allowed: {_shown(allowed, 400)}")
        return value


def _without_fence(text: str) -> str:
    """Returns what is in a fenced block that is the whole text, else the text.

    By hand: a regular expression took time that grew with the cube of an answer's empty lines.
    """
    whole = text.strip()
    if len(whole) < 2 * len(_FENCE) or not whole.startswith(_FENCE) or not whole.endswith(_FENCE):
        return text
    first, _, rest = whole[len(_FENCE) : -len(_FENCE)].partition("\n")
    return rest if first.strip() in ("", "json") else text


def _bad(text: str) -> NodeError:
    return NodeError("bad_output", text)


def _shown(text: str, most: int = _LONGEST_SHOWN) -> str:
    return repr(text if len(text) <= most else f"{text[:most]}…")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")
