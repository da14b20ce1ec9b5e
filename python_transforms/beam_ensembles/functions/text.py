"""``text``: a text made of columns by a template, such as a prompt."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.columns.value_texts import has_text, texts_of
from beam_ensembles.errors import listed, nearest
from beam_ensembles.functions.inputs import wrong_input
from beam_ensembles.functions.rows import finished, objects
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.spec.templates import Template, TemplateError, parse_template
from beam_ensembles.types import STRING, Type

PORT: Final = "text"


class TextOptions(Options):
    """What a text takes."""

    template: str | None = option(
        None,
        "The text; {name} stands for a column's value, {{ for a brace, and nothing is evaluated.",
        required=True,
    )
    separator: str = option(", ", "The text between the items of a list.", shown='", "')
    null_text: str = option("", "What stands for a null.", shown="nothing")


class TextKind(Kind[TextOptions]):
    """Fills a template with columns."""

    kind = "apply"
    name = "text"
    summary = "Makes a text of columns by a template."
    takes = "Texts, numbers, truth values and lists of them: a list of columns, or a mapping from the template's names."
    gives = "text: string."
    takes_nulls = True
    options = TextOptions

    def check(self, node: NodeView[TextOptions]) -> Mapping[str, Type | None]:
        """Checks that the template names the node's columns, and that they can be written."""
        if node.spec.inputs is None:
            text = "text needs inputs: the columns of its template, such as [title, body]"
            node.problem("missing_key", "inputs", text)
        else:
            _check_template(node, _names(node.spec))
        for index, column in enumerate(node.spec.columns):
            type_ = node.inputs.get(column)
            if type_ is not None and not has_text(type_):
                wrong_input(node, index, "texts, numbers, truth values and lists of those")
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), STRING))

    def load(self, node: CheckedNode[TextOptions]) -> Member:
        """Nothing is loaded: gives the function itself."""
        return Text(
            parse_template(str(node.options.template)),
            dict(zip(_names(node.spec), node.spec.columns, strict=True)),
            node.inputs,
            node.options.separator,
            node.options.null_text,
            node.outputs,
        )


def _names(spec: NodeSpec) -> Sequence[str]:
    """Returns the name of each column in the template."""
    return spec.columns if spec.inputs is None or spec.inputs.ports is None else spec.inputs.ports


def _check_template(node: NodeView[TextOptions], names: Sequence[str]) -> None:
    text = node.options.template
    if text is None:
        return
    try:
        template = parse_template(text)
    except TemplateError as error:
        node.problem("bad_template", "template", str(error))
        return
    for name in dict.fromkeys(template.names):
        if name not in names:
            known = f"(inputs: {listed(names)})"
            node.problem(
                "bad_template", "template", f"{{{name}}} is none of the inputs{nearest(name, names)} {known}"
            )
    for index, name in enumerate(names):
        if name not in template.names and node.spec.inputs is not None:
            text = f"the template has no {{{name}}}; use it there, or take it out here"
            node.problem("bad_template", node.spec.inputs.path(index), text)


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """Writes a template's text for each row.

    Attributes:
        template: The template.
        columns: The column of each of its names.
        types: The type of each column.
        separator: The text between the items of a list.
        null: The text for a null.
        outputs: The type of each column that it adds.
    """

    template: Template
    columns: Mapping[str, str]
    types: Mapping[str, Type]
    separator: str
    null: str
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Writes every row's text."""
        written = {
            column: texts_of(columns, column, self.types[column], self.separator, self.null)
            for column in self.columns.values()
        }
        rows = len(next(iter(written.values())))
        parts: list[Any] = [itertools.repeat(self.template.texts[0], rows)]
        for name, text in zip(self.template.names, self.template.texts[1:], strict=True):
            parts += [written[self.columns[name]], itertools.repeat(text, rows)]
        column = objects(list(map("".join, zip(*parts, strict=True))))
        return finished(dict.fromkeys(self.outputs, (column, STRING)), self.outputs, {})
