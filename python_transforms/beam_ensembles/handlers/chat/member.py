"""A language model on a server as a node: asks a question for each row, and reads the answers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import openai

from beam_ensembles.columns.nulls import nullable_column
from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.graph.kinds import CheckedNode, Columns, validity
from beam_ensembles.handlers.chat.answer_schema import schema_of
from beam_ensembles.handlers.chat.answers import Answers
from beam_ensembles.handlers.chat.label_probabilities import ALTERNATIVES, probabilities_of, tokens_of
from beam_ensembles.handlers.chat.model import (
    PROBABILITIES,
    ChatOptions,
    probabilities_column,
    properties_of,
)
from beam_ensembles.handlers.chat.prompts import Prompts
from beam_ensembles.handlers.openai_interface.calls import Calls, Session
from beam_ensembles.handlers.openai_interface.loading import calls_of
from beam_ensembles.handlers.support.answered_rows import listener
from beam_ensembles.handlers.support.call_counts import MALFORMED, REFUSALS, SHARED, count
from beam_ensembles.types import Type

_AGAIN: Final = "Your answer cannot be used: {}. Answer once more, with nothing but the object in JSON."
_CUT: Final = "length"
_FILTERED: Final = "content_filter"


def load_chat(node: CheckedNode[ChatOptions]) -> ChatMember:
    """Returns the loaded node; nobody is called yet.

    Raises:
        InvalidEnsemble: A secret is not on this worker, or cannot be a header.
    """
    return ChatMember(node, calls_of(node, node.options.max_tokens))


@dataclasses.dataclass(frozen=True, slots=True)
class _Question:
    """Messages that are sent.

    Attributes:
        messages: The messages.
        rows: The positions of the rows that have them.
    """

    messages: list[dict[str, Any]]
    rows: list[int]


class ChatMember:
    """A node of a language model.

    Args:
        node: The node.
        calls: Makes the calls.
    """

    def __init__(self, node: CheckedNode[ChatOptions], calls: Calls) -> None:
        self._node, self._calls = node, calls
        self._prompts = Prompts(node, node.options.messages)
        self._columns = properties_of(node.spec, node.options)
        self._probabilities = probabilities_column(node.spec, node.options)
        outputs = {name: node.outputs[column] for name, column in self._columns.items()}
        self._answers = Answers(outputs, node.options.choices)
        self._request = _request_of(node, outputs)

    def __call__(self, columns: Columns) -> Columns:
        """Asks about every row; rows with the same messages share one call unless the node says otherwise.

        Raises:
            SomeFailed: Some rows have no answer that can be used.
            NodeError: No row has one.
        """
        prompts = self._prompts.of_rows(columns)
        places: dict[Any, int] = {}
        asked: list[_Question] = []
        where: list[int | NodeError] = []
        for at, prompt in enumerate(prompts):
            if isinstance(prompt, NodeError):
                where.append(prompt)
                continue
            key = json.dumps(prompt) if self._node.options.dedupe else at
            if key not in places:
                places[key] = len(asked)
                asked.append(_Question(prompt, []))
            asked[places[key]].rows.append(at)
            where.append(places[key])
        count(SHARED, len(where) - sum(isinstance(one, NodeError) for one in where) - len(asked))
        answers = self._calls.all(self._ask, asked)
        return self._columns_of([one if isinstance(one, NodeError) else answers[one] for one in where])

    async def _ask(self, session: Session, question: _Question) -> Any:
        """Returns the values of an answer, and tells who listens."""
        found = await self._answered(session, question.messages)
        tell = listener()
        if tell is not None:
            rows = len(question.rows)
            tell(question.rows, self._columns_of([found] * rows))
        return found

    async def _answered(self, session: Session, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Returns the values of an answer; asks again, with what is wrong, as often as the node says."""
        for attempt in range(self._node.options.repair + 1):
            answer = await session.call(self._completion(messages), _size(messages))
            text = _counted_text(answer)
            if self._node.options.text:
                return {next(iter(self._columns)): text}
            try:
                found = self._answers.read(text)
            except NodeError as error:
                count(MALFORMED)
                if attempt == self._node.options.repair:
                    raise
                messages = [
                    *messages,
                    {"role": "assistant", "content": text},
                    {"role": "user", "content": _AGAIN.format(error.message)},
                ]
            else:
                return self._with_probabilities(found, answer)
        raise AssertionError("the last attempt returns or raises")

    def _with_probabilities(self, found: dict[str, Any], answer: Any) -> dict[str, Any]:
        if self._probabilities is None:
            return found
        ((name, labels),) = self._node.options.choices.items()
        tokens, value = tokens_of(answer.choices[0]), found[name]
        said = None if value is None else probabilities_of(tokens, name, value, labels)
        if said is None and not self._node.outputs[self._probabilities].nullable:
            text = f"the server says no probabilities; declare '{self._probabilities}' nullable, or leave them out"
            raise NodeError("bad_output", text)
        return {**found, PROBABILITIES: said}

    def _completion(self, messages: list[dict[str, Any]]) -> Callable[[openai.AsyncOpenAI], Awaitable[Any]]:
        def create(client: openai.AsyncOpenAI) -> Awaitable[Any]:
            make: Any = client.chat.completions.create
            found: Awaitable[Any] = make(messages=messages, **self._request)
            return found

        return create

    def _columns_of(self, answers: Sequence[Any]) -> Columns:
        faults = {at: answer for at, answer in enumerate(answers) if isinstance(answer, NodeError)}
        good = [answer for answer in answers if not isinstance(answer, NodeError)]
        if faults and not good and len(set(map(id, faults.values()))) == 1:
            raise faults[0]
        found: dict[str, Any] = {}
        columns = self._columns
        if self._probabilities is not None:
            columns = {**columns, PROBABILITIES: self._probabilities}
        for name, column in columns.items():
            found |= _column([answer[name] for answer in good], self._node.outputs[column], column)
        if faults:
            raise SomeFailed(found, faults)
        return found


def _size(messages: list[dict[str, Any]]) -> int:
    """Returns the bytes of the texts; a picture is many bytes and few tokens."""
    parts = (part for one in messages for part in _texts(one["content"]))
    return sum(len(part.encode(errors="surrogatepass")) for part in parts)


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]


def _request_of(node: CheckedNode[ChatOptions], outputs: Mapping[str, Type]) -> dict[str, Any]:
    options = node.options
    request: dict[str, Any] = {"model": options.name, "extra_body": dict(options.inference_args)}
    for name in ("temperature", "seed", "max_tokens"):
        if getattr(options, name) is not None:
            request[name] = getattr(options, name)
    if options.probabilities:
        request |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
    if not options.text and options.response_format == "json_schema":
        schema = {"name": node.spec.name, "strict": True, "schema": schema_of(outputs, options.choices)}
        request["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif not options.text and options.response_format == "json_object":
        request["response_format"] = {"type": "json_object"}
    return request


def _counted_text(answer: Any) -> str:
    try:
        return _text_of(answer)
    except NodeError as error:
        count(REFUSALS if error.code == "refusal" else MALFORMED)
        raise


def _text_of(answer: Any) -> str:
    """Returns the text of a chat completion.

    Raises:
        NodeError: ``refusal``: the model refuses; ``bad_output``: there is no whole text.
    """
    choices = getattr(answer, "choices", None)
    if not isinstance(choices, list) or not choices or getattr(choices[0], "message", None) is None:
        raise NodeError("bad_output", "the server's answer is not a chat completion: it has no 'choices'")
    message = choices[0].message
    if isinstance(refusal := getattr(message, "refusal", None), str) and refusal:
        raise NodeError("refusal", f"the model refuses to answer: {refusal[:400]}")
    reason = getattr(choices[0], "finish_reason", None)
    if reason == _FILTERED:
        raise NodeError("refusal", "the server filtered the answer")
    if reason == _CUT:
        raise NodeError(
            "bad_output", "the answer was cut at its largest number of tokens; raise 'max_tokens'"
        )
    content = getattr(message, "content", None)
    if not isinstance(content, str):
        raise NodeError("bad_output", f"the server's answer has no text, but {type(content).__name__}")
    return content


def _column(values: list[Any], type_: Type, name: str) -> dict[str, Any]:
    found, present = nullable_column(values, type_, name)
    return {name: found.values} if present is None else {name: found.values, validity(name): present}
