"""Columns of a batch -> what a model is called with.

A list of columns is one argument: numbers are joined in order to a matrix ``[N, F]`` (a scalar has width 1);
a single tensor keeps its shape ``[N, ...]``; a single text or bytes column is itself, ``[N]``. A mapping
gives one argument per port, each ``[N, ...]``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import Columns, NodeView
from beam_ensembles.graph.shared_options import is_per_row
from beam_ensembles.spec.places import below
from beam_ensembles.types import NUMPY_DTYPES, Array, Scalar, Type, dtype_of, row_shape

Values = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class Argument:
    """What one argument of a model is made of.

    Attributes:
        place: Where in the node, such as ``inputs`` or ``inputs.X``.
        element: The values' type: a numpy type's name, ``string`` or ``bytes``.
        shape: The shape of one row, or with ``per_row`` of one item of its lists; None is a length not known before.
    """

    place: str
    element: str
    shape: tuple[int | None, ...]

    @property
    def width(self) -> int | None:
        """How many values one row has, where that is known."""
        return None if None in self.shape else math.prod(dim for dim in self.shape if dim is not None)

    def __str__(self) -> str:
        return f"{self.element} {shape_text((None, *self.shape))}"


def shape_text(dims: Sequence[int | None]) -> str:
    """Writes a shape for people: ``[N, 64]``; ``?`` stands for a length that is not known."""
    head = ["N"] if dims else []
    return f"[{', '.join([*head, *('?' if dim is None else str(dim) for dim in dims[1:])])}]"


def list_argument(node: NodeView, *, lists: bool = False) -> Argument | None:
    """Checks a node's columns as one argument; reports ``type_mismatch`` and gives None if they are none.

    Args:
        node: The node.
        lists: Whether lists of any length are tensors to the model (``lists.by_length``).
    """
    parts = [_part(node, f"inputs[{index}]", name, lists) for index, name in enumerate(node.spec.columns)]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not known:
        return None
    if len(known) == 1:
        only = known[0]
        is_number = only.element in NUMPY_DTYPES and not only.shape
        return dataclasses.replace(only, place="inputs", shape=(1,) if is_number else only.shape)
    texts = [part for part in known if part.element not in NUMPY_DTYPES or part.element == "boolean"]
    for part in texts:
        text = (
            f"a {part.element} cannot be listed with other columns: only numbers are joined to one argument; "
            "name what the model takes, {argument: column}, or make it a number in a sql node"
        )
        node.problem("type_mismatch", part.place, text)
    if texts:
        return None
    element = np.result_type(*(NUMPY_DTYPES[part.element] for part in known))
    name = next(name for name, dtype in NUMPY_DTYPES.items() if dtype == element)
    widths = [part.width for part in known]
    whole = None if None in widths else sum(width for width in widths if width is not None)
    return Argument("inputs", name, (whole,))


def named_arguments(node: NodeView, *, lists: bool = False) -> dict[str, Argument]:
    """Checks a node's mapping of columns as an argument per port; leaves out those that it reports.

    Args:
        node: The node.
        lists: Whether lists of any length are tensors to the model (``lists.by_length``).
    """
    ports = (node.spec.inputs.ports if node.spec.inputs is not None else None) or ()
    named = zip(ports, node.spec.columns, strict=False)
    parts = {port: _part(node, below("inputs", port), column, lists) for port, column in named}
    return {port: part for port, part in parts.items() if part is not None}


def _part(node: NodeView, place: str, column: str, lists: bool) -> Argument | None:
    """Checks one column: numbers, tensors of numbers, text and bytes can be given to a model, to some lists of them."""
    type_ = node.inputs.get(column)
    if type_ is None:
        return None
    per_row = is_per_row(node.options)
    if (per_row or lists) and isinstance(type_, Array) and type_.shape is None:
        item, shape = _item_of(type_.element if per_row else type_)
        if item is not None:
            return Argument(place, item, shape)
    dtype = dtype_of(type_)
    if dtype is not None:
        element = type_.element if isinstance(type_, Array) else type_
        return Argument(place, getattr(element, "name", ""), row_shape(type_))
    if isinstance(type_, Scalar) and type_.name in ("string", "bytes"):
        return Argument(place, type_.name, ())
    wanted = "a number, a tensor such as array<double>[4], a text or bytes"
    node.problem("type_mismatch", place, f"'{column}' is {type_}; a model takes {wanted}")
    return None


def _item_of(type_: Type) -> tuple[str | None, tuple[int | None, ...]]:
    """The element and the shape of the items of a list whose items are of a type: lists in it have any length."""
    if isinstance(type_, Array):
        element, shape = _item_of(type_.element)
        return element, (*(type_.shape or (None,)), *shape)
    is_known = isinstance(type_, Scalar) and (type_.name in NUMPY_DTYPES or type_.name in ("string", "bytes"))
    return (getattr(type_, "name", None) if is_known and not type_.nullable else None), ()


def leaf(type_: Type | None) -> str | None:
    """Returns the name of the innermost type of nested lists, or None where it is not a scalar."""
    while isinstance(type_, Array):
        type_ = type_.element
    return getattr(type_, "name", None)


def join(columns: Columns, names: Sequence[str]) -> Values:
    """Creates the one argument of a list of columns that was checked by ``list_argument``."""
    if len(names) == 1 and columns[names[0]].ndim > 2:
        return columns[names[0]]
    return matrix(columns, names)


def matrix(columns: Columns, names: Sequence[str]) -> Values:
    """Joins a list of columns to a matrix ``[N, F]``; a single column of text or bytes stays as it is."""
    if len(names) == 1:
        return _flat(columns[names[0]])
    return np.concatenate([_flat(columns[name]) for name in names], axis=1)


def _flat(column: Values) -> Values:
    return column if column.ndim == 2 or column.dtype == object else column.reshape(len(column), -1)


def can_cast(found: str, wanted: str) -> bool:
    """Returns whether an argument's values may be cast into a model's type without being asked.

    Whole numbers into others, each of which ``cast`` looks at, and fractions into others, ``float16`` too: rows of
    other languages have no smaller types. Never a fraction into a whole number, nor text into a number.
    """
    if found == wanted:
        return True
    if found not in NUMPY_DTYPES or wanted not in NUMPY_DTYPES or "boolean" in (found, wanted):
        return False
    of, to = NUMPY_DTYPES[found], NUMPY_DTYPES[wanted]
    return (
        np.can_cast(of, to, casting="safe") or of.kind == to.kind == "f" or {of.kind, to.kind} <= {"i", "u"}
    )


def cast(values: Values, dtype: np.dtype[Any], code: str, name: str) -> Values:
    """Casts numbers to a dtype that was found to take them.

    Raises:
        NodeError: With the code, where a number is too large for a smaller type.
    """
    _refuse_too_large(values, dtype, code, name)
    try:
        with np.errstate(over="raise"):
            return values.astype(dtype, copy=False)
    except FloatingPointError as exc:
        raise NodeError(code, f"'{name}' holds a number that is too large for {dtype}") from exc


def _refuse_too_large(values: Values, dtype: np.dtype[Any], code: str, name: str) -> None:
    """Looks at whole numbers, of which numpy would keep the last bits."""
    are_whole = values.dtype.kind in "iu" and dtype.kind in "iu"
    if not are_whole or np.can_cast(values.dtype, dtype, casting="safe") or values.size == 0:
        return
    limits = np.iinfo(dtype)
    if int(values.min()) < limits.min or int(values.max()) > limits.max:
        text = f"'{name}' holds a number that does not fit {dtype} ({limits.min} to {limits.max})"
        raise NodeError(code, text)
