"""The cut-offs of an ensemble file: parameters in its expressions that numbers are compared with."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import EnsembleError, listed, nearest
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.spec.document import read_document
from beam_ensembles.spec.language import CASES, SELECT
from beam_ensembles.spec.sql_literals import PARAMETER, bound
from beam_ensembles.spec.sql_tokens import Token, tokens_of
from beam_ensembles.spec.yaml_scalars import plain_value

_TEXT_OR_PARAMETER: Final = re.compile(r"'(?:[^']|'')*'|\$\{([^{}]*)\}")
_COMPARES: Final = "<>=!"
_COMPUTES: Final = "+-*/%"
_CLOSING: Final = {")": "(", "]": "["}
_OPENING: Final = {"(": ")", "[": "]"}
_WORDS: Final = frozenset(("and", "or", "not", "between", "case", "when", "then", "else", "is", "in", "like"))


@dataclasses.dataclass(frozen=True, slots=True)
class Expressions:
    """The expressions of a node as the file has them, with ``${name}`` in them.

    Attributes:
        when: Its condition, or None.
        own: The expressions of ``select`` and ``cases``, by their place.
    """

    when: str | None
    own: Mapping[str, str]

    @property
    def has_parameters(self) -> bool:
        """Whether a parameter stands in any of them."""
        return any("${" in text for text in (self.when or "", *self.own.values()))

    def reads(self, names: Sequence[str], *, in_condition: bool) -> bool:
        """Whether its condition, or its own expressions, have one of some parameters."""
        texts = [self.when or ""] if in_condition else list(self.own.values())
        return any(name in PARAMETER.findall(text) for text in texts for name in names)


@dataclasses.dataclass(frozen=True, slots=True)
class CutOff:
    """A parameter to tune.

    Attributes:
        name: Its name.
        value: Its value now, or None.
        compared: What it is compared with: the node, and the expression.
    """

    name: str
    value: float | None
    compared: tuple[tuple[str, str], ...]


def expressions_of(graph: EnsembleGraph) -> dict[str, Expressions]:
    """Returns the expressions of the nodes, by the node's name."""
    nodes = read_document(graph.spec.text).data["nodes"]
    found = {}
    for node in graph.nodes:
        raw = nodes[node.spec.name]
        own = {f"{SELECT}.{key}": text for key, text in (raw.get(SELECT) or {}).items()}
        cases = raw.get(CASES) or []
        own |= {f"{CASES}.{at}": case["when"] for at, case in enumerate(cases) if isinstance(case, dict)}
        texts = {place: text for place, text in own.items() if isinstance(text, str)}
        found[node.spec.name] = Expressions(raw.get("when"), texts)
    return found


def with_parameters(
    options: Mapping[str, Any], found: Expressions, parameters: Mapping[str, str]
) -> tuple[str | None, dict[str, Any]]:
    """Returns a node's condition and options with other values of the parameters in its expressions."""
    own = {place: bound(text, parameters) if "${" in text else text for place, text in found.own.items()}
    changed = dict(options)
    if isinstance(options.get(SELECT), Mapping):
        changed[SELECT] = {key: own.get(f"{SELECT}.{key}", text) for key, text in options[SELECT].items()}
    if isinstance(options.get(CASES), list):
        changed[CASES] = [
            {**case, "when": own.get(f"{CASES}.{at}", case["when"])} for at, case in enumerate(options[CASES])
        ]
    when = found.when
    return bound(when, parameters) if when is not None and "${" in when else when, changed


def cut_offs(
    graph: EnsembleGraph,
    expressions: Mapping[str, Expressions],
    given: Mapping[str, str],
    asked: Sequence[str],
) -> list[CutOff]:
    """Returns the cut-offs to tune.

    Args:
        graph: The ensemble.
        expressions: Those of its nodes.
        given: The values of its parameters.
        asked: The names to tune; empty: all that numbers are compared with.

    Raises:
        EnsembleError: There is none, or one that was asked for is none.
    """
    known = {name: _compared(name, expressions) for name in graph.spec.parameters}
    usable = [name for name, places in known.items() if places and _number(given.get(name)) is not None]
    for name in asked:
        if name not in known:
            raise EnsembleError(f"the file has no parameter '{name}'{nearest(name, known)}")
        if name not in usable:
            why = "its value is not a number" if known[name] else "no number is compared with it"
            text = f"'{name}' cannot be tuned: {why} in 'when', 'cases' or 'select'"
            raise EnsembleError(f'{text}; cut-offs are written as in "confidence < ${{cut}}"')
    names = list(dict.fromkeys(asked)) or usable
    if not names:
        text = (
            'the file has no cut-off to tune; write one as a parameter: when: "confidence < ${cut}", and its'
        )
        raise EnsembleError(f"{text} value under 'parameters: {{cut: 0.8}}'")
    if len(names) > 3:
        raise EnsembleError(
            f"tune at most 3 cut-offs at once (there are {listed(names)}); name them with --cut"
        )
    return [CutOff(name, _number(given.get(name)), known[name]) for name in names]


def _number(text: str | None) -> float | None:
    value = None if text is None else plain_value(text)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _compared(name: str, expressions: Mapping[str, Expressions]) -> tuple[tuple[str, str], ...]:
    found = []
    for node, one in expressions.items():
        for text in (*([one.when] if one.when else ()), *one.own.values()):
            if name in PARAMETER.findall(text):
                found += [(node, operand) for operand in operands(text, name)]
    return tuple(dict.fromkeys(found))


def operands(text: str, name: str) -> Iterator[str]:
    """Yields what a parameter is compared with in an expression.

    Args:
        text: The expression, with ``${name}`` in it.
        name: The parameter.
    """
    mark = f'"${{{name}}}"'
    marked = _TEXT_OR_PARAMETER.sub(
        lambda one: one[0] if one[1] is None else f'"{one[0]}"', text
    )  # a quoted name is one token
    tokens = [token for token in tokens_of(marked) if token.kind != "space"]
    for at, token in enumerate(tokens):
        if token.text != mark:
            continue
        beside = (tokens[other].text for other in (at - 1, at + 1) if 0 <= other < len(tokens))
        span = None if any(one in _COMPUTES for one in beside) else _before(tokens, at) or _after(tokens, at)
        if span is None or not any(_is_operand(one) for one in tokens[span[0] : span[1] + 1]):
            continue
        first, last = tokens[span[0]], tokens[span[1]]
        operand = marked[first.at : last.at + len(last.text)]
        if "${" not in operand:
            yield operand


def _before(tokens: Sequence[Token], at: int) -> tuple[int, int] | None:
    """Returns the places of the first and the last token of what stands before a comparison with a token."""
    end = at - 1
    if end >= 0 and tokens[end].word == "and":  # the upper end of BETWEEN a AND b
        while end >= 0 and tokens[end].word != "between":
            end -= 1
            if end >= 0 and tokens[end].word == "or":
                return None
    if end >= 0 and tokens[end].word == "between":
        end -= 2 if end and tokens[end - 1].word == "not" else 1
    elif end >= 0 and tokens[end].text in _COMPARES:
        while end >= 0 and tokens[end].text in _COMPARES:
            end -= 1
    else:
        return None
    return None if end < 0 else (_start(tokens, end), end)


def _start(tokens: Sequence[Token], end: int) -> int:
    at = end
    while True:
        while tokens[at].text in _CLOSING:
            at = _matching(tokens, at, -1)
            if at and (tokens[at - 1].text in _CLOSING or _is_operand(tokens[at - 1])):
                at -= 1
        if at < 2 or tokens[at - 1].text not in _COMPUTES:
            return at
        at -= 2


def _after(tokens: Sequence[Token], at: int) -> tuple[int, int] | None:
    start = at + 1
    while start < len(tokens) and tokens[start].text in _COMPARES:
        start += 1
    if start == at + 1 or start >= len(tokens):
        return None
    end = start
    while True:
        while tokens[end].text in _OPENING:
            end = _matching(tokens, end, 1)
        if end + 1 < len(tokens) and tokens[end + 1].text in _OPENING:
            end += 1
            continue
        if end + 2 >= len(tokens) or tokens[end + 1].text not in _COMPUTES:
            return start, end
        end += 2


def _matching(tokens: Sequence[Token], at: int, step: int) -> int:
    """Returns the place of the bracket that goes with one, in a direction."""
    opens, closes = (_OPENING, _CLOSING) if step > 0 else (_CLOSING, _OPENING)
    depth, end = 0, at
    while 0 <= end < len(tokens):
        depth += (tokens[end].text in opens) - (tokens[end].text in closes)
        if depth == 0:
            return end
        end += step
    return at


def _is_operand(token: Token) -> bool:
    return token.kind == "quoted" or (token.kind == "word" and token.word not in _WORDS)
