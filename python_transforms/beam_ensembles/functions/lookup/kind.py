"""``lookup``: columns of a database's table, by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from beam_ensembles.functions.lookup.settings import (
    LookupOptions,
    check_cache,
    settings_of,
)
from beam_ensembles.graph.database_urls import check_database
from beam_ensembles.graph.kinds import CheckedNode, Kind, Member, NodeView
from beam_ensembles.handlers.support import member
from beam_ensembles.types import NUMPY_DTYPES, Scalar, Type

EXTRA: Final = "lookup"


class LookupKind(Kind[LookupOptions]):
    """Enriches rows from a database between two nodes; all keys of a batch are asked for together."""

    kind = "apply"
    name = "lookup"
    summary = "Looks rows up in a table of a database, by key."
    takes = "The columns of 'key': texts, whole numbers, truth values."
    gives = "The table's columns, by name; their types are declared."
    extra = EXTRA
    modules = ("sqlalchemy",)
    takes_nulls = True
    options = LookupOptions

    def check(self, node: NodeView[LookupOptions]) -> Mapping[str, Type | None]:
        """Checks what the node says; the database is not asked before workers do."""
        check_database(node, "url", node.options.url)
        _check_key(node)
        if not all(node.options.table.split(".")):
            node.problem("bad_value", "table", "name a table, or SCHEMA.TABLE")
        check_cache(node)
        if node.options.missing == "nullify":
            _check_nullable(node)
        return {output.column: output.type for output in node.spec.outputs}

    def load(self, node: CheckedNode[LookupOptions]) -> Member:
        """Creates the connections; the database need not answer yet."""
        try:
            from beam_ensembles.functions.lookup.member import LookupMember
        except ImportError as exc:
            raise member.not_installed(node, EXTRA, exc) from exc
        return LookupMember(node, settings_of(node.options))


def _check_key(node: NodeView) -> None:
    inputs = node.spec.inputs
    if inputs is not None and not inputs.places:
        node.problem("bad_value", "inputs", "the 'key' of a lookup says what it reads; leave 'inputs' out")
        return
    for at, column in enumerate(node.spec.columns):
        type_ = node.inputs.get(column)
        if type_ is not None and inputs is not None and not _is_key(type_):
            text = f"'{column}' is {type_}; a key is string, boolean or a whole number"
            node.problem("type_mismatch", inputs.path(at), text)


def _is_key(type_: Type) -> bool:
    if not isinstance(type_, Scalar):
        return False
    dtype = NUMPY_DTYPES.get(type_.name)
    return type_.name == "string" if dtype is None else dtype.kind in "biu"


def _check_nullable(node: NodeView) -> None:
    for output in node.spec.outputs:
        if output.type is not None and not output.type.nullable:
            text = f"with 'missing: nullify' a row may have no '{output.column}': declare it '{output.type}?'"
            node.problem("type_mismatch", f"outputs.{output.column}", text)
