"""``model: chat``: a language model on a server with OpenAI's chat completions interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.class_meanings import LABELS, SCORES, Meaning
from beam_ensembles.graph.kinds import CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.graph.options import Mistake, option
from beam_ensembles.graph.output_ports import settle
from beam_ensembles.handlers.chat.answer_schema import is_answerable
from beam_ensembles.handlers.chat.voting import can_be_voted
from beam_ensembles.handlers.openai_interface.options import ServerOptions, check_server, rows_of_rounds
from beam_ensembles.handlers.openai_interface.prompts import check_messages
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.spec.places import below
from beam_ensembles.types import DOUBLE, STRING, Array, Type

PROBABILITIES: Final = "probabilities"
"""The output of the probabilities of the choices."""
_ROWS_OF_A_CALL: Final = 1_024
_MOST_CHOICES: Final = 1_000
_MOST_VOTES: Final = 100
_OWN: Final = (
    "extra_body",
    "logprobs",
    "max_tokens",
    "messages",
    "model",
    "n",
    "response_format",
    "seed",
    "stream",
    "temperature",
    "top_logprobs",
)


class ChatOptions(ServerOptions):
    """What a language model takes."""

    messages: list[Any] = option(
        [], "The messages of each row: a role and a content with {column} for values.", required=True
    )
    text: bool = option(
        False, "Whether the whole answer is the node's only output, a text; else it is an object in JSON."
    )
    choices: Mapping[str, Any] = option(
        {}, "For outputs that are texts: the allowed ones, {output: [text, ...]}."
    )
    probabilities: bool = option(
        False,
        "Whether the output 'probabilities' has the probability of each of the 'choices', in their order; null where "
        "the server does not say. With 'votes' it has their shares of the votes.",
    )
    response_format: str = option(
        "json_schema",
        "How the server is told the form of an answer: by the schema of the outputs, as any object, or by the "
        "messages alone.",
        choices=("json_schema", "json_object", "none"),
    )
    temperature: float | None = option(
        None, "The temperature; 0 for the likeliest answer.", shown="the server's"
    )
    seed: int | None = option(None, "The seed, for servers that have one.", shown="the server's")
    max_tokens: int | None = option(
        None,
        "The most tokens of an answer; a longer one fails its row.",
        least=1,
        most=1 << 20,
        shown="the server's",
    )
    repair: int = option(
        0,
        "How often the model is asked again, and told the fault, where its answer cannot be used.",
        least=0,
        most=3,
    )
    votes: int = option(
        1,
        "How often the model is asked about each row; each output is what most of the answers say. Texts, booleans and "
        "whole numbers can be voted on.",
        least=1,
        most=_MOST_VOTES,
    )
    dedupe: bool = option(True, "Whether rows of a batch with the same messages share one call.")

    def mistakes(self) -> Iterator[Mistake]:
        """Finds choices that are not different texts, and probabilities of none or several outputs."""
        yield from super().mistakes()
        for name, texts in self.choices.items():
            if not _are_choices(texts):
                text = f"'{name}' has {texts!r}; it is a list of 1 to {_MOST_CHOICES:,} different texts"
                yield Mistake(below("choices", str(name)), "bad_value", text)
        if self.probabilities and len(self.choices) != 1:
            text = f"the probabilities are those of one output with 'choices'; here are {len(self.choices)}"
            yield Mistake("probabilities", "bad_value", text)
        if self.votes > 1 and self.temperature == 0:
            text = (
                "with 'temperature: 0' all answers to a row are the same; raise it, such as to 0.7, or leave "
                "'votes' out"
            )
            yield Mistake("votes", "bad_value", text)

    @staticmethod
    def own_arguments() -> Sequence[str]:
        """Returns the members of a request that other keys say, or that the answers depend on."""
        return _OWN


class ChatKind(Kind[ChatOptions]):
    """Asks a language model about each row by the official ``openai`` client."""

    kind = "model"
    name = "chat"
    summary = "Asks a language model on a server with OpenAI's chat completions interface."
    takes = "The columns of its messages: texts, numbers, truth values, lists of them, and images as bytes."
    gives = (
        "The members of the answer's object, by name; with 'text: true' the whole answer is the only output."
    )
    extra = "openai"
    modules = ("openai",)
    work = Work.ELSEWHERE
    call_rows = _ROWS_OF_A_CALL
    options = ChatOptions

    def check(self, node: NodeView[ChatOptions]) -> Mapping[str, Type | None]:
        """Checks the messages, the outputs, and whether the server may be called; nobody is called."""
        check_server(node)
        if "messages" not in node.wrong:
            check_messages(node, node.options.messages)
        if node.options.text:
            return _settled_text(node)
        _check_outputs(node)
        return settle(node, "type_mismatch", _probabilities(node))

    def batch_rows(self, node: CheckedNode[ChatOptions]) -> int:
        """Returns the rows that keep all calls busy that are under way at one time."""
        return rows_of_rounds(node)

    def load(self, node: CheckedNode[ChatOptions]) -> Member:
        """Returns the node with its client; the server need not answer yet."""
        from beam_ensembles.handlers.support import member

        try:
            from beam_ensembles.handlers.chat.member import load_chat
        except ImportError as error:
            raise member.not_installed(node, "openai", error) from error
        return load_chat(node)


def properties_of(spec: NodeSpec, options: ChatOptions) -> dict[str, str]:
    """Returns the column of each member of an answer's object."""
    found = {output.port or output.column: output.column for output in spec.outputs}
    if options.probabilities:
        found.pop(PROBABILITIES, None)
    return found


def probabilities_column(spec: NodeSpec, options: ChatOptions) -> str | None:
    """Returns the column of the probabilities of the choices; None where the node has none."""
    names = (output.column for output in spec.outputs if (output.port or output.column) == PROBABILITIES)
    return next(names, None) if options.probabilities else None


def _are_choices(texts: Any) -> bool:
    return (
        isinstance(texts, list)
        and 1 <= len(texts) <= _MOST_CHOICES
        and all(isinstance(text, str) for text in texts)
        and len(set(texts)) == len(texts)
    )


def _settled_text(node: NodeView[ChatOptions]) -> Mapping[str, Type | None]:
    if len(node.spec.outputs) > 1:
        text = "with 'text: true' the answer is one text; leave one output, or leave 'text' out"
        node.problem("bad_value", "text", text)
    if node.options.choices:
        text = "'choices' are for answers in JSON; leave 'text' out"
        node.problem("unsupported_option", "choices", text)
    return settle(node, "type_mismatch", {output.column: STRING for output in node.spec.outputs})


def _probabilities(node: NodeView[ChatOptions]) -> Mapping[str, Type | None]:
    """Returns the type of the probabilities, by their column."""
    column = probabilities_column(node.spec, node.options)
    texts = next(iter(node.options.choices.values()), ())
    if column is None:
        if node.options.probabilities:
            text = "no output has the probabilities; add 'probabilities: {}' to 'outputs'"
            node.problem("missing_key", "outputs", text)
        return {}
    if "choices" in node.wrong or not _are_choices(texts):
        return {column: None}
    node.tell(column, Meaning(SCORES, tuple(texts)))
    return {column: Array(DOUBLE, (len(texts),)).optional()}


def _check_outputs(node: NodeView[ChatOptions]) -> None:
    found = properties_of(node.spec, node.options)
    types = {output.column: output.type for output in node.spec.outputs if output.column in found.values()}
    for column, type_ in types.items():
        if type_ is not None and not is_answerable(type_):
            text = (
                f"'{column}' is {type_}, which an answer in JSON cannot have; allowed: string, boolean, numbers, "
                "lists and rows of them"
            )
            node.problem("type_mismatch", f"outputs.{column}", text)
        elif type_ is not None and node.options.votes > 1 and not can_be_voted(type_):
            text = (
                f"'{column}' is {type_}; 'votes' counts equal texts, whole numbers and booleans: declare one of "
                "those, or give the others a node of their own"
            )
            node.problem("type_mismatch", f"outputs.{column}", text)
    if "choices" in node.wrong:
        return
    for name, texts in node.options.choices.items():
        place = below("choices", name)
        if name not in found:
            text = (
                f"no output is called '{name}'{nearest(name, list(found))} (outputs: {listed(list(found))})"
            )
            node.problem("unknown_option", place, text)
        elif (type_ := types[found[name]]) is not None and type_.required() != STRING:
            node.problem("type_mismatch", place, f"'{name}' is {type_}; choices are texts")
        elif _are_choices(texts):
            node.tell(found[name], Meaning(LABELS, tuple(texts)))
