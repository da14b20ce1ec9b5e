"""Functions and routes drawn at random, each with what it gives for a row, as their documentation says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from tests.support.rendezvous import assign
from tests.unit.properties.draft import LABELS, Draft
from tests.unit.properties.plain import PlainNode, Refused, Row


def sql(draft: Draft) -> PlainNode:
    kinds = draft.draw(
        st.lists(st.sampled_from(["double", "int64", "boolean", "string"]), min_size=1, max_size=2)
    )
    select = {draft.name(): (kind, draft.expression(kind)) for kind in kinds}
    return draft.node(
        {"apply": "sql", "select": {column: one.sql for column, (_, one) in select.items()}},
        [column for _, one in select.values() for column in one.columns],
        {column: ("", kind) for column, (kind, _) in select.items()},
        lambda row: [one.of(row) for _, one in select.values()],
        takes_nulls=True,
    )


def softmax(draft: Draft) -> PlainNode:
    column = draft.of("tensor", "doubles")
    gives = {draft.name(): ("", draft.columns[column])}
    return draft.node(
        {"apply": "softmax", "inputs": [column]}, [column], gives, lambda row: [_softmax(row[column])]
    )


def _softmax(scores: Sequence[float]) -> list[float]:
    if any(math.isnan(score) for score in scores) or (scores and math.isinf(max(scores))):
        raise Refused("wrong_value")
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / math.fsum(powers) for power in powers]


def argmax(draft: Draft) -> PlainNode:
    column = draft.of("tensor", "doubles")
    gives = {draft.name(): ("", "int64")}
    return draft.node(
        {"apply": "argmax", "inputs": [column]}, [column], gives, lambda row: [_falling(row[column])[0]]
    )


def top_k(draft: Draft) -> PlainNode:
    column, k = draft.of("tensor", "doubles"), draft.one_of(1, 2, 3)
    kind = draft.columns[column] if k == 3 or draft.columns[column] == "doubles" else "other"
    gives = {draft.name(): ("indices", "other"), draft.name(): ("scores", kind)}

    def of(row: Row) -> list[Any]:
        places = _falling(row[column])[:k]
        return [places, [row[column][at] for at in places]]

    return draft.node({"apply": "top_k", "k": k, "inputs": [column]}, [column], gives, of)


def _falling(scores: Sequence[float]) -> list[int]:
    if not scores or any(math.isnan(score) for score in scores):
        raise Refused("wrong_value")
    return sorted(range(len(scores)), key=lambda at: -scores[at])


def labels(draft: Draft) -> PlainNode:
    column = draft.of("int64")
    gives = {draft.name(): ("", "string")}

    def of(row: Row) -> list[Any]:
        if not 0 <= row[column] < len(LABELS):
            raise Refused("unknown_label")
        return [LABELS[row[column]]]

    return draft.node({"apply": "labels", "labels": LABELS, "inputs": [column]}, [column], gives, of)


def zipped(draft: Draft) -> PlainNode:
    ports = {"one": draft.of("strings", "doubles"), "other": draft.of("doubles", "tensor")}

    def of(row: Row) -> list[Any]:
        lists = {port: row[column] for port, column in ports.items()}
        if len(lists["one"]) != len(lists["other"]):
            raise Refused("wrong_length")
        pairs = zip(lists["one"], lists["other"], strict=True)
        return [[{"one": one, "other": other} for one, other in pairs]]

    gives = {draft.name(): ("", "other")}
    return draft.node({"apply": "zip", "inputs": ports}, list(ports.values()), gives, of)


def text(draft: Draft) -> PlainNode:
    ports = {name: draft.of("string", "double", "int64", "boolean", "strings") for name in ("one", "other")}
    null = draft.one_of("", "nothing")

    def of(row: Row) -> list[Any]:
        one, other = (_text(row[column], null) for column in ports.values())
        return [f"{{{one}}} {other}"]

    return draft.node(
        {"apply": "text", "template": "{{{one}}} {other}", "null_text": null, "inputs": ports},
        list(ports.values()),
        {draft.name(): ("", "string")},
        of,
        takes_nulls=True,
    )


def _text(value: Any, null: str) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return null if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def switch(draft: Draft) -> PlainNode:
    cases = [(draft.expression("boolean"), arm) for arm in ("a", "b", "arm")[: draft.one_of(1, 2, 3)]]
    default = draft.one_of(None, "b")

    def of(row: Row) -> list[Any]:
        holding = [arm for case, arm in [(case.of(row), arm) for case, arm in cases] if case is True]
        if not holding and default is None:
            raise Refused("no_case")
        return [holding[0] if holding else default]

    return draft.node(
        {
            "route": "switch",
            "cases": [{"when": case.sql, "arm": arm} for case, arm in cases],
            **({"default": default} if default else {}),
        },
        [column for case, _ in cases for column in case.columns],
        {draft.name(): ("", "string")},
        of,
        takes_nulls=True,
    )


def split(draft: Draft) -> PlainNode:
    key = list(dict.fromkeys([draft.of("string", "int64", "boolean") for _ in range(draft.one_of(1, 2))]))
    arms = {"a": draft.one_of(0, 20, 50), "b": 50}
    return draft.node(
        {"route": "split", "arms": arms, "salt": "salt", "inputs": key},
        key,
        {draft.name(): ("", "string")},
        lambda row: [assign([_key(row[column]) for column in key], "salt", arms)],
        takes_nulls=True,
    )


def _key(value: Any) -> bytes | None:
    return None if value is None else _text(value, "").encode()


FUNCTIONS: Final[tuple[Callable[[Draft], PlainNode], ...]] = (
    sql, sql, sql, softmax, argmax, top_k, labels, zipped, text, switch, split,
)  # fmt: skip
