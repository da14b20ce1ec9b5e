"""A language model on a server as a node: asks a question for each row, and reads the answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import openai
from openai.types.chat import ChatCompletion

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.chat.answer_schema import schema_of
from beam_ensembles.handlers.chat.answers import Answers
from beam_ensembles.handlers.chat.label_probabilities import ALTERNATIVES, probabilities_of, tokens_of
from beam_ensembles.handlers.chat.model import (
    PROBABILITIES,
    ChatOptions,
    probabilities_column,
    properties_of,
)
from beam_ensembles.handlers.chat.voting import elected, shares
from beam_ensembles.handlers.openai_interface.calls import Calls, Session
from beam_ensembles.handlers.openai_interface.client import send
from beam_ensembles.handlers.openai_interface.loading import calls_of
from beam_ensembles.handlers.openai_interface.prompts import Prompts
from beam_ensembles.handlers.openai_interface.rows import Messages, Rows, size_of
from beam_ensembles.handlers.support.call_counts import MALFORMED, REFUSALS, count
from beam_ensembles.types import Type

_AGAIN: Final = "Your answer cannot be used: {}. Answer once more, with nothing but the object in JSON."
_CUT: Final = "length"
_FILTERED: Final = "content_filter"
_UNUSABLE: Final = ("bad_output", "refusal")
"""Faults of answers that do not vote."""


def load_chat(node: CheckedNode[ChatOptions]) -> ChatMember:
    """Returns the loaded node; nobody is called yet.

    Raises:
        InvalidEnsemble: A secret is not on this worker, or cannot be a header.
    """
    return ChatMember(node, calls_of(node, node.options.max_tokens))


class ChatMember:
    """A node of a language model.

    Args:
        node: The node.
        calls: Makes the calls.
    """

    def __init__(self, node: CheckedNode[ChatOptions], calls: Calls) -> None:
        self._node = node
        self._rows = Rows(calls, node.outputs, dedupe=node.options.dedupe)
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
        return self._rows.answers(self._prompts.of_rows(columns), self._ask)

    async def _ask(self, session: Session, messages: Messages) -> Mapping[str, Any]:
        found = await self._found(session, messages)
        values = {column: found[name] for name, column in self._columns.items()}
        return (
            values if self._probabilities is None else {**values, self._probabilities: found[PROBABILITIES]}
        )

    async def _found(self, session: Session, messages: Messages) -> dict[str, Any]:
        options = self._node.options
        if options.votes == 1:
            return await self._answered(session, messages, options.seed)
        answers, fault = [], None
        for at in range(options.votes):  # one after the other: 'concurrency' counts rows, and so calls
            try:
                # With one seed for all of them a server would repeat itself.
                seed = None if options.seed is None else options.seed + at
                answers.append(await self._answered(session, messages, seed))
            except NodeError as error:
                if error.code not in _UNUSABLE:
                    raise
                fault = error
        if fault is not None and not answers:
            raise fault
        found = elected(answers, options.choices)
        if self._probabilities is None:
            return found
        ((name, labels),) = options.choices.items()
        return self._with(found, shares([answer[name] for answer in answers], labels))

    async def _answered(self, session: Session, messages: Messages, seed: int | None) -> dict[str, Any]:
        """Returns the values of an answer; asks again, with what is wrong, as often as the node says."""
        for attempt in range(self._node.options.repair + 1):
            answer = await session.call(self._completion(messages, seed), size_of(messages))
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
                return found if self._node.options.votes > 1 else self._with_probabilities(found, answer)
        raise AssertionError("the last attempt returns or raises")

    def _with_probabilities(self, found: dict[str, Any], answer: Any) -> dict[str, Any]:
        if self._probabilities is None:
            return found
        ((name, labels),) = self._node.options.choices.items()
        tokens, value = tokens_of(answer.choices[0]), found[name]
        return self._with(found, None if value is None else probabilities_of(tokens, name, value, labels))

    def _with(self, found: dict[str, Any], probabilities: list[float] | None) -> dict[str, Any]:
        if probabilities is None and not self._node.outputs[str(self._probabilities)].nullable:
            text = f"there are no probabilities; declare '{self._probabilities}' nullable, or leave them out"
            raise NodeError("bad_output", text)
        return {**found, PROBABILITIES: probabilities}

    def _completion(
        self, messages: Messages, seed: int | None
    ) -> Callable[[openai.AsyncOpenAI], Awaitable[Any]]:
        def create(client: openai.AsyncOpenAI) -> Awaitable[Any]:
            seeded = {} if seed is None else {"seed": seed}
            body = {"messages": messages, **seeded, **self._request}
            return send(client, "/chat/completions", body, ChatCompletion)

        return create


def _request_of(node: CheckedNode[ChatOptions], outputs: Mapping[str, Type]) -> dict[str, Any]:
    options = node.options
    request: dict[str, Any] = {"model": options.name}
    for name in ("temperature", "max_tokens"):
        if getattr(options, name) is not None:
            request[name] = getattr(options, name)
    if options.probabilities and options.votes == 1:
        request |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
    if not options.text and options.response_format == "json_schema":
        schema = {"name": node.spec.name, "strict": True, "schema": schema_of(outputs, options.choices)}
        request["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif not options.text and options.response_format == "json_object":
        request["response_format"] = {"type": "json_object"}
    return {**request, **options.inference_args}


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
