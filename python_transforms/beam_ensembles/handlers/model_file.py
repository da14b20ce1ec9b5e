"""The file of a node's model: where it is, whether it is the pinned one, and whether it may be loaded."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Final

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.graph.files import FileProblem, local_path, sha256_of
from beam_ensembles.graph.kinds import CheckedNode, NodeView, Option
from beam_ensembles.handlers.remote_files import fetched

URI: Final = Option(
    "uri", "string", "The model's file: a path or URI, relative to the ensemble file.", required=True
)
SHA256: Final = Option(
    "sha256", "string", "SHA-256 of the model's file or folder, 64 hexadecimal digits; any other is refused."
)

_DIGEST: Final = re.compile(r"[0-9a-fA-F]{64}")


def check_file(node: NodeView, *, folders: bool = False) -> str | None:
    """Resolves a node's ``uri`` and compares the file with ``sha256``, reporting what is wrong.

    Args:
        node: The node.
        folders: Whether a model of this kind may be a folder.

    Returns:
        The absolute place of the file, or None where it cannot be used.
    """
    pin = node.option("sha256")
    pin_is_good = pin is None or _DIGEST.fullmatch(str(pin)) is not None
    if not pin_is_good:
        node.problem("bad_sha256", "sha256", f"'{pin}' is no SHA-256: that is 64 hexadecimal digits")
    uri = node.option("uri")
    if not isinstance(uri, str):
        return None
    try:
        place = node.files.check(uri, folders=folders)
    except FileProblem as problem:
        node.problem(problem.code, "uri", str(problem))
        return None
    path = local_path(place)
    if pin is not None and pin_is_good and path is not None:
        found = sha256_of(path)
        if found != pin.lower():
            shown = found if node.files.is_trusted(place) else None
            node.problem("sha256_mismatch", "sha256", _mismatch(place, pin, shown))
    return place


def check_trust(node: NodeView, place: str) -> None:
    """Reports a file that runs code when it is loaded, unless it is pinned or lies under a trusted place."""
    if node.option("sha256") is None and not node.files.is_trusted(place):
        node.problem(
            "untrusted_file",
            "uri",
            f"loading '{place}' runs the code in it, and nothing vouches for it; "
            "pin it with 'sha256: <its digest>' on the node, or trust its folder (serve --trust FOLDER)",
        )


@contextlib.contextmanager
def verified(node: CheckedNode, *, folders: bool = False) -> Iterator[str]:
    """Gives the path from which a worker loads a node's model, once it is known to be the pinned one.

    A file of another place is fetched before, once a worker process, so that what was compared is what is loaded.

    Args:
        node: The node.
        folders: Whether a model of this kind may be a folder.

    Raises:
        InvalidEnsemble: The file is not the pinned one.
        EnsembleError: It cannot be fetched.
    """
    path = local_path(str(node.uri))
    with (
        contextlib.nullcontext(path) if path is not None else fetched(str(node.uri), folders=folders) as copy
    ):
        if node.spec.options.get("sha256") is not None:
            _compare(node, sha256_of(copy))
        yield copy


def _compare(node: CheckedNode, found: str) -> None:
    pin = str(node.spec.options["sha256"])
    if found != pin.lower():
        text = _mismatch(str(node.uri), pin, found)
        raise InvalidEnsemble([Problem(node.spec.path("sha256"), "sha256_mismatch", text)])


def _mismatch(place: str, pin: str, found: str | None) -> str:
    """Says the file's own digest only where the caller may know about it."""
    own = f"is {found}, not" if found else "is not"
    return f"the file '{place}' is not the pinned one: its SHA-256 {own} {pin.lower()}"
