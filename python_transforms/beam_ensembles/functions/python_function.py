"""``python``: any function that a worker can import, over whole columns."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from beam_ensembles.columns.copies import copied
from beam_ensembles.errors import InvalidEnsemble, NodeError, Problem, listed
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import option
from beam_ensembles.handlers.support.beam_config import BatchOptions
from beam_ensembles.handlers.support.importing import check_import, import_name
from beam_ensembles.handlers.support.results import to_columns
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.types import Type


class FunctionOptions(BatchOptions):
    """The function to call, and its constant arguments."""

    function: str = option("", "Dotted name of the function.", required=True)
    call_args: Mapping[str, Any] = option({}, "Arguments that are the same for every batch, by name.")


class PythonFunctionKind(Kind[FunctionOptions]):
    """Calls a function once per batch: a numpy array per column in, an array or a mapping of arrays out."""

    kind = "apply"
    name = "python"
    summary = "Calls any importable function with whole columns."
    takes = (
        "Each column is an array, one leading item per row. A mapping, {argument: column}, names arguments; a list has "
        "them in order."
    )
    gives = "The function's array, or the arrays of a mapping that it returns, by name; types are declared."
    options = FunctionOptions

    def check(self, node: NodeView[FunctionOptions]) -> Mapping[str, Type | None]:
        """Checks that the function may be imported; workers alone import it."""
        check_import(node, "function", node.options.function, library=())
        if node.spec.inputs is None:
            text = "a function needs inputs: its arguments, such as {prices: price}"
            node.problem("missing_key", "inputs", text)
        _check_arguments(node)
        return {output.column: output.type for output in node.spec.outputs}

    def load(self, node: CheckedNode[FunctionOptions]) -> Member:
        """Imports the function, and compares what it takes with what it will be given."""
        function = import_name(node, "function", node.options.function)
        member = FunctionMember(node, function, dict(node.options.call_args))
        _check_signature(node, function, member)
        return member


@dataclasses.dataclass(frozen=True, slots=True)
class FunctionMember:
    """An imported function.

    Attributes:
        node: The node.
        function: The function.
        own: Its arguments that are no columns.
    """

    node: CheckedNode
    function: Callable[..., Any]
    own: Mapping[str, Any]

    def __call__(self, columns: Columns) -> Columns:
        """Calls the function once.

        Raises:
            NodeError: ``misaligned``, ``bad_output``: what it gives is not as declared.
        """
        given, named = self.arguments({name: copied(values) for name, values in columns.items()})
        answer = self.function(*given, **named)
        rows = len(columns[self.node.spec.columns[0]])
        return to_columns(self.node, self._answers(answer), rows)

    def arguments(self, columns: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Returns the arguments of a call: those in order, and those by name."""
        inputs = self.node.spec.inputs
        values = [columns[column] for column in self.node.spec.columns]
        if inputs is None or inputs.ports is None:
            return values, dict(self.own)
        return [], {**dict(zip(inputs.ports, values, strict=True)), **self.own}

    def _answers(self, answer: Any) -> dict[str, Any]:
        outputs = self.node.spec.outputs
        if not isinstance(answer, Mapping):
            if len(outputs) > 1:
                wanted = listed([output.port or output.column for output in outputs])
                text = f"the function gave a {type(answer).__name__}; for several columns it gives a mapping ({wanted})"
                raise NodeError("bad_output", text)
            return {outputs[0].column: _texts_kept(answer)}
        found = {}
        for output in outputs:
            port = output.port or output.column
            if port not in answer:
                text = f"the function returned no '{port}' (it returned: {listed(list(map(str, answer)))})"
                raise NodeError("bad_output", text)
            found[output.column] = _texts_kept(answer[port])
        return found


def _texts_kept(values: Any) -> Any:
    """Returns a list of texts or bytes as objects: numpy's own drop the zeros at their end."""
    if isinstance(values, list | tuple) and values and isinstance(values[0], str | bytes):
        return np.fromiter(values, dtype=object, count=len(values))
    return values


def _check_arguments(node: NodeView[FunctionOptions]) -> None:
    inputs = node.spec.inputs
    for at, port in enumerate((inputs.ports if inputs is not None else None) or ()):
        if port in node.options.call_args and inputs is not None:
            node.problem("bad_value", inputs.path(at), f"'{port}' stands in 'call_args' too")


def _check_signature(node: CheckedNode[FunctionOptions], function: Any, member: FunctionMember) -> None:
    """Ensures that a function takes what it will be given.

    Raises:
        InvalidEnsemble: It does not, or is a class.
    """
    name = node.options.function
    if inspect.isclass(function):
        text = f"'{name}' is a class; name a function, or make it a model handler ('model: python')"
        raise InvalidEnsemble([Problem(node.spec.path("function"), "import_failed", text)])
    given, named = member.arguments(dict.fromkeys(node.spec.columns))
    try:
        inspect.signature(function).bind(*given, **named)
    except TypeError as exc:
        text = f"'{name}' does not take these: {text_of(exc)}"
        raise InvalidEnsemble([Problem(node.spec.path("inputs"), "signature_mismatch", text)]) from exc
    except ValueError:
        return  # a function of C may not say what it takes
