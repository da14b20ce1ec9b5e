"""``model: decisions``: a model on a server with OpenAI's decisions interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.class_meanings import LABELS, SCORES, Meaning
from beam_ensembles.graph.kinds import CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.graph.options import Mistake, option
from beam_ensembles.graph.output_ports import settle
from beam_ensembles.handlers.decisions.questions import FORM, PROBABILITIES, mistakes_in, read_questions
from beam_ensembles.handlers.openai_interface.options import ServerOptions, check_server, rows_of_rounds
from beam_ensembles.handlers.openai_interface.prompts import check_messages
from beam_ensembles.types import Type

_ROWS_OF_A_CALL: Final = 1_024
_OWN: Final = ("extra_body", "input", "model", "questions")


class DecisionsOptions(ServerOptions):
    """What a decision model takes."""

    messages: list[Any] = option(
        [], "The messages of each row: a role and a content with {column} for values.", required=True
    )
    questions: Mapping[str, Any] = option(
        {}, f"The questions about each row by their names: {FORM}.", required=True
    )
    dedupe: bool = option(True, "Whether rows of a batch with the same messages share one call.")

    def mistakes(self) -> Iterator[Mistake]:
        """Finds questions that are not of the form."""
        yield from super().mistakes()
        yield from mistakes_in(self.questions)

    @staticmethod
    def own_arguments() -> Sequence[str]:
        """Returns the members of a request that other keys say, or that the answers depend on."""
        return _OWN


class DecisionsKind(Kind[DecisionsOptions]):
    """Asks a decision model typed questions about each row by the official ``openai`` client."""

    kind = "model"
    name = "decisions"
    summary = (
        "Asks a decision model typed questions about each row, on a server with OpenAI's decisions interface."
    )
    takes = "The columns of its messages: texts, numbers, truth values, lists of them, and images as bytes."
    gives = (
        "For each question NAME: the probability of a statement, the choice, or the score; of choices and scores also "
        "NAME_probabilities and NAME_confidence."
    )
    extra = "openai"
    modules = ("openai",)
    work = Work.ELSEWHERE
    call_rows = _ROWS_OF_A_CALL
    options = DecisionsOptions

    def check(self, node: NodeView[DecisionsOptions]) -> Mapping[str, Type | None]:
        """Checks the messages, the questions, and whether the server may be called; nobody is called."""
        check_server(node)
        if "messages" not in node.wrong:
            check_messages(node, node.options.messages)
        if any(place.startswith("questions") for place in node.wrong):
            return {output.column: output.type for output in node.spec.outputs}
        questions = read_questions(node.options.questions)
        types = {name: type_ for question in questions for name, type_ in question.outputs.items()}
        classes = {
            question.name + end: Meaning(what, question.texts)
            for question in questions
            if question.texts
            for end, what in (("", LABELS), (PROBABILITIES, SCORES))
            if question.kind == "choice" or end
        }
        found: dict[str, Type | None] = {}
        for output in node.spec.outputs:
            name = output.port or output.column
            if name not in types:
                text = (
                    f"no question gives '{name}'{nearest(name, list(types))} (outputs: {listed(list(types))})"
                )
                node.problem("unknown_port", f"outputs.{output.column}", text)
                found[output.column] = None
                continue
            found[output.column] = types[name]
            if name in classes:
                node.tell(output.column, classes[name])
        return settle(node, "type_mismatch", found)

    def batch_rows(self, node: CheckedNode[DecisionsOptions]) -> int:
        """Returns the rows that keep all calls busy that are under way at one time."""
        return rows_of_rounds(node)

    def load(self, node: CheckedNode[DecisionsOptions]) -> Member:
        """Returns the node with its client; the server need not answer yet."""
        from beam_ensembles.handlers.support import member

        try:
            from beam_ensembles.handlers.decisions.member import load_decisions
        except ImportError as error:
            raise member.not_installed(node, "openai", error) from error
        return load_decisions(node)
