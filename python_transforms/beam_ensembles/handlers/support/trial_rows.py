"""A trial of a loaded model with made-up rows: what would fail or mislead in a pipeline is found when it is loaded.

The model is asked one row, two rows, the first row again, the second alone, and five rows. Nothing of it is counted.

Made-up rows may be invalid to a good model: a category that it was not trained on, a text that it refuses, a list of
another length. So a failure is an error only where no values of the rows can explain it:

| one row | two rows | what is done |
|---|---|---|
| answers | answers | a row's answers are compared; a warning where they differ |
| fails | answers | error: both rows alone fail, together they do not, so one row is what it cannot take |
| answers | fails | warning: it works row by row, slowly; error where it gives more or fewer answers than rows |
| fails | fails | error where code is missing (an attribute, a module): no row has that to give |
| fails | fails | error where a framework's answer is not as declared: its shape and type are those of all rows |
| fails | fails | error for PyTorch: zeros of the declared shapes are input to nearly every network |
| fails | fails | nothing else: it is logged for who looks for it |

Answers that differ are no error: the pipeline may be meant so (Monte Carlo dropout), and what differs a little may be
rounding, which is other in batches of another size.
"""

from __future__ import annotations

import dataclasses
import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np

from beam_ensembles.errors import ENDS_THE_PROGRAM, InvalidEnsemble, NodeError, Problem, SomeFailed
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member
from beam_ensembles.graph.shared_options import is_per_row
from beam_ensembles.handlers.support.arguments import Values
from beam_ensembles.handlers.support.beam_config import TrialOptions, call_limit
from beam_ensembles.types import Array, Map, Row, Scalar, Type, dtype_of, row_shape

_LOGGER: Final = logging.getLogger(__name__)
_MOST_ROWS: Final = 5
_MOST_NUMBERS: Final = 4 << 20
"""Numbers of a column that are made up at most; rows of more are too large for a trial that costs next to nothing."""
_ENOUGH_SECONDS: Final = 1.0
"""A model that has taken so long is not asked again where it answers."""
_TOLERANCE: Final = 0.02
"""Of a column's greatest number: models of 16-bit floats differ by up to 1 % between batches of different sizes."""
_LEAST_ROOM: Final = 1e-6
_LENGTH: Final = 3
_WORDS: Final = ("one", "two", "three", "four", "five")
_ANSWERS: Final = ("misaligned", "bad_output")
_VALUE: Final = r"NoneType|str|bytes|int|float|bool|list|tuple|dict|re\.Match|numpy\.(?!ndarray).*"
_MISSING: Final = re.compile(
    rf"(ModuleNotFoundError|ImportError|AttributeError)\b(?!: '({_VALUE})' object has no attribute)"
)
"""What a call raises whose libraries are not those that the model was saved with. A value of a row that lacks an
attribute, or a search in it that found nothing, shows only that the row is made up."""


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """What a trial found.

    Attributes:
        rows: How many rows were answered in one call, for each number that was tried.
        milliseconds: How long all calls took.
        refused: Why the model answers no made-up row, in its own words; empty where it does.
        notes: The likely faults of the model, a sentence each.
        answer: The columns that it gave for the most rows.
    """

    rows: tuple[int, ...] = ()
    milliseconds: float = 0.0
    refused: str = ""
    notes: tuple[str, ...] = ()
    answer: Columns = dataclasses.field(default_factory=dict)


@runtime_checkable
class TriesItself(Protocol):
    """A member that knows how it is tried: in a process of its own, or not at all, since its calls cost money."""

    def trial(self) -> Trial | None:
        """Returns what its trial found; None where there is none.

        Raises:
            InvalidEnsemble: It cannot be right.
        """


def try_out(node: CheckedNode, member: Member) -> Trial | None:
    """Tries a loaded node, and logs what is likely to be wrong.

    Args:
        node: The node.
        member: Its loaded member.

    Returns:
        What was found; None for a node that is not tried.

    Raises:
        InvalidEnsemble: It cannot be right: ``signature_mismatch``, or ``load_failed`` where code is missing.
    """
    if not is_tried(node):
        return None
    found = trial_of(node, member)
    if found is None:
        return None
    for note in found.notes:
        _LOGGER.warning("node '%s': %s", node.spec.name, note)
    if found.refused:
        _LOGGER.info("node '%s' was not tried: %s", node.spec.name, found.refused)
    return found


def is_tried(node: CheckedNode) -> bool:
    """Whether a node is tried: a model that runs here, called with whole batches, that does not write texts."""
    options = node.options
    if not isinstance(options, TrialOptions) or not options.trial or is_per_row(options):
        return False
    return node.kind.is_tried(node)


def trial_of(node: CheckedNode, member: Member) -> Trial | None:
    """Asks a member made-up rows; see the module's table.

    Args:
        node: The node.
        member: Its loaded member.

    Returns:
        What was found; None where the member is not asked.

    Raises:
        InvalidEnsemble: It cannot be right.
    """
    if isinstance(member, TriesItself):
        return member.trial()
    limit = call_limit(node)
    most = _MOST_ROWS if limit is None else min(limit, _MOST_ROWS)
    known: Mapping[str, Sequence[Any]] = getattr(member, "examples", {})
    columns = made_up(node.inputs, most, known)
    if columns is None:
        return Trial(refused="no rows can be made up for the types of its inputs")
    asking = _Asking(member, columns, most)
    asking.first()
    if not asking.answered:
        zeros = made_up(node.inputs, most, known, zeros=True)
        if zeros is not None:
            asking = _Asking(member, zeros, most)
            asking.first()
    return asking.judged(node)


class _Asking:
    """Calls of one member with some of the same rows, and what came of them.

    Args:
        member: The member.
        columns: The rows.
        most: How many they are.
    """

    def __init__(self, member: Member, columns: Columns, most: int) -> None:
        self._member, self._columns, self._most = member, columns, most
        self._start = time.monotonic()
        self._given: dict[tuple[int, int], Columns | NodeError] = {}

    def first(self) -> None:
        """Asks one row, and two."""
        self._ask(0, 1)
        if self._most > 1:
            self._ask(0, 2)

    @property
    def answered(self) -> bool:
        """Whether any call was answered."""
        return any(not isinstance(found, NodeError) for found in self._given.values())

    def judged(self, node: CheckedNode) -> Trial:
        """Returns what the calls show, after more of them where they are needed.

        Raises:
            InvalidEnsemble: The model cannot be right.
        """
        one, two = self._given[0, 1], self._given.get((0, 2))
        if isinstance(one, NodeError):
            if two is None or isinstance(two, NodeError):
                return self._refused(node, one)
            other = self._ask(1, 2)
            if isinstance(other, NodeError):
                text = f"it answers two rows at once, but not one: {one.message}"
                raise _wrong(node, "uri" if node.uri else "inputs", text)
            return self._found(
                f"one of two made-up rows is answered beside the other, but fails alone: {one.message}"
            )
        if isinstance(two, NodeError):
            return self._one_at_a_time(node, two)
        return self._compared(node, one)

    def _ask(self, start: int, end: int) -> Columns | NodeError:
        found = _answer(self._member, {name: values[start:end] for name, values in self._columns.items()})
        self._given[start, end] = found
        return found

    def _refused(self, node: CheckedNode, error: NodeError) -> Trial:
        if _MISSING.match(error.message):
            raise InvalidEnsemble([missing_code(node, error)])
        if error.code in _ANSWERS and node.spec.target != "python":
            raise _wrong(node, "outputs", error.message)
        if node.spec.target == "pytorch" and all(
            dtype_of(type_) is not None for type_ in node.inputs.values()
        ):
            raise _wrong(node, "inputs", str(error))
        return dataclasses.replace(self._found(), refused=error.message)

    def _one_at_a_time(self, node: CheckedNode, error: NodeError) -> Trial:
        if error.code in _ANSWERS:
            raise _wrong(node, "outputs", f"it answers one row, but not two at once: {error.message}")
        if isinstance(self._ask(1, 2), NodeError):
            return self._found()  # it is the second row
        return self._found(
            "it answers each of two made-up rows alone, but not both at once, so every batch is split into single "
            f"rows, which is slow; set 'batch: {{max: 1}}', or save the model for batches of any size ({error.message})"
        )

    def _compared(self, node: CheckedNode, one: Columns) -> Trial:
        again = self._ask(0, 1) if self._has_time else one
        for name, before, after in _differences(one, again):
            text = (
                f"its answers to the same row differ from call to call ('{name}' of a made-up row is {before}, then "
                f"{after}): dropout is on, or it draws at random; save it in evaluation mode (PyTorch: model.eval())"
            )
            return self._found(text)
        if self._most == 1 or not self._has_time:
            return self._found()
        alone = [one, self._ask(1, 2)]
        together = [self._given[0, 2], self._ask(0, self._most)]
        for at, of_row in enumerate(alone):
            for others in together:
                if isinstance(of_row, NodeError) or isinstance(others, NodeError):
                    continue
                row = {name: values[at : at + 1] for name, values in others.items()}
                for name, before, after in _differences(of_row, row, others):
                    return self._found(_mixed(name, before, after, len(others[name])))
        return self._found()

    @property
    def _has_time(self) -> bool:
        return time.monotonic() - self._start < _ENOUGH_SECONDS

    def _found(self, *notes: str) -> Trial:
        good = {
            end - start: found
            for (start, end), found in self._given.items()
            if not isinstance(found, NodeError)
        }
        took = (time.monotonic() - self._start) * 1_000
        return Trial(tuple(sorted(good)), took, "", notes, good[max(good)] if good else {})


def missing_code(node: CheckedNode, error: NodeError) -> Problem:
    """Returns the problem of a model whose code is not all there, as where its libraries have other versions."""
    text = (
        f"it answers no row: {error.message}; that is so where the model was saved with other versions of its "
        "libraries: install those on the workers, or save it again with the workers' own"
    )
    return Problem(node.spec.path("uri" if node.uri else node.spec.kind), "load_failed", text)


def _wrong(node: CheckedNode, place: str, text: str) -> InvalidEnsemble:
    hint = "'trial: false' loads it without asking it such rows"
    problem = Problem(node.spec.path(place), "signature_mismatch", f"asked made-up rows: {text} ({hint})")
    return InvalidEnsemble([problem])


def _mixed(name: str, alone: str, together: str, rows: int) -> str:
    return (
        f"a row's answer depends on the rows beside it ('{name}' of a made-up row is {alone} alone, {together} among "
        f"{rows}): batch normalization in training mode, or rows along another dimension than the first; save it in "
        "evaluation mode (PyTorch: model.eval()), or set 'batch: {max: 1}'"
    )


def _answer(member: Member, columns: Columns) -> Columns | NodeError:
    try:
        return member(columns)
    except ENDS_THE_PROGRAM:
        raise
    except SomeFailed as error:
        return error.faults[min(error.faults)]
    except BaseException as error:  # code that calls sys.exit() ends neither a worker nor a program
        return NodeError.of(error)


def _differences(
    one: Columns, other: Columns | NodeError, among: Columns | None = None
) -> Iterator[tuple[str, str, str]]:
    """Yields each column in which two answers to the same row differ, with both.

    Args:
        one: An answer to one row.
        other: Another.
        among: The answers to more rows, which say how large the numbers are.
    """
    if isinstance(other, NodeError):
        return
    for name, values in one.items():
        before, after = values[0], other[name][0]
        if not _is_same(before, after, _room(values if among is None else among[name])):
            yield name, *_shown(before, after)


def _room(values: Values) -> float:
    """Returns how much numbers of a column may differ by rounding."""
    if values.dtype == object:
        return _LEAST_ROOM + _TOLERANCE * max((_largest(value) for value in values), default=0.0)
    return _LEAST_ROOM + _TOLERANCE * _largest(values)


def _largest(value: Any) -> float:
    if isinstance(value, Mapping):
        return max(map(_largest, value.values()), default=0.0)
    if isinstance(value, list) and any(isinstance(item, list | Mapping) for item in value):
        return max(map(_largest, value))
    numbers = np.asarray(value)
    if numbers.dtype.kind != "f":
        return 0.0
    finite = np.abs(numbers[np.isfinite(numbers)])
    return float(finite.max()) if finite.size else 0.0


def _is_same(one: Any, other: Any, room: float) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key], room) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_is_same(*pair, room) for pair in zip(one, other, strict=True))
    first, second = np.asarray(one), np.asarray(other)
    if first.dtype.kind != "f" or first.shape != second.shape:
        return bool(np.array_equal(first, second))
    return bool(np.allclose(first, second, rtol=0.0, atol=room, equal_nan=True))


def _shown(one: Any, other: Any) -> tuple[str, str]:
    """Returns two answers for people: of arrays the number that differs most."""
    first, second = np.asarray(one, dtype=object).ravel(), np.asarray(other, dtype=object).ravel()
    numbers = [isinstance(value, float | np.floating) for value in (*first[:1], *second[:1])]
    if len(first) == len(second) > 0 and all(numbers):
        at = int(np.nanargmax(np.abs(first.astype(float) - second.astype(float))))
        return f"{float(first[at]):.4g}", f"{float(second[at]):.4g}"
    return f"{one!r:.40}", f"{other!r:.40}"


def made_up(
    inputs: Mapping[str, Type],
    rows: int,
    known: Mapping[str, Sequence[Any]] = MappingProxyType({}),
    *,
    zeros: bool = False,
) -> dict[str, Values] | None:
    """Make up rows: the same ones each time, each other than the one before.

    Args:
        inputs: The columns and their types.
        rows: How many.
        known: Values that the model takes in some columns, such as the categories that it was trained on (a member's
            ``examples``).
        zeros: Whether all numbers are 0.

    Returns:
        The columns; None where there is a type for which nothing is made up, or values would be too large.
    """
    columns: dict[str, Values] = {}
    for at, (name, type_) in enumerate(inputs.items()):
        dtype = dtype_of(type_)
        if known.get(name) and isinstance(type_, Scalar):
            values = [known[name][row % len(known[name])] for row in range(rows)]
            columns[name] = np.fromiter(values, dtype=dtype or object, count=rows)
            continue
        if dtype is not None:
            shape = (rows, *row_shape(type_))
            if int(np.prod(shape)) > _MOST_NUMBERS:
                return None
            columns[name] = np.zeros(shape, dtype) if zeros else _numbers(shape, dtype, at)
            continue
        values = [_value(type_, row + at, zeros) for row in range(rows)]
        if any(value is None for value in values):
            return None
        columns[name] = np.fromiter(values, dtype=object, count=rows)
    return columns


def _numbers(shape: Sequence[int], dtype: np.dtype[Any], seed: int) -> Values:
    """Returns fractions from 0 to 1; whole numbers and truth values are 0 or 1, which any vocabulary and mask has."""
    drawn = np.random.default_rng(seed).random(shape)
    return drawn.astype(dtype) if dtype.kind == "f" else (drawn < 0.7).astype(dtype)


def _value(type_: Type, at: int, zeros: bool) -> Any:
    """Returns one value of a type that numpy has no word for; None where nothing is made up."""
    dtype = dtype_of(type_)
    if dtype is not None:
        shape = row_shape(type_)
        made = np.zeros(shape, dtype) if zeros else _numbers(shape, dtype, at)
        return made.tolist()
    if isinstance(type_, Scalar):
        word = _WORDS[at % len(_WORDS)]
        return {"string": word, "bytes": word.encode()}.get(type_.name)
    if isinstance(type_, Array):
        items = [_value(type_.element, at + place, zeros) for place in range(_LENGTH)]
        return None if any(item is None for item in items) else items
    if isinstance(type_, Row):
        fields = {name: _value(of, at, zeros) for name, of in type_.fields}
        return None if any(value is None for value in fields.values()) else fields
    return {} if isinstance(type_, Map) else None
