"""What a model's answers depend on besides the rows that it is asked: where the keys of all caches of answers start."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any, Final

from beam_ensembles.execution.named_code import digest_of_code
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.files.file_changes import state_of
from beam_ensembles.files.local_files import sha256_with
from beam_ensembles.graph.kinds import CheckedNode, Work
from beam_ensembles.handlers.support.library_versions import versions_of
from beam_ensembles.tables.json_text import to_json

_FORMAT: Final = 1
"""Changes when what is kept, or what it is kept by, means something else."""
_HOW_IT_IS_CALLED: Final = frozenset(
    (
        "api_key",
        "batch",
        "budget",
        "cache",
        "concurrency",
        "dedupe",
        "price",
        "rate",
        "retries",
        "timeout",
        "trial",
    )
)
"""Options that no answer depends on."""


def answer_digest(node: CheckedNode) -> bytes:
    """Returns what changes with a model, its options, what it reads and adds, its libraries and the code that it names.

    A condition or an error policy says which rows the model is asked, and counts for nothing.

    Args:
        node: A model's node. Only of one that is loaded does the code count: modules that nobody imported do not.
    """
    options = {
        name: value
        for name, value in dataclasses.asdict(node.options).items()
        if name not in _HOW_IT_IS_CALLED
    }
    spec = node.spec
    said = {
        "format": _FORMAT,
        "kind": (spec.kind, spec.target),
        "options": options,
        "inputs": [(name, str(type_)) for name, type_ in node.inputs.items()],
        "ports": None if spec.inputs is None else spec.inputs.ports,
        "outputs": [
            (output.column, output.port, str(node.outputs[output.column])) for output in spec.outputs
        ],
        "versions": None if node.kind.work is Work.ELSEWHERE else versions_of(node),
        "file": _file_digest(node),
        "code": digest_of_code(options),
    }
    return hashlib.sha256(to_json(said).encode("utf-8", "surrogatepass")).digest()


def file_state(node: CheckedNode) -> Any:
    """Returns what changes when a node's file does; None where it has none, or nobody says."""
    if node.uri is None or node.kind.work is Work.ELSEWHERE:
        return None
    return state_of(node.uri, node.kind.files_beside)


def _file_digest(node: CheckedNode) -> Any:
    if node.uri is None:
        return None
    path = local_path(node.uri)
    if path is None:
        return repr(state_of(node.uri, node.kind.files_beside))
    return sha256_with(path, node.kind.files_beside(path))
