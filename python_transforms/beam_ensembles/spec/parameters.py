"""Fills ``${name}`` in the plain data of a file.

A scalar that is one parameter and nothing else takes the value's own type (``weight: "${w}"`` with ``2`` is a
number); inside longer text the value is put in as text. In an expression a value becomes a literal (``literals.py``),
never code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from beam_ensembles.errors import WHOLE_FILE, Problem, listed, nearest
from beam_ensembles.limits import LONGEST_FILLED, LONGEST_PARAMETER, MOST_PARAMETERS
from beam_ensembles.messages.printable import truncate
from beam_ensembles.messages.wording import nearest_of
from beam_ensembles.spec.language import EXPRESSION_KEYS, PARAMETERS
from beam_ensembles.spec.mistakes import Mistakes
from beam_ensembles.spec.places import below
from beam_ensembles.spec.sql_literals import PARAMETER, LiteralError, bound
from beam_ensembles.spec.yaml_scalars import plain_value


def fill(data: Any, parameters: Mapping[str, str]) -> tuple[Any, list[Problem]]:
    """Fills every parameter of a file.

    Args:
        data: The file's plain data.
        parameters: Text by name.

    Returns:
        The data with the values filled in (as it is where one is missing), and a problem for each such place.
    """
    if too_many := _too_many(parameters):
        return data, [Problem(WHOLE_FILE, "too_large", too_many)]
    filler = _Filler(parameters)
    return filler.fill(data, WHOLE_FILE, ()), filler.problems


def _too_many(parameters: Mapping[str, str]) -> str | None:
    """Returns which limit a call's parameters exceed, if any."""
    if len(parameters) > MOST_PARAMETERS:
        return f"a call may have at most {MOST_PARAMETERS:,} parameters, found {len(parameters):,}"
    for name, value in parameters.items():
        longest = max(len(name), len(value))
        if longest > LONGEST_PARAMETER:
            what = truncate(repr(name), 60)
            return f"the parameter {what} has {longest:,} characters; one has {LONGEST_PARAMETER:,} at most"
    return None


def names_in(data: Any) -> frozenset[str]:
    """Returns the names of all parameters of a file.

    Args:
        data: The file's plain data.
    """
    filler = _Filler({})
    filler.fill(data, WHOLE_FILE, ())
    return frozenset(filler.names)


def read_defaults(value: Any, names: frozenset[str], mistakes: Mistakes) -> dict[str, str]:
    """Returns the values that a file gives its parameters, as texts; those that are not right are left out.

    Args:
        value: The value of the key ``parameters``; None without one.
        names: The parameters of the file.
        mistakes: Takes what is wrong with it.
    """
    found: dict[str, str] = {}
    if value is None:
        return found
    for name, one in (mistakes.mapping(value, PARAMETERS, "{cut: 0.8}") or {}).items():
        place = below(PARAMETERS, name)
        if name not in names:
            near = nearest(name, sorted(names))
            text = f"nothing in the file reads ${{{truncate(name, 60)}}}{near}; take the line away, or use it"
            mistakes.add(place, "unknown_parameter", text)
        elif one is None or isinstance(one, dict | list) or (isinstance(one, str) and "${" in one):
            mistakes.add(place, "bad_value", "a parameter's value is a text, a number, true or false")
        else:
            found[name] = str(one).lower() if isinstance(one, bool) else str(one)
    return found


def not_known(given: Iterable[str], known: Iterable[str], what: str) -> list[str]:
    """Returns a problem for each name that is not a parameter of the file or bundle (``what``)."""
    names = sorted(known)
    there = frozenset(names)
    return [
        f"{what} has no parameter '{name}'{nearest(name, names)} (it has: {listed(names)})"
        for name in given
        if name not in there
    ]


class _Filler:
    def __init__(self, parameters: Mapping[str, str]) -> None:
        self._parameters = parameters
        self._known = sorted(parameters)
        self._characters = 0
        self.problems: list[Problem] = []
        self.names: set[str] = set()

    def fill(self, value: Any, path: str, keys: tuple[str, ...]) -> Any:
        if isinstance(value, str):
            return self._text(value, path) if "${" in value else value
        if isinstance(value, list):
            return [self.fill(item, below(path, index), (*keys, "")) for index, item in enumerate(value)]
        if isinstance(value, dict):
            return {key: self._entry(key, item, path, (*keys, key)) for key, item in value.items()}
        return value

    def _entry(self, key: str, value: Any, path: str, keys: tuple[str, ...]) -> Any:
        is_expression = len(keys) == 3 and keys[0] == "nodes" and key in EXPRESSION_KEYS
        place = below(path, key)
        return self._expressions(value, place, keys) if is_expression else self.fill(value, place, keys)

    def _expressions(self, value: Any, path: str, keys: tuple[str, ...]) -> Any:
        """Fills ``when``, the values of ``select``, and what stands under ``when`` in each of ``cases``."""
        if isinstance(value, str):
            return self._expression(value, path) if "${" in value else value
        if isinstance(value, dict):
            return {key: self._expressions(item, below(path, key), keys) for key, item in value.items()}
        if isinstance(value, list):
            return [self._case(item, below(path, index), keys) for index, item in enumerate(value)]
        return value

    def _case(self, case: Any, path: str, keys: tuple[str, ...]) -> Any:
        if not isinstance(case, dict):
            return self.fill(case, path, keys)
        return {
            key: (self._expressions if key == "when" else self.fill)(item, below(path, key), keys)
            for key, item in case.items()
        }

    def _expression(self, text: str, path: str) -> str:
        names = PARAMETER.findall(text)
        if self._lacks(names, path) or not self._fits(text, names, path):
            return text
        try:
            return bound(text, self._parameters)
        except LiteralError as error:
            self.problems.append(Problem(path, "bad_value", str(error)))
            return text

    def _lacks(self, names: list[str], path: str) -> bool:
        """Whether a parameter is missing, which is reported."""
        self.names.update(names)
        missing = [name for name in dict.fromkeys(names) if name not in self._parameters]
        if missing:
            self.problems.append(Problem(path, "missing_parameter", self._missing(missing)))
        return bool(missing)

    def _text(self, text: str, path: str) -> Any:
        names = PARAMETER.findall(text)
        if self._lacks(names, path):
            return text
        if PARAMETER.fullmatch(text):
            return plain_value(self._parameters[names[0]]) if self._fits(text, names, path) else text
        if not self._fits(text, names, path):
            return text
        return PARAMETER.sub(lambda match: self._parameters[match.group(1)], text)

    def _fits(self, text: str, names: list[str], path: str) -> bool:
        """Whether a text may be filled in; reports the first one that exceeds the limit."""
        had_room = self._characters <= LONGEST_FILLED
        self._characters += len(text) + sum(len(self._parameters[name]) for name in names)
        if had_room and self._characters > LONGEST_FILLED:
            said = f"with its parameters filled in, the file's texts have more than {LONGEST_FILLED:,} characters"
            self.problems.append(
                Problem(path, "too_large", f"{said}; give shorter values, or use them less often")
            )
        return self._characters <= LONGEST_FILLED

    def _missing(self, names: list[str]) -> str:
        what = f"the parameter{'s' if len(names) > 1 else ''} {listed([repr(name) for name in names])}"
        near = nearest_of(names[0], self._parameters) if len(names) == 1 else None
        how = "; pass it with the call, or write a default under 'parameters' in the file"
        if near is not None:
            how = f", but one for '{near}'; is one of them misspelled?"
        return f"no value was given for {what}{how} (given: {listed(self._known)})"
