"""``model: embed``: a model of vectors on a server with OpenAI's embeddings interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from beam_ensembles.graph.kinds import CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.graph.options import option
from beam_ensembles.graph.output_ports import settle
from beam_ensembles.handlers.openai_interface.options import ServerOptions, check_server, rows_of_rounds
from beam_ensembles.types import FLOAT, STRING, Array, Scalar, Type

_ROWS_OF_A_CALL: Final = 4_096
_OWN: Final = ("dimensions", "encoding_format", "extra_body", "input", "model")
_ELEMENTS: Final = ("float", "double")


class EmbedOptions(ServerOptions):
    """What a model of vectors takes."""

    dimensions: int | None = option(
        None,
        "How long the vectors are, for models that shorten them.",
        least=1,
        most=1 << 20,
        shown="the model's",
    )
    together: int = option(64, "How many texts each call sends.", least=1, most=2_048)

    @staticmethod
    def own_arguments() -> Sequence[str]:
        """Returns the members of a request that other keys say, or that the answers depend on."""
        return _OWN


class EmbedKind(Kind[EmbedOptions]):
    """Asks a server for the vectors of texts by the official ``openai`` client, many texts a call."""

    kind = "model"
    name = "embed"
    summary = "Makes vectors of texts by a model on a server with OpenAI's embeddings interface."
    takes = "One column of texts."
    gives = "One column of vectors: array<float>[N]."
    extra = "openai"
    modules = ("openai",)
    work = Work.ELSEWHERE
    call_rows = _ROWS_OF_A_CALL
    options = EmbedOptions

    def check(self, node: NodeView[EmbedOptions]) -> Mapping[str, Type | None]:
        """Checks the columns, and whether the server may be called; nobody is called."""
        check_server(node)
        if len(node.spec.columns) != 1:
            text = f"embed reads one column of texts, such as [ticket]; here are {len(node.spec.columns)}"
            node.problem("missing_key" if node.spec.inputs is None else "bad_value", "inputs", text)
        elif (type_ := node.inputs.get(node.spec.columns[0])) is not None and type_ != STRING:
            where = node.spec.inputs.path(0) if node.spec.inputs is not None else "inputs"
            text = f"'{node.spec.columns[0]}' is {type_}; vectors are made of string"
            node.problem("type_mismatch", where, text)
        if len(node.spec.outputs) > 1:
            text = f"embed gives one column of vectors; here are {len(node.spec.outputs)}"
            node.problem("bad_value", "outputs", text)
        for output in node.spec.outputs:
            if output.type is not None and not _holds_vectors(output.type):
                text = f"'{output.column}' is {output.type}; vectors are array<float>[N] or array<double>[N]"
                node.problem("type_mismatch", f"outputs.{output.column}", text)
        length = node.options.dimensions
        found = None if length is None else Array(FLOAT, (length,))
        return settle(node, "type_mismatch", {output.column: found for output in node.spec.outputs})

    def batch_rows(self, node: CheckedNode[EmbedOptions]) -> int:
        """Returns the rows that keep all calls busy that are under way at one time."""
        return rows_of_rounds(node, node.options.together)

    def load(self, node: CheckedNode[EmbedOptions]) -> Member:
        """Returns the node with its client; the server need not answer yet."""
        from beam_ensembles.handlers.support import member

        try:
            from beam_ensembles.handlers.embed.member import load_embed
        except ImportError as error:
            raise member.not_installed(node, "openai", error) from error
        return load_embed(node)


def _holds_vectors(type_: Type) -> bool:
    return (
        isinstance(type_, Array)
        and isinstance(type_.element, Scalar)
        and type_.element.name in _ELEMENTS
        and len(type_.shape or (0,)) == 1
    )
