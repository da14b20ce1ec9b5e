"""``read``: the bytes at the path or URL of each row."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.files.ensemble_files import FileProblem, local_path
from beam_ensembles.functions.read.places import Places
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView, Option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.handlers.support.beam_config import BATCH, RETRIES, TIMEOUT, check_calls
from beam_ensembles.spec.places import below
from beam_ensembles.types import BYTES, STRING, Type

if TYPE_CHECKING:
    from beam_ensembles.functions.read.reader import Reader

PORT: Final = "content"
_MAX_BYTES: Final = 64 << 20
_SECONDS: Final = 30.0
_RETRIES: Final = 2
_CONCURRENCY: Final = 16
_LIMITS: Final = {"max_bytes": (1, 2 << 30), "concurrency": (1, 256)}


class ReadKind(Kind):
    """Reads files of this machine, of storage that Beam knows, and of the web."""

    kind = "apply"
    name = "read"
    summary = "Reads the file at the path or URL of each row; several at once."
    takes = "One column of texts: paths, URIs of storage (gs:, s3:), web addresses."
    gives = "content: bytes."
    options = (
        Option(
            "under",
            "list",
            "The folders and URIs below which rows may name files; relative names are relative to the first. Without "
            "it rows may name web addresses only, of the hosts that the service allows.",
        ),
        Option("max_bytes", "integer", "The largest file that is read.", default=str(_MAX_BYTES)),
        Option("concurrency", "integer", "How many files are read at once.", default=str(_CONCURRENCY)),
        dataclasses.replace(
            TIMEOUT, description="Seconds that reading one file may take.", default=f"{_SECONDS:g}"
        ),
        dataclasses.replace(
            RETRIES,
            description="How often a read that failed in passing is made again.",
            default=str(_RETRIES),
        ),
        BATCH,
    )

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Checks what is read, and the places that rows may name."""
        _check_input(node)
        _check_under(node)
        for name, (least, most) in _LIMITS.items():
            value = node.option(name)
            if value is not None and not least <= value <= most:
                node.problem("bad_value", name, f"'{name}' is {value}; allowed: {least} to {most}")
        check_calls(node)
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), BYTES))

    def load(self, node: CheckedNode) -> Member:
        """Makes the reader; nothing is opened yet."""
        from beam_ensembles.functions.read.reader import Limits, Reader

        options = node.spec.options
        limits = Limits(
            options.get("max_bytes", _MAX_BYTES),
            float(options.get("timeout", _SECONDS)),
            options.get("retries", _RETRIES),
            options.get("concurrency", _CONCURRENCY),
        )
        return ReadMember(node.spec.columns[0], tuple(node.outputs), Reader(Places.of(node), limits))


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


def _check_under(node: NodeView) -> None:
    under = node.option("under")
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
        text = f"rows may not name files in '{found}', which is not trusted; trust it (serve --trust FOLDER)"
        node.problem("untrusted_file", place, text)
