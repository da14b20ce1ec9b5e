"""Secrets on nodes: which of them a file may name, and what they are on a worker."""

from __future__ import annotations

from typing import Any

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.files.ensemble_files import FileProblem
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.spec.secrets import SecretError, is_secret, read_secret


def check_secret(node: NodeView, place: str, value: Any) -> None:
    """Reports a secret that is not written as one (``bad_value``), or that nobody allowed (``untrusted_secret``).

    Args:
        node: The node.
        place: Where in the node the value stands.
        value: The value; a text is none and is let through.
    """
    if not is_secret(value):
        return
    try:
        node.files.check_secret(read_secret(value).place)
    except SecretError as problem:
        node.problem("bad_value", place, str(problem))
    except FileProblem as problem:
        node.problem(problem.code, place, str(problem))


def revealed(node: CheckedNode, place: str, value: Any) -> str:
    """Returns a text, or on a worker the secret that stands for it.

    Args:
        node: The node, which was checked.
        place: Where in the node the value stands.
        value: The text or the secret.

    Raises:
        InvalidEnsemble: ``missing_secret``: the secret is not on this machine.
    """
    if not is_secret(value):
        return str(value)
    try:
        return read_secret(value).reveal()
    except SecretError as error:
        raise InvalidEnsemble([Problem(node.spec.path(place), "missing_secret", str(error))]) from None
