"""``read``: the bytes at the path or URL of each row."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.files.ensemble_files import FileProblem, local_path
from beam_ensembles.functions.read.places import Places
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.handlers.support.beam_config import AttemptOptions, BatchOptions
from beam_ensembles.spec.places import below
from beam_ensembles.types import BYTES, STRING, Type

if TYPE_CHECKING:
    from beam_ensembles.functions.read.reader import Reader

PORT: Final = "content"


class ReadOptions(BatchOptions, AttemptOptions):
    """What rows may name, and how it is read."""

    under: list[Any] | None = option(
        None,
        "The folders and URIs below which rows may name files; relative names are relative to the first; without "
        "it rows may name only web addresses, of the hosts that the service allows.",
    )
    max_bytes: int = option(64 << 20, "The largest file that is read.", least=1, most=2 << 30)
    concurrency: int = option(16, "How many files are read at once.", least=1, most=256)
    timeout: float = option(30.0, "Seconds that reading one file may take.", last=True)
    retries: int = option(2, "How often a read that failed in passing is made again.", last=True)


class ReadKind(Kind[ReadOptions]):
    """Reads files of this machine, of storage that Beam knows, and of the web."""

    kind = "apply"
    name = "read"
    summary = "Reads the file at the path or URL of each row; several at once."
    takes = "One column of texts: paths, URIs of storage (gs:, s3:), web addresses."
    gives = "content: bytes."
    options = ReadOptions

    def check(self, node: NodeView[ReadOptions]) -> Mapping[str, Type | None]:
        """Checks what is read, and the places that rows may name."""
        _check_input(node)
        _check_under(node)
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), BYTES))

    def load(self, node: CheckedNode[ReadOptions]) -> Member:
        """Creates the reader; nothing is opened yet."""
        from beam_ensembles.functions.read.reader import Limits, Reader

        options = node.options
        limits = Limits(options.max_bytes, float(options.timeout), options.retries, options.concurrency)
        return ReadMember(
            node.spec.columns[0],
            tuple(node.outputs),
            Reader(Places.of(node.options.under or (), node.files), limits),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class ReadMember:
    """A reader of one column.

    Attributes:
        column: The column of names.
        outputs: The columns that it adds; each holds the bytes.
        reader: Reads them.
    """

    column: str
    outputs: tuple[str, ...]
    reader: Reader

    def __call__(self, columns: Columns) -> Columns:
        """Reads every row's file.

        Raises:
            SomeFailed: Some cannot be read.
        """
        names = columns[self.column].tolist()
        found = self.reader.read_all(names)
        faults = {at: error for at, name in enumerate(names) if isinstance(error := found[name], NodeError)}
        good = [content for name in names if isinstance(content := found[name], bytes)]
        contents = np.fromiter(good, dtype=object, count=len(good))
        if faults:
            raise SomeFailed(dict.fromkeys(self.outputs, contents), faults)
        return dict.fromkeys(self.outputs, contents)


def _check_input(node: NodeView) -> None:
    inputs = node.spec.inputs
    if inputs is None:
        node.problem(
            "missing_key", "inputs", "a 'read' needs inputs: the column of paths or URLs, such as [url]"
        )
        return
    if inputs.ports is not None or len(inputs.columns) > 1:
        node.problem("unknown_port", inputs.path(0), "a 'read' takes a list of one column: [url]")
        return
    type_ = node.inputs.get(inputs.columns[0]) if inputs.columns else None
    if type_ is not None and type_ != STRING:
        text = f"'{inputs.columns[0]}' is {type_}; a 'read' takes paths or URLs: string"
        node.problem("type_mismatch", inputs.path(0), text)


def _check_under(node: NodeView[ReadOptions]) -> None:
    under = node.options.under
    if under is None and not node.files.hosts:
        text = "no host is allowed here, so say which places rows may name, such as [photos] or [gs://bucket/photos]"
        node.problem("missing_key", "under", text)
    elif under == []:
        node.problem("bad_value", "under", "'under' is empty, so that rows could name nothing; leave it out")
    for at, place in enumerate(under or ()):
        if isinstance(place, str):
            _check_place(node, below("under", at), place)
        else:
            node.problem("wrong_type", below("under", at), f"a folder or URI is a text, not {place!r}")


def _check_place(node: NodeView, place: str, uri: str) -> None:
    try:
        found = node.files.check(uri, folders=True)
    except FileProblem as problem:
        node.problem(problem.code, place, str(problem))
        return
    path = local_path(found)
    if path is None:
        return
    if not os.path.isdir(path):
        text = f"'{path}' is a file; name the folder below which rows may name files"
        node.problem("bad_value", place, text)
    elif not node.files.is_trusted(found):
        text = f"rows may not name files in '{found}', which is not trusted; trust it (start with --trust FOLDER)"
        node.problem("untrusted_file", place, text)
