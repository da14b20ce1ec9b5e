"""Any model handler: a class with Beam's interface that a worker can import."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import logging
import os
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import EnsembleError, InvalidEnsemble, Problem
from beam_ensembles.graph.kinds import (
    ROWS_OF_A_CALL,
    CheckedNode,
    Columns,
    Kind,
    Member,
    NodeView,
    Work,
)
from beam_ensembles.graph.secrets import check_secret, revealed
from beam_ensembles.handlers.python.calls import Calls, blame
from beam_ensembles.handlers.python.examples import columns_of, examples_of, shape_of_one
from beam_ensembles.handlers.python.options import PythonOptions
from beam_ensembles.handlers.python.policy import KNOWN, check_policy
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.arguments import list_argument
from beam_ensembles.handlers.support.beam_config import HONOURED as OF_ALL
from beam_ensembles.handlers.support.beam_config import Accepted, check_config
from beam_ensembles.handlers.support.importing import import_name
from beam_ensembles.handlers.support.load_failures import reason
from beam_ensembles.handlers.support.missing_values import view_of
from beam_ensembles.handlers.support.model_file import check_file, verified
from beam_ensembles.handlers.support.shared_members import SharedMember
from beam_ensembles.messages.foreign_errors import described
from beam_ensembles.spec.places import below
from beam_ensembles.spec.secrets import is_secret
from beam_ensembles.types import Type

_LOGGER: Final = logging.getLogger(__name__)
_NO_FUNCTION: Final = "a function is named under 'functions'"
CONFIG_REFUSED: Final = {
    "min_batch_size": "all nodes of a stage are given the same rows together; 'max_batch_size' limits one call",
    "max_batch_duration_secs": "all nodes of a stage are given the same rows together, a bundle's; leave it out",
    "element_size_fn": _NO_FUNCTION,
    "batch_length_fn": _NO_FUNCTION,
}
_ANYTHING: Final = Accepted("anything", lambda _: True)


class PythonKind(Kind[PythonOptions]):
    """Runs a model behind any importable ``ModelHandler``.

    Args:
        is_shared: Whether this loads the copy that other processes share.
    """

    kind = "model"
    name = "python"
    summary = "Runs any importable ModelHandler: Beam's own (vLLM, Gemini, Anthropic) or yours."
    takes = (
        "Each row is an example: the value of the only column, an array [F] of several, or with a mapping, "
        "{key: column}, a dictionary."
    )
    gives = (
        "The handler's result for a row: the keys of a dictionary or the fields of an object, by name; "
        "anything else is the only output."
    )
    work = Work.ALL_CORES
    call_rows = ROWS_OF_A_CALL
    options = PythonOptions

    def __init__(self, is_shared: bool = False) -> None:
        self._is_shared = is_shared

    def check(self, node: NodeView[PythonOptions]) -> Mapping[str, Type | None]:
        """Checks all but the handler itself, which is imported by workers alone."""
        _check_code(node)
        _check_file(node)
        config = node.options.config
        told = dict.fromkeys(config, _ANYTHING)
        check_config(node, {**told, **OF_ALL}, CONFIG_REFUSED)
        for name in told:
            check_secret(node, below("config", name), config[name])
        inputs = node.spec.inputs
        if inputs is not None and inputs.ports is None and len(inputs.columns) > 1:
            list_argument(view_of(node))
        return {output.column: output.type for output in node.spec.outputs}

    def load(self, node: CheckedNode[PythonOptions]) -> Member:
        """Creates the handler and loads its model, in a process of its own where the handler wants it shared."""
        base = inference_imports.import_base()
        inner = _made(node, base)
        handler = _with_functions(node, inner)
        config = node.options.config
        is_shared = (
            self._is_shared or bool(config.get("large_model")) or config.get("model_copies") is not None
        )
        if handler.share_model_across_processes() and not is_shared:
            return SharedMember(
                dataclasses.replace(node, kind=PythonKind(is_shared=True)), handler.model_copies()
            )
        loaded = member.BeamMember(
            Calls(
                handler,
                base.PredictionResult,
                node.options.samples or 1,
                blame(base, inner),
                shape_of_one(node),
            ),
            _load(node, handler),
            member.inference_args(node),
            read=functools.partial(examples_of, node),
            write=functools.partial(columns_of, node),
            per_row=member.is_per_row(node),
        )
        is_remote = isinstance(inner, base.RemoteModelHandler) or node.options.handler in KNOWN
        return _Untried(loaded) if is_remote else loaded


@dataclasses.dataclass(frozen=True, slots=True)
class _Untried:
    """A model elsewhere, or a server of one: asking it made-up rows may cost money, and takes long.

    Attributes:
        member: What calls it.
    """

    member: Member

    def __call__(self, columns: Columns) -> Columns:
        """Calls it."""
        return self.member(columns)

    def trial(self) -> None:
        """Asks nothing."""


def _names(node: NodeView[PythonOptions]) -> dict[str, Any]:
    """Returns the dotted names that a node holds, by their places."""
    options = node.options
    found: dict[str, Any] = {"handler": options.handler}
    found |= {below("functions", key): name for key, name in options.functions.items()}
    for key, names in (("preprocess", options.preprocess), ("postprocess", options.postprocess)):
        found |= {below(key, at): name for at, name in enumerate(names)}
    return {place: name for place, name in found.items() if name is not None}


def _check_code(node: NodeView[PythonOptions]) -> None:
    names = _names(node)
    for place, name in names.items():
        if not isinstance(name, str):
            node.problem(
                "wrong_type", place, f"a function is a text such as 'package.module.name', not {name!r}"
            )
    texts = {place: name for place, name in names.items() if isinstance(name, str)}
    handler = texts.pop("handler", None)
    if handler is not None:
        check_policy(node, handler, texts)


def _check_file(node: NodeView[PythonOptions]) -> None:
    if node.spec.file is not None:
        check_file(node, folders=True, runs_code=True)
    elif node.options.sha256 is not None:
        node.problem("missing_key", "uri", "'sha256' pins the file of 'uri', which is not said")


def _made(node: CheckedNode[PythonOptions], base: Any) -> Any:
    """Creates a node's handler.

    Raises:
        InvalidEnsemble: There is no such handler, a secret is not there, or it does not take the node's ``config``.
    """
    options = node.options
    os.environ.update(options.config.get("env_vars") or {})
    make = import_name(node, "handler", str(options.handler))
    functions = {
        key: import_name(node, below("functions", key), name) for key, name in options.functions.items()
    }
    try:
        handler = make(**_arguments(node, make), **functions)
    except EnsembleError:
        raise
    except Exception as exc:
        text = f"'{options.handler}' does not take these: {described(exc)}"
        raise _wrong(node, "config", "signature_mismatch", text) from exc
    if not isinstance(handler, base.ModelHandler):
        text = f"'{options.handler}' is not a ModelHandler of Beam, nor does it return one"
        raise _wrong(node, "handler", "import_failed", text)
    return handler


def _with_functions(node: CheckedNode[PythonOptions], handler: Any) -> Any:
    """Puts a node's functions around its handler: the first that an example goes through is the outermost."""
    before, after = (
        [import_name(node, below(key, at), name) for at, name in enumerate(names)]
        for key, names in (
            ("preprocess", node.options.preprocess),
            ("postprocess", node.options.postprocess),
        )
    )
    for function in reversed(before):
        handler = handler.with_preprocess_fn(function)
    for function in after:
        handler = handler.with_postprocess_fn(function)
    _tell_of_hints(node, handler)
    return handler


def _arguments(node: CheckedNode[PythonOptions], make: Any) -> dict[str, Any]:
    """Returns what the constructor is told; what holds for every handler is left out where it does not take it.

    Raises:
        InvalidEnsemble: A secret is not there (``missing_secret``).
    """
    parameters = inspect.signature(make).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return {
        name: revealed(node, below("config", name), value) if is_secret(value) else value
        for name, value in member.config(node).items()
        if takes_any or name in parameters or name not in OF_ALL
    }


def _tell_of_hints(node: CheckedNode[PythonOptions], handler: Any) -> None:
    hints = handler.get_resource_hints()
    if hints:
        _LOGGER.warning(
            "node '%s': its handler asks for the resources %s, which must be known before a pipeline starts; "
            "set them for the pipeline: --resource_hint", node.spec.name, hints,
        )  # fmt: skip


def _load(node: CheckedNode[PythonOptions], handler: Any) -> Any:
    try:
        with verified(node, folders=True) if node.uri is not None else contextlib.nullcontext() as place:
            if place is not None:
                handler.update_model_path(place)
            handler.validate_inference_args(member.inference_args(node))
            handler.set_environment_vars()
            return handler.load_model()
    except EnsembleError:
        raise
    except Exception as exc:  # a handler can fail in any way
        text = f"'{node.options.handler}' cannot load its model: {reason(exc)}"
        raise _wrong(node, "handler", "load_failed", text) from exc


def _wrong(node: CheckedNode[PythonOptions], key: str, code: str, text: str) -> InvalidEnsemble:
    return InvalidEnsemble([Problem(node.spec.path(key), code, text)])
