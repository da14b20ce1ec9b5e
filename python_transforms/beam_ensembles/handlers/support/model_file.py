"""The file of a node's model: where it is, whether it is the pinned one, and whether it may be loaded."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
    Problem,
    listed,
)
from beam_ensembles.files.ensemble_files import FileProblem, local_path, outside
from beam_ensembles.files.fetched_files import Beside, fetched, nothing_beside
from beam_ensembles.files.local_files import (
    Budget,
    TooMuch,
    is_made_up,
    is_regular,
    sha256_of,
    sha256_with,
)
from beam_ensembles.files.own_network import refuse_own_network
from beam_ensembles.files.private_copy import LeadsOut, out_of_reach
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.graph.options import Options, option


class _PlaceOptions(Options):
    uri: str = option("", "The model's file: a path or URI, relative to the ensemble file.", required=True)


class PinOptions(Options):
    """Which file it must be."""

    sha256: str | None = option(
        None, "SHA-256 of the model's file or folder, 64 hexadecimal digits; any other is refused."
    )


class FileOptions(PinOptions, _PlaceOptions):
    """Where a model's file is, and which it must be."""


_SECONDS_OF_A_STRANGER: Final = 60.0
"""How long a file that only its pin vouches for is compared, so that no caller holds the service with a huge one."""
_RUNS_CODE: Final = "runs the code in it"
_DIGEST: Final = re.compile(r"[0-9a-fA-F]{64}")


def check_file(
    node: NodeView[PinOptions],
    *,
    folders: bool = False,
    beside: Beside = nothing_beside,
    key: str = "uri",
    named: str | None = None,
    runs_code: bool = False,
    needs_trust: str = "",
) -> str | None:
    """Resolves a node's ``uri`` and compares the file with ``sha256``, reporting what is wrong.

    Args:
        node: The node.
        folders: Whether a model of this kind may be a folder.
        beside: Which files belong to a model's file; one that cannot be read is left to the kind to report.
        key: The node's key that names the file.
        named: What that key says, where the node has no ``uri``.
        runs_code: Whether loading any such file runs code in it. Then the file must be pinned or lie under a trusted
            place.
        needs_trust: What loading any such file may do otherwise, for which it must be pinned or trusted as well.

    Of a file of this machine that may not be named (``Files.may_name``), or that needs trust and has none, nothing
    is told, not even whether it is there: without a pin it is ``untrusted_file``, with another one ``sha256_mismatch``.

    Returns:
        The absolute place of the file, or None where it cannot be used.
    """
    pin, danger = node.options.sha256, _RUNS_CODE if runs_code else needs_trust
    pin_is_good = pin is None or _DIGEST.fullmatch(str(pin)) is not None
    if not pin_is_good:
        node.problem("bad_sha256", "sha256", f"'{pin}' is not a SHA-256: expected 64 hexadecimal digits")
    if key not in node.spec.options:
        return None  # reported already
    uri = node.options.uri if isinstance(node.options, FileOptions) else str(named)
    try:
        found = node.files.resolve(uri)
    except FileProblem as problem:
        node.problem(problem.code, key, str(problem))
        return None
    is_trusted, local = node.files.is_trusted(found), local_path(found)
    is_named = is_trusted or local is None or node.files.may_name(local)
    if pin is None and not (is_named and (is_trusted or not danger)):
        node.problem("untrusted_file", key, _untrusted(uri, danger) if danger else outside(uri))
        return None
    if local is not None and not (is_named and (is_trusted or not danger)):
        return _pinned(node, uri, found, str(pin).lower(), pin_is_good, folders, beside)
    try:
        place = node.files.check(uri, folders=folders)
    except FileProblem as problem:
        node.problem(problem.code, key, str(problem))
        return None
    path = local_path(place)
    if path is None:
        return place
    names: Sequence[str] = ()
    with contextlib.suppress(ModelFormatError, OSError):
        names = beside(path)
    missing = [name for name in names if not os.path.isfile(_neighbour(path, name))]
    for name in missing:
        node.problem("missing_file", key, f"'{path}' keeps weights in '{name}', which is not beside it")
    if pin is not None and pin_is_good and not missing:
        _compare(node, key, place, path, str(pin), names)
    return place


def _compare(node: NodeView, key: str, place: str, path: str, pin: str, names: Sequence[str]) -> None:
    try:
        found = sha256_with(path, names)
    except OSError as exc:
        node.problem("unreadable_file", key, f"'{place}' cannot be read: {exc.strerror or exc}")
        return
    if found != pin.lower():
        shown = found if node.files.is_trusted(place) else None
        node.problem("sha256_mismatch", "sha256", _mismatch(place, pin, shown, path, names))


def _pinned(
    node: NodeView, uri: str, path: str, pin: str, pin_is_good: bool, folders: bool, beside: Beside
) -> str | None:
    """Returns the path of a local file that only its pin vouches for; tells nothing of one that it does not fit."""
    budget = Budget(seconds=_SECONDS_OF_A_STRANGER)
    with contextlib.suppress(OSError, ValueError, TooMuch):
        if pin_is_good and (is_regular(path) or (folders and os.path.isdir(path) and not is_made_up(path))):
            names: Sequence[str] = ()
            with contextlib.suppress(ModelFormatError, OSError):
                names = beside(path)
            if sha256_with(path, names, budget) == pin:
                return path
    if pin_is_good:
        node.problem("sha256_mismatch", "sha256", _not_that(uri, pin))
    return None


def check_trust(node: NodeView[PinOptions], place: str) -> None:
    """Reports a file that runs code when it is loaded, unless it is pinned or lies under a trusted place."""
    if node.options.sha256 is None and not node.files.is_trusted(place):
        node.problem("untrusted_file", "uri", _untrusted(place, _RUNS_CODE))


def _untrusted(place: str, danger: str) -> str:
    return (
        f"loading '{place}' {danger}, but it is neither pinned nor trusted; "
        "pin it with 'sha256: <its digest>' on the node, or trust its folder (start with --trust FOLDER)"
    )


def _not_that(uri: str, pin: str) -> str:
    return f"there is no file '{uri}' that can be read and has the pinned SHA-256, {pin.lower()}"


@contextlib.contextmanager
def verified(node: CheckedNode[PinOptions], *, folders: bool = False) -> Iterator[str]:
    """Returns the path from which a worker loads a node's model, once it is known to be the pinned one.

    Files that its kind finds beside it (``Kind.files_beside``) are fetched and compared with it.

    A file of another place is fetched first, once per worker process, so that what was compared is what is loaded. A
    file that lies in no trusted folder, and that other users of this machine can change, is copied first.

    Args:
        node: The node.
        folders: Whether a model of this kind may be a folder.

    Raises:
        InvalidEnsemble: The file is not the pinned one.
        ModelFormatError: A file that belongs to it could not be beside it.
        EnsembleError: It cannot be fetched.
    """
    path, place = local_path(str(node.uri)), str(node.uri)
    pin, beside = node.options.sha256, node.kind.files_beside
    trusted_for_its_place = pin is None and node.is_trusted
    if path is None:
        refuse_own_network(node.files, place)
    elif trusted_for_its_place and _names_this_machine(node) and not node.files.is_trusted(path):
        text = f"'{place}' leads out of the trusted folder that it lay in when the pipeline was made"
        raise InvalidEnsemble([Problem(node.spec.path("uri"), "untrusted_file", text)])
    within = node.files.trusted if trusted_for_its_place else ()
    with contextlib.ExitStack() as ends:
        if path is None:
            reading = fetched(place, folders=folders, beside=beside, within=within)
            copy = ends.enter_context(reading)
        elif not node.is_trusted:
            copy = ends.enter_context(_copied(node, path))
        else:
            copy = path
        if pin is not None:
            names = beside(copy)
            try:
                found = sha256_with(copy, names)
            except OSError as error:
                text = f"'{place}' cannot be compared with its pin: {error.strerror or error}"
                raise InvalidEnsemble([Problem(node.spec.path("sha256"), "load_failed", text)]) from error
            if found != str(pin).lower():
                text = _mismatch(place, str(pin), found, copy, names)
                raise InvalidEnsemble([Problem(node.spec.path("sha256"), "sha256_mismatch", text)])
        yield copy


@contextlib.contextmanager
def _copied(node: CheckedNode[PinOptions], path: str) -> Iterator[str]:
    """Returns the path of a local model, or of a copy that no other user can change."""
    with contextlib.ExitStack() as ends:
        try:
            copying = out_of_reach(
                path,
                node.kind.files_beside,
                is_pinned=node.options.sha256 is not None,
                may_name=node.files.may_name,
            )
            copy = ends.enter_context(copying)
        except LeadsOut as error:
            text = _untrusted(str(node.uri), f"would follow {error}")
            raise InvalidEnsemble([Problem(node.spec.path("uri"), "untrusted_file", text)]) from error
        except OSError as error:
            text = f"'{node.uri}' cannot be copied before it is loaded: {error.strerror or error}"
            raise InvalidEnsemble([Problem(node.spec.path("uri"), "load_failed", text)]) from error
        yield copy


def _names_this_machine(node: CheckedNode) -> bool:
    """Whether the file names a path, and not a handle whose model lies in a cache of this machine."""
    return node.spec.file is not None and local_path(node.spec.file) is not None


def _neighbour(path: str, name: str) -> str:
    return os.path.join(os.path.dirname(path), name)


def _mismatch(place: str, pin: str, found: str | None, path: str, names: Sequence[str]) -> str:
    """Returns what is wrong with a pin, and the model's own digest only where the caller may know about it."""
    own = f"is {found}, not" if found else "is not"
    if not names:
        return f"the file '{place}' is not the pinned one: its SHA-256 {own} {pin.lower()}"
    files = sorted({os.path.basename(path), *names}, key=os.fsencode)
    how = f"sha256sum {' '.join(map(shlex.quote, files))} | sha256sum"
    if pin.lower() == sha256_of(path):
        text = f"the pin covers '{place}' alone, but its weights are in {listed(names)}"
        return f"{text}: pin them all, by what this prints in their folder: {how}"
    return f"'{place}' with its weights is not the pinned one: its SHA-256 {own} {pin.lower()} ({how})"
