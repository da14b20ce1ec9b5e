"""Errors for a model file that is not the one that its node needs, while the node is checked and while it is loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from beam_ensembles.errors import InvalidEnsemble, ModelFormatError, Problem
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.handlers.support.model_formats import other_kind

_CODE: Final = "bad_model_file"
T = TypeVar("T")


def read_or_report(node: NodeView, path: str, read: Callable[[str], T], kind: str = "") -> T | None:
    """Returns what a function reads from a local model file; reports a file that it cannot read, and returns None.

    Args:
        node: The node, while it is checked.
        path: The local file.
        read: Raises ``ModelFormatError`` or ``OSError`` for a file that it cannot read.
        kind: The ``model`` that runs such files, where it is not the node's.
    """
    try:
        return read(path)
    except (ModelFormatError, OSError) as exc:
        node.problem(_CODE, "uri", f"'{path}': {exc}{other_kind(kind or node.spec.target, path)}")
        return None


@contextlib.contextmanager
def refused(node: CheckedNode, path: str | None = None) -> Iterator[None]:
    """Runs a block that reads a node's model while it is loaded, and names the node where the file is a wrong one.

    Args:
        node: The node.
        path: Where a copy of the file lies on this machine, for a hint of which kind it is; None gives no hint.

    Raises:
        InvalidEnsemble: ``bad_model_file``, instead of a ``ModelFormatError``.
    """
    try:
        yield
    except ModelFormatError as exc:
        raise wrong(node, f"{exc}{other_kind(node.spec.target, path)}") from exc


def wrong(node: CheckedNode, text: str) -> InvalidEnsemble:
    """Returns the error for a model that was loaded and cannot be used."""
    return InvalidEnsemble([Problem(node.spec.path("uri"), _CODE, f"'{node.uri}': {text}")])


def raise_disagreements(node: CheckedNode, found: Iterable[tuple[str, str]]) -> None:
    """Refuses a loaded model that does not fit its node.

    Args:
        node: The node.
        found: The place below the node, and a sentence, of each disagreement.

    Raises:
        InvalidEnsemble: ``signature_mismatch``, one problem a disagreement.
    """
    problems = [Problem(node.spec.path(place), "signature_mismatch", text) for place, text in found]
    if problems:
        raise InvalidEnsemble(problems)
