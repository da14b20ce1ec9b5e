"""Combiners drawn at random, each with what it gives for a row, as ``docs/reference/combiners.md`` says."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.unit.properties.draft import LABELS, Draft
from tests.unit.properties.plain import PlainNode, Refused, Row

NUMBERS: Final = ("double", "int64", "tensor")
NAMES: Final = ("string", "int64", "boolean")


def numbers(draft: Draft) -> PlainNode:
    combine = draft.one_of("mean", "weighted_mean", "median", "max", "min")
    members = draft.several(*NUMBERS)
    weights = [draft.one_of(1, 2, 4) for _ in members] if combine == "weighted_mean" else None
    kind = draft.columns[members[0]]
    given = kind if combine in ("max", "min") or kind == "tensor" else "double"
    pick = {"median": _median, "max": _greatest, "min": _least}.get(combine)

    def of(row: Row) -> list[Any]:
        there = [(row[name], weight) for name, weight in _weighed(members, weights) if row[name] is not None]
        values = [value for value, _ in there]
        count = pick or (lambda numbers: _mean(numbers, [weight for _, weight in there]))
        if kind == "tensor":
            return [[count(numbers) for numbers in zip(*values, strict=True)]]
        return [count(values)]

    spec = {"combine": combine, "inputs": members, **_with_quorum(draft, members)}
    if weights is not None:
        spec["weights"] = weights
    return draft.node(spec, members, {draft.name(): ("", given)}, of)


def _weighed(members: Sequence[str], weights: Sequence[int] | None) -> list[tuple[str, float]]:
    return list(zip(members, weights or [1] * len(members), strict=True))


def _with_quorum(draft: Draft, members: Sequence[str]) -> dict[str, int]:
    quorum = draft.one_of(None, None, *range(1, len(members) + 1))
    return {} if quorum is None else {"quorum": quorum}


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = 0.0
    for value, weight in zip(values, weights, strict=True):
        total += value * weight
    return total / sum(weights)


def _median(values: Sequence[float]) -> float:
    return math.nan if any(map(math.isnan, values)) else float(statistics.median(map(float, values)))


def _greatest(values: Sequence[float]) -> float:
    return math.nan if any(map(math.isnan, values)) else max(values)


def _least(values: Sequence[float]) -> float:
    return math.nan if any(map(math.isnan, values)) else min(values)


def hard_vote(draft: Draft) -> PlainNode:
    members = draft.several(*NAMES)
    kind = draft.columns[members[0]]
    weights = draft.one_of(None, [draft.one_of(1, 2, 4) for _ in members])
    known = LABELS if kind == "string" and draft.one_of(False, True) else None

    def of(row: Row) -> list[Any]:
        votes: dict[Any, float] = {}
        for name, weight in _weighed(members, weights):
            if row[name] is not None:
                votes[row[name]] = votes.get(row[name], 0.0) + weight
        if known is not None and not set(votes) <= set(known):
            raise Refused("unknown_label")
        order = known or sorted(votes)
        winner = max(order, key=lambda label: (votes.get(label, 0.0), -order.index(label)))
        return [winner, votes[winner] / sum(votes.values())]

    spec = {"combine": "hard_vote", "inputs": members, **_with_quorum(draft, members)}
    spec |= {name: value for name, value in (("weights", weights), ("labels", known)) if value is not None}
    return draft.node(
        spec, members, {draft.name(): ("label", kind), draft.name(): ("confidence", "double")}, of
    )


def soft_vote(draft: Draft) -> PlainNode:
    members = draft.several("tensor")
    weights = draft.one_of(None, [draft.one_of(1, 2, 4) for _ in members])
    known = draft.one_of(None, LABELS)

    def of(row: Row) -> list[Any]:
        there = [(row[name], weight) for name, weight in _weighed(members, weights) if row[name] is not None]
        shares = [
            _mean(numbers, [weight for _, weight in there])
            for numbers in zip(*(values for values, _ in there), strict=True)
        ]
        best = next((at for at, share in enumerate(shares) if math.isnan(share)), None)
        best = shares.index(max(shares)) if best is None else best
        return [best if known is None else known[best], shares[best], shares]

    spec = {"combine": "soft_vote", "inputs": members, **_with_quorum(draft, members)}
    spec["check_probabilities"] = False  # the numbers are any
    spec |= {name: value for name, value in (("weights", weights), ("labels", known)) if value is not None}
    ports = {
        "label": "int64" if known is None else "string",
        "confidence": "double",
        "probabilities": "tensor",
    }
    return draft.node(spec, members, {draft.name(): (port, kind) for port, kind in ports.items()}, of)


def agree(draft: Draft) -> PlainNode:
    members = draft.several(*NAMES)

    def of(row: Row) -> list[Any]:
        there = [row[name] for name in members if row[name] is not None]
        label = max(sorted(set(there)), key=there.count)
        return [len(set(there)) == 1, there.count(label) / len(there), label]

    ports = {"unanimous": "boolean", "agreement": "double", "label": draft.columns[members[0]]}
    return draft.node(
        {"combine": "agree", "inputs": members, **_with_quorum(draft, members)},
        members,
        {draft.name(): (port, kind) for port, kind in ports.items()},
        of,
    )


def first(draft: Draft) -> PlainNode:
    members = draft.several("double", "int64", "boolean", "string", "tensor", "doubles")
    return draft.node(
        {"combine": "first", "inputs": members},
        members,
        {draft.name(): ("", draft.columns[members[0]])},
        lambda row: [next((row[name] for name in members if row[name] is not None), None)],
        takes_nulls=True,
    )


def stack(draft: Draft) -> PlainNode:
    members, passed = draft.several("double", "tensor"), draft.of("double", "tensor")
    columns = list(dict.fromkeys([*members, passed]))
    spec: dict[str, Any] = {"combine": "stack", "inputs": members}
    if passed not in members:
        spec["passthrough"] = [passed]
    width = sum(1 if draft.columns[name] == "double" else 3 for name in columns)

    def of(row: Row) -> list[Any]:
        values = [row[name] for name in columns]
        return [[number for value in values for number in (value if isinstance(value, list) else [value])]]

    return draft.node(spec, columns, {draft.name(): ("", "tensor" if width == 3 else "other")}, of)


def rank(draft: Draft) -> PlainNode:
    ports = {"candidates": draft.of("strings", "tensor"), "scores": draft.of("doubles")}
    k = draft.one_of(None, 1, 2)

    def of(row: Row) -> list[Any]:
        candidates, scores = (row[column] for column in ports.values())
        if len(candidates) != len(scores):
            raise Refused("misaligned")
        order = sorted(range(len(scores)), key=lambda at: math.inf if math.isnan(scores[at]) else -scores[at])
        order.sort(key=lambda at: math.isnan(scores[at]))
        return [[{"candidate": candidates[at], "score": scores[at]} for at in order[:k]]]

    spec: dict[str, Any] = {"combine": "rank", "inputs": ports, **({"k": k} if k else {})}
    return draft.node(spec, list(ports.values()), {draft.name(): ("", "other")}, of)


COMBINERS: Final[tuple[Callable[[Draft], PlainNode], ...]] = (
    numbers, numbers, hard_vote, soft_vote, agree, first, first, stack, rank,
)  # fmt: skip
