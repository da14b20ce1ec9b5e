"""A decision model as a node: asks its questions about each row, and reads the answers."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Mapping
from typing import Any

import openai
from openai.types import Decision

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.decisions.model import DecisionsOptions
from beam_ensembles.handlers.decisions.questions import CONFIDENCE, PROBABILITIES, Question, read_questions
from beam_ensembles.handlers.openai_interface.calls import Calls, Session
from beam_ensembles.handlers.openai_interface.client import send
from beam_ensembles.handlers.openai_interface.loading import calls_of
from beam_ensembles.handlers.openai_interface.prompts import Prompts
from beam_ensembles.handlers.openai_interface.rows import Messages, Rows, size_of
from beam_ensembles.handlers.support.call_counts import MALFORMED, REFUSALS, count


def load_decisions(node: CheckedNode[DecisionsOptions]) -> DecisionsMember:
    """Returns the loaded node; nobody is called yet.

    Raises:
        InvalidEnsemble: A secret is not on this worker, or cannot be a header.
    """
    return DecisionsMember(node, calls_of(node, 0))


class DecisionsMember:
    """A node of a decision model.

    Args:
        node: The node.
        calls: Makes the calls.
    """

    def __init__(self, node: CheckedNode[DecisionsOptions], calls: Calls) -> None:
        self._node, self._questions = node, read_questions(node.options.questions)
        self._rows = Rows(calls, node.outputs, dedupe=node.options.dedupe)
        self._prompts = Prompts(node, node.options.messages)
        self._columns = {output.column: output.port or output.column for output in node.spec.outputs}
        self._sent = [question.request() for question in self._questions]

    def __call__(self, columns: Columns) -> Columns:
        """Asks about every row.

        Raises:
            SomeFailed: Some rows have no answer that can be used.
            NodeError: No row has one.
        """
        return self._rows.answers(self._prompts.of_rows(columns), self._ask)

    async def _ask(self, session: Session, messages: Messages) -> Mapping[str, Any]:
        written = [{**message, "content": _content(message["content"])} for message in messages]

        def create(client: openai.AsyncOpenAI) -> Awaitable[Any]:
            body = {"input": written, "model": self._node.options.name, "questions": self._sent}
            return send(client, "/decisions", {**body, **self._node.options.inference_args}, Decision)

        answer = await session.call(create, size_of(messages))
        try:
            return self._values(getattr(answer, "answers", None))
        except NodeError as error:
            count(REFUSALS if error.code == "refusal" else MALFORMED)
            raise

    def _values(self, answers: Any) -> dict[str, Any]:
        """Returns the value of each column.

        Raises:
            NodeError: ``refusal``: The model refuses a question whose column takes no null; ``bad_output``: A
                question has no answer.
        """
        if not isinstance(answers, list) or len(answers) != len(self._questions):
            shown = len(answers) if isinstance(answers, list) else "no"
            text = f"the server's answer has {shown} answers to {len(self._questions)} questions"
            raise NodeError("bad_output", text)
        found: dict[str, Any] = {}
        for question, answer in zip(self._questions, answers, strict=True):
            found |= _read(question, answer)
        for column, name in self._columns.items():
            if found[name] is None and not self._node.outputs[column].nullable:
                text = f"the model refuses to answer for '{name}'; declare '{column}' nullable to have a null instead"
                raise NodeError("refusal", text)
        return {column: found[name] for column, name in self._columns.items()}


def _content(content: Any) -> Any:
    """Returns the content of a message in the words of this interface."""
    if isinstance(content, str):
        return content
    return [
        {"type": "input_text", "text": part["text"]}
        if part["type"] == "text"
        else {"type": "input_image", "image_url": part["image_url"]["url"]}
        for part in content
    ]


def _read(question: Question, answer: Any) -> dict[str, Any]:
    """Returns the values of a question's outputs; nulls where the model refuses."""
    kind = _member(answer, "type")
    if _member(answer, "name") not in (None, question.name):
        raise NodeError(
            "bad_output",
            f"the answers of the server are not in the order of the questions: '{question.name}'",
        )
    if kind == "refusal":
        return dict.fromkeys(question.outputs)
    if kind != question.kind:
        raise NodeError("bad_output", f"the answer to '{question.name}' is a {kind!r}, not a {question.kind}")
    if kind == "predicate":
        return {question.name: _probability(question, _member(answer, "probability"))}
    key = "value" if kind == "choice" else "label"
    listed = _member(answer, "probabilities")
    pairs = (
        [(_member(one, key), _member(one, "probability")) for one in listed]
        if isinstance(listed, list)
        else []
    )
    said = {name: probability for name, probability in pairs if isinstance(name, str)}
    if said.keys() != set(question.texts):
        raise NodeError("bad_output", f"the answer to '{question.name}' has other choices than the question")
    value = _member(answer, "choice") if kind == "choice" else _number(question, _member(answer, "score"))
    if kind == "choice" and value not in question.texts:
        raise NodeError("bad_output", f"the answer to '{question.name}' is none of its choices")
    return {
        question.name: value,
        question.name + PROBABILITIES: [_probability(question, said[text]) for text in question.texts],
        question.name + CONFIDENCE: _probability(question, _member(answer, "confidence")),
    }


def _member(holder: Any, name: str) -> Any:
    return getattr(holder, name, None)  # a server may leave out what the client declares


def _number(question: Question, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise NodeError("bad_output", f"the answer to '{question.name}' has {value!r} for a number")


def _probability(question: Question, value: Any) -> float:
    found = _number(question, value)
    if 0 <= found <= 1:
        return found
    raise NodeError("bad_output", f"the answer to '{question.name}' has {value!r} for a probability")
