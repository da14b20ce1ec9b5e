"""Which places a row may name: rows are untrusted, whoever wrote the ensemble file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from urllib.parse import urlsplit

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.files.ensemble_files import FileProblem, Files, local_path
from beam_ensembles.files.own_network import is_in_own_network
from beam_ensembles.files.uris import AmbiguousUri, canonical, is_below, is_web


@dataclasses.dataclass(frozen=True, slots=True)
class Places:
    """The places of one node.

    Attributes:
        under: Absolute folders and URIs, without a slash at the end; a row names what lies below one of them. Where
            there is none, rows name web addresses of the hosts that ``files`` allows.
        files: Which hosts may be reached.
    """

    under: tuple[str, ...]
    files: Files

    @classmethod
    def of(cls, under: Iterable[str], files: Files) -> Places:
        """Returns the places of a node that was checked, on a worker."""
        return cls(tuple(_plain(files.resolve(place)) for place in under), files)

    def find(self, name: str) -> str:
        """Returns the absolute place that a row names.

        Args:
            name: A path or URI; a relative one is relative to the first of ``under``.

        Raises:
            NodeError: ``untrusted_host`` or ``untrusted_file`` where rows may not name it; ``missing_file`` where it is
                no name at all.
        """
        if not name:
            raise NodeError("missing_file", "the row names no file")
        path = local_path(name)
        if path is not None and not os.path.isabs(path) and self.under:
            name = f"{self.under[0]}/{path}"
            path = local_path(name)
        if path is not None:
            return self._local(path)
        try:
            name = canonical(name)
        except AmbiguousUri as exc:
            raise NodeError("untrusted_file" if self.under else "untrusted_host", str(exc)) from None
        if self.under:
            if not self.has(name):
                raise self._outside(name)
        elif is_web(name):
            self._check_host(name)
        else:
            raise self._outside(name)
        return name

    def has(self, uri: str) -> bool:
        """Whether a URI lies below one of the places; every URI does where rows may name all of a host."""
        return not self.under or any(is_below(uri, place) for place in self.under)

    def _local(self, path: str) -> str:
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):  # no file can have that name
            raise self._outside(path) from None
        roots = (os.path.realpath(root) for place in self.under if (root := local_path(place)) is not None)
        if not any(os.path.commonpath((real, root)) == root for root in roots):
            raise self._outside(path)
        return real

    def _check_host(self, url: str) -> None:
        try:
            self.files.check_host(url)
        except FileProblem as problem:
            raise NodeError(problem.code, str(problem)) from None
        if not self.files.names_host(url) and is_in_own_network(urlsplit(url).hostname or ""):
            text = f"'{url}' is in this worker's own network; say on the node that rows may name it: 'under'"
            raise NodeError("untrusted_host", text)

    def _outside(self, name: str) -> NodeError:
        allowed = listed(self.under) if self.under else "web addresses; 'under' on the node names others"
        return NodeError("untrusted_file", f"rows may not name '{name}' (they may name: {allowed})")


def _plain(place: str) -> str:
    return place.rstrip("/") or "/"
