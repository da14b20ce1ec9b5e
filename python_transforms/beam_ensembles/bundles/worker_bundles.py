"""A bundle on a worker: found by its digest, wherever the worker got it from, and its nodes led to it."""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from collections.abc import Iterable
from typing import Final

from beam_ensembles.bundles.archive import sha256_of
from beam_ensembles.bundles.manifest import BadBundle
from beam_ensembles.bundles.store import Store
from beam_ensembles.errors import WHOLE_FILE, InvalidEnsemble, Problem, listed
from beam_ensembles.graph.kinds import CheckedNode

_STAGED: Final = "SEMI_PERSISTENT_DIRECTORY"
"""Names the folder below which Beam's ``boot`` puts artifacts, in ``staged``."""
_WAIT_SECONDS: Final = 120.0
"""How long a file may grow that another worker's ``boot`` is fetching to the same place."""


def with_bundles_at_hand(nodes: Iterable[CheckedNode]) -> tuple[CheckedNode, ...]:
    """Leads nodes that were checked elsewhere to their bundle on this machine; others stay as they are.

    Raises:
        InvalidEnsemble: ``missing_bundle``: this worker did not get it. ``bad_bundle``: what it got is not what was
            packed.
        EnsembleError: There is no room for it on this machine.
    """
    return tuple(_moved(node) if node.files.bundle is not None else node for node in nodes)


def _moved(node: CheckedNode) -> CheckedNode:
    before = node.files.bundle
    if before is None:
        return node
    now = dataclasses.replace(
        before, root=find_bundle(before.digest, before.name, before.size, before.archive)
    )
    files = dataclasses.replace(node.files, bundle=now)
    uri, inside = node.uri, f"{before.root}/"
    if uri is not None and uri.startswith(inside):
        uri = os.path.join(now.root, uri.removeprefix(inside))
    return dataclasses.replace(node, uri=uri, files=files)


@functools.cache
def find_bundle(digest: str, name: str, size: int, archive: str) -> str:
    """Returns the folder of a bundle that is unpacked on this machine, or that can be.

    Args:
        digest: Its SHA-256.
        name: Its file's name.
        size: Its file's bytes.
        archive: Where the file was on the machine that made the pipeline, which may be this one.

    Raises:
        InvalidEnsemble: It is nowhere here, or not what was packed.
    """
    store = Store.of_this_machine()
    found = store.find(digest)
    if found is not None:
        return found
    staged = os.environ.get(_STAGED)
    names = dict.fromkeys((name, os.path.basename(archive)))
    places = [*(os.path.join(staged, "staged", one) for one in names if staged), archive]
    for place in places:
        if os.path.isfile(place):
            return _unpacked(store, place, digest, size)
    text = (
        f"this worker has no bundle '{name}' (SHA-256 {digest}): the runner did not give it the artifact, and it is "
        f"not at {listed(places)}; where workers are started by hand, give them the file there"
    )
    raise InvalidEnsemble([Problem(WHOLE_FILE, "missing_bundle", text)])


def _unpacked(store: Store, place: str, digest: str, size: int) -> str:
    _wait_until_written(place, size)
    try:
        with open(place, "rb") as file:
            found = sha256_of(file)
            if found != digest:
                raise BadBundle(f"its SHA-256 is {found}, but the pipeline was made with {digest}")
            return store.unpack(file, os.path.basename(place), digest)[0]
    except (BadBundle, OSError) as exc:
        text = f"the bundle '{place}' on this worker cannot be used: {exc}"
        raise InvalidEnsemble([Problem(WHOLE_FILE, "bad_bundle", text)]) from exc


def _wait_until_written(place: str, size: int) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while os.path.getsize(place) < size and time.monotonic() < deadline:
        time.sleep(0.1)
