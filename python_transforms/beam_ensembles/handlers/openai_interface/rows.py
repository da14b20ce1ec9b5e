"""Rows that are asked about one by one: equal ones together, and each answer is told as it comes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from beam_ensembles.columns.nulls import nullable_column
from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.graph.kinds import Columns, validity
from beam_ensembles.handlers.openai_interface.calls import Calls, Session
from beam_ensembles.handlers.support.answered_rows import listener
from beam_ensembles.handlers.support.call_counts import SHARED, count
from beam_ensembles.types import Type

Messages = list[dict[str, Any]]
Ask = Callable[[Session, Messages], Awaitable[Mapping[str, Any]]]
"""Asks about the messages of a row, and returns a value for each column."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Question:
    """Messages that are sent.

    Attributes:
        messages: The messages.
        rows: The positions of the rows that have them.
    """

    messages: Messages
    rows: list[int]


class Rows:
    """Asks about the rows of a node.

    Args:
        calls: Makes the calls.
        outputs: The type of each column.
        dedupe: Whether rows with the same messages share one call.
    """

    def __init__(self, calls: Calls, outputs: Mapping[str, Type], *, dedupe: bool) -> None:
        self._calls, self._outputs, self._dedupe = calls, outputs, dedupe

    def answers(self, prompts: Sequence[Messages | NodeError], ask: Ask) -> Columns:
        """Returns the columns of all rows.

        Args:
            prompts: The messages of each row, or its error.
            ask: Asks about one.

        Raises:
            SomeFailed: Some rows have no answer that can be used.
            NodeError: No row has one.
        """
        places: dict[Any, int] = {}
        asked: list[_Question] = []
        where: list[int | NodeError] = []
        for at, prompt in enumerate(prompts):
            if isinstance(prompt, NodeError):
                where.append(prompt)
                continue
            key = json.dumps(prompt) if self._dedupe else at
            if key not in places:
                places[key] = len(asked)
                asked.append(_Question(prompt, []))
            asked[places[key]].rows.append(at)
            where.append(places[key])
        count(SHARED, len(where) - sum(isinstance(one, NodeError) for one in where) - len(asked))

        async def tell(session: Session, question: _Question) -> Mapping[str, Any]:
            found = await ask(session, question.messages)
            if (told := listener()) is not None:
                told(question.rows, self._columns_of([found] * len(question.rows)))
            return found

        answers = self._calls.all(tell, asked)
        return self._columns_of([one if isinstance(one, NodeError) else answers[one] for one in where])

    def _columns_of(self, answers: Sequence[Any]) -> Columns:
        faults = {at: answer for at, answer in enumerate(answers) if isinstance(answer, NodeError)}
        good = [answer for answer in answers if not isinstance(answer, NodeError)]
        if faults and not good and len(set(map(id, faults.values()))) == 1:
            raise faults[0]
        found: dict[str, Any] = {}
        for column, type_ in self._outputs.items():
            values, present = nullable_column([answer[column] for answer in good], type_, column)
            found[column] = values.values
            if present is not None:
                found[validity(column)] = present
        if faults:
            raise SomeFailed(found, faults)
        return found


def size_of(messages: Messages) -> int:
    """Returns the bytes of the texts of messages; a picture is many bytes and few tokens."""
    parts = (part for one in messages for part in _texts(one["content"]))
    return sum(len(part.encode(errors="surrogatepass")) for part in parts)


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]
