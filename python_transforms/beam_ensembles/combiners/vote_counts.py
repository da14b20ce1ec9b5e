"""Counts labels: which one each row has most often, for all rows at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.combiners.members import Values
from beam_ensembles.errors import NodeError, listed
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.types import INT64, Scalar, Type

_FEW: Final = 32
"""Up to how many labels are all counted on every row."""

_WHOLE: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


def common_label(node: NodeView) -> Type | None:
    """The members' type of label, ``int64`` for any whole numbers; reports members that give another, or none."""
    found: Type | None = None
    for index, column in enumerate(node.spec.columns):
        type_ = node.inputs.get(column)
        if type_ is None:
            continue
        label = _as_label(type_)
        if label is None:
            takes = "one label per row: a text, a whole number or a boolean"
            text = f"'{column}' is {type_}; {node.spec.target} takes {takes}"
            node.problem("type_mismatch", f"inputs[{index}]", text)
        elif found is not None and label != found:
            text = f"'{column}' is {type_}, the members before it give labels of type {found}"
            node.problem("type_mismatch", f"inputs[{index}]", text)
        else:
            found = label
    return found


def _as_label(type_: Type) -> Type | None:
    if not isinstance(type_, Scalar):
        return None
    if type_.name in ("string", "boolean"):
        return type_.required()
    return INT64 if type_.name in _WHOLE else None


@dataclasses.dataclass(frozen=True, slots=True)
class Tally:
    """The votes of some members on each row.

    Attributes:
        labels: The labels in the order in which they win a tie.
        codes: The place in ``labels`` of what each member gave, ``[members, N]``.
        weights: What that counts, ``[members, N]``; 0 where the member gave nothing.
    """

    labels: Values
    codes: Values
    weights: Values

    @classmethod
    def of(
        cls,
        values: Sequence[Values],
        labels: Values | None = None,
        weights: Sequence[float] | None = None,
        present: Values | None = None,
    ) -> Tally:
        """Takes the votes.

        Args:
            values: The labels of each member, ``[N]``.
            labels: All labels that there can be, in the order in which they win a tie; None: those found, sorted.
            weights: A weight each, or None where all count the same.
            present: Which members have a label on which rows, ``[members, N]``; None: all on all.

        Raises:
            NodeError: ``unknown_label``: a member gave a label that is not among ``labels``.
        """
        flat = np.concatenate(values)
        if present is None:
            codes, found = _numbered(flat, labels)
        else:
            there = present.ravel()
            codes = np.zeros(len(flat), dtype=np.intp)
            codes[there], found = _numbered(flat[there], labels)
        each = np.ones(len(values)) if weights is None else np.asarray(weights, np.float64)
        counts = np.broadcast_to(each[:, None], (len(values), len(values[0])))
        return cls(found, codes.reshape(counts.shape), counts if present is None else counts * present)

    def winners(self) -> tuple[Values, Values]:
        """The label with the most votes of each row, the first of equals, and its share of them, ``[N]`` each."""
        if len(self.labels) <= _FEW:
            got = _summed(self.codes, self.weights, len(self.labels))
            winners, most = np.argmax(got, axis=0), got.max(axis=0)
        else:  # then a table of all labels would be mostly empty, and large: count only what the row's members gave
            same = self.codes[:, None] == self.codes[None]
            slots = np.argmax(same, axis=0)  # the first member that gave the same stands for the label
            got = _summed(slots, self.weights, len(self.codes))
            most = got.max(axis=0)
            none = np.iinfo(self.codes.dtype).max
            winners = np.where(got == most, self.codes, none).min(axis=0)
        return self.labels[winners], most / self._whole()

    def shares(self) -> Values:
        """Returns the share of every label on every row, ``[N, labels]``."""
        return np.asarray((_summed(self.codes, self.weights, len(self.labels)) / self._whole()).T)

    def _whole(self) -> Values:
        """Returns what all votes of each row count, ``[N]``, added in the order of the members."""
        whole = np.zeros(self.weights.shape[1])
        for weights in self.weights:
            whole += weights
        return whole


def _summed(places: Values, weights: Values, count: int) -> Values:
    """Adds weights up by place and row, in the order of the members: ``[members, N]`` to ``[count, N]``."""
    rows = places.shape[1]
    at = places * rows + np.arange(rows)
    return np.bincount(at.ravel(), weights.ravel(), minlength=count * rows).reshape(count, rows)


def _numbered(flat: Values, labels: Values | None) -> tuple[Values, Values]:
    """Returns the place of each label among all, and all of them: ``labels``, or those found, sorted."""
    if flat.dtype == object:
        return _texts(flat.tolist(), labels)
    if labels is None:
        found, codes = np.unique(flat, return_inverse=True)
        return codes, found
    order = np.argsort(labels)
    codes = order[np.minimum(np.searchsorted(labels[order], flat), len(labels) - 1)]
    wrong = labels[codes] != flat
    if wrong.any():
        raise _unknown(flat[wrong][0].item(), labels.tolist())
    return codes, labels


def _texts(given: list[str], labels: Values | None) -> tuple[Values, Values]:
    known = sorted(set(given)) if labels is None else labels.tolist()
    places = {label: at for at, label in enumerate(known)}
    try:
        codes = np.fromiter(map(places.__getitem__, given), dtype=np.intp, count=len(given))
    except KeyError as exc:
        raise _unknown(exc.args[0], known) from exc
    return codes, np.fromiter(known, dtype=object, count=len(known))


def _unknown(label: Any, labels: Sequence[Any]) -> NodeError:
    allowed = listed([repr(one) for one in labels])
    return NodeError("unknown_label", f"a member gave the label {label!r}; 'labels' are {allowed}")
