"""What the checks of an ensemble need of its file, or of the bundle that it is packed in."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from beam_ensembles.files.ensemble_files import Files


@dataclasses.dataclass(frozen=True, slots=True)
class OpenedBundle:
    """A bundle that was unpacked and compared with its digests.

    Attributes:
        text: Its ensemble file's text.
        files: What that file may use: nothing of this machine but the bundle.
        parameters: Values of ``${name}``: those that it was packed with, and over them the caller's.
        path: Where the ensemble file is on this machine.
    """

    text: str
    files: Files
    parameters: Mapping[str, str]
    path: str = ""
