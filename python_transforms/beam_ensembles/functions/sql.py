"""``sql``: columns computed by SQL expressions."""

from __future__ import annotations

from collections.abc import Mapping

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.expressions.checks import check_expression
from beam_ensembles.graph.expressions.types import has_null_items
from beam_ensembles.graph.kinds import CheckedNode, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.output_ports import holds
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.spec.places import below
from beam_ensembles.types import Array, Type


class SqlOptions(Options):
    """The expressions."""

    select: Mapping[str, str] = option(
        {},
        'The expression of each column: {age: "COALESCE(age_days, 0.0)"}.',
        required=True,
    )


class SqlKind(Kind[SqlOptions]):
    """Computes columns by expressions, each from one row alone."""

    kind = "apply"
    name = "sql"
    summary = "Computes columns by SQL expressions."
    takes = "Nothing to list: the columns that the expressions read are its inputs."
    gives = "One column for each expression of `select`, by its name; its type need not be declared."
    takes_nulls = True
    options = SqlOptions

    def check(self, node: NodeView[SqlOptions]) -> Mapping[str, Type | None]:
        """Checks every expression at its place (``select.age``), and what ``outputs`` declares of its column."""
        select = node.options.select
        inputs = node.spec.inputs
        if inputs is not None and inputs.ports is not None:
            node.problem(
                "unknown_port", inputs.path(0), "expressions read columns by name; leave 'inputs' out"
            )
            return {}
        if inputs is None and select:
            node.problem("no_inputs", "select", "the expressions read no column; a node reads at least one")
            return {}
        given = _types_of(node, select)
        declared = {output.column: output.type for output in node.spec.outputs}
        ports = _ports(node.spec)
        for column, port in ports.items():
            if port not in select:
                text = f"there is no expression for '{port}' in 'select' (there are: {listed(list(select))})"
                node.problem("unknown_port", below("outputs", column), f"{text}{nearest(port, select)}")
        return {
            column: self._settled(node, column, declared[column], given.get(port))
            for column, port in ports.items()
        }

    def _settled(self, node: NodeView, column: str, declared: Type | None, given: Type | None) -> Type | None:
        if declared is None or given is None:
            return declared or given
        if not _holds(declared, given):
            text = f"'{column}' is declared {declared}, but its expression gives {given}; cast it"
        elif _is_nullable(given) and not _is_nullable(declared):
            text = f"'{column}' is declared {declared}, but its expression may give null; write COALESCE(..., value)"
        else:
            return declared
        node.problem("type_mismatch", f"outputs.{column}", text)
        return None

    def load(self, node: CheckedNode[SqlOptions]) -> Member:
        """Compiles the expressions."""
        from beam_ensembles.columns.expressions import Expressions

        select = node.options.select
        texts = {column: select[port] for column, port in _ports(node.spec).items()}
        return Expressions(texts, node.inputs, node.outputs)


def _ports(spec: NodeSpec) -> dict[str, str]:
    """Returns for each column the key of its expression."""
    return {output.column: output.port or output.column for output in spec.outputs}


def _types_of(node: NodeView, select: Mapping[str, str]) -> dict[str, Type | None]:
    types = {name: node.inputs.get(name) for name in node.spec.columns}

    def type_of(column: str, text: str) -> Type | None:
        place = below("select", column)
        return check_expression(text, types, lambda code, message: node.problem(code, place, message))

    return {column: type_of(column, text) for column, text in select.items()}


def _holds(declared: Type, given: Type) -> bool:
    if isinstance(declared, Array) and isinstance(given, Array) and given.shape is None:
        return holds(Array(declared.element), given)  # the length of each row's list is checked when it runs
    return holds(declared, given)


def _is_nullable(type_: Type) -> bool:
    return type_.nullable or has_null_items(type_)
