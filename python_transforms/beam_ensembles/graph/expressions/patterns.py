"""How much work the regular expressions of a file are for whoever compiles them.

polars compiles a pattern in time that grows with what it stands for, not with its length: ``\\w{150}`` takes 60 ms and
10 MB. It keeps few, so checking a file with thousands of them would take minutes. Matching takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from beam_ensembles.graph.expressions.functions import function_name
from beam_ensembles.graph.expressions.pattern_allowance import CHARACTERS
from beam_ensembles.graph.expressions.trees import Tree, kind_of, parts
from beam_ensembles.limits import LONGEST_EXPRESSION, MOST_IN_PATTERNS
from beam_ensembles.spec.sql_tokens import ExpressionError

_WIDE: Final = {"w": 100, "W": 100, "p": 100, "P": 100, "d": 10, "D": 10, "s": 3, "S": 3}
"""Characters that a class of Unicode counts for: it is a list of up to hundreds of ranges."""
_LARGEST_PATTERN: Final = 20_000
"""What a pattern counts for that rows or functions make: polars compiles none that is much larger."""
_PART: Final = re.compile(
    r"""\\[pP](?:\{[^}]*\}|.) | \\x\{[^}]*\} | \\. | \[ | \] | \( (?:\?[^()]*?[:>)])? | \)
    | \{(?P<least>\d{1,9})?(?:,(?P<most>\d{1,9})?)?\} | .""",
    re.VERBOSE | re.DOTALL,
)


def check_patterns(tree: Tree) -> None:
    """Counts the regular expressions of an expression against what is left for its file (``few_patterns``).

    Raises:
        ExpressionError: ``bad_expression``: the file's patterns are too large together.
    """
    if CHARACTERS.left is None:
        return
    for pattern in _patterns(tree):
        CHARACTERS.spend(_LARGEST_PATTERN if pattern is None else size_of(pattern))
        if CHARACTERS.left < 0:
            text = f"the regular expressions of the file stand for more than {MOST_IN_PATTERNS:,} characters"
            raise ExpressionError(
                "bad_expression", f"{text}, repetitions counted; repeat less, or use LIKE and STARTS_WITH"
            )


def _patterns(tree: Tree) -> Iterator[str | None]:
    """Yields the patterns of a tree, None for each that is not a constant."""
    waiting = [tree]
    while waiting:
        kind, held = kind_of(waiting.pop())
        if kind == "Function" and _is_pattern(held["function"]):
            yield _constant(held["input"][1])
        if held is not None and kind != "Literal":
            waiting.extend(parts({kind: held}))


def _is_pattern(function: Tree) -> bool:
    name = function_name(function)
    if name not in ("StringExpr.Contains", "StringExpr.Replace"):
        return False
    return not function["StringExpr"][name.rpartition(".")[2]]["literal"]


def _constant(tree: Tree) -> str | None:
    kind, held = kind_of(tree)
    if kind != "Literal":
        return None
    waiting = [held]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            return one
        waiting.extend(one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
    return None


def size_of(pattern: str) -> int:
    """Estimates for how many characters a pattern stands: its own, wide classes for many, all times their repetitions.

    An invalid pattern has some size, too: polars says what is wrong with it.
    """
    # Of each open group what it counts, and its last part, which may be repeated.
    groups: list[list[int]] = [[0, 0]]
    in_class = False
    for found in _PART.finditer(pattern):
        text, group = found[0], groups[-1]
        if in_class:
            in_class = text != "]"
            group[1] += _of_part(text)
        elif text == "[":
            in_class = True
            _add(group, 1)
        elif text[0] == "(":
            if not text.endswith(")"):
                groups.append([0, 0])
        elif text == ")" and len(groups) > 1:
            inner = sum(groups.pop())
            _add(groups[-1], inner)
        elif text[0] == "{" and len(text) > 2:
            times = max(int(found["least"] or 1), int(found["most"] or 1))
            group[1] = min(group[1] * times, _LARGEST_PATTERN)
        else:
            _add(group, _of_part(text))
    return min(sum(map(sum, groups)), _LARGEST_PATTERN + LONGEST_EXPRESSION)


def _add(group: list[int], size: int) -> None:
    group[0], group[1] = group[0] + group[1], size


def _of_part(text: str) -> int:
    return _WIDE.get(text[1:2], 1) if text[0] == "\\" else 2 if text == "." else 1
