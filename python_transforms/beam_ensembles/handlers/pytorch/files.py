"""What a file of PyTorch's holds, found without PyTorch: weights, a program, or any Python object."""

from __future__ import annotations

import os
from typing import Final

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.files.archives import DAMAGE, open_archive
from beam_ensembles.files.bounded_json import JsonError, read_json
from beam_ensembles.handlers.support.signatures import (
    refusing,
)

STATE_DICT: Final = "state_dict"
SAFETENSORS: Final = "safetensors"
TORCHSCRIPT: Final = "torchscript"
EXPORT: Final = "export"
MODULE: Final = "module"
FORMATS: Final = (STATE_DICT, SAFETENSORS, TORCHSCRIPT, EXPORT, MODULE)

_LONGEST_HEADER: Final = 1 << 24
"""Enough for 100,000 tensors; the safetensors library allows itself 100 MB, which become gigabytes as JSON is read."""


@refusing("the file is none that torch.save, torch.jit, torch.export or safetensors wrote")
def format_of(path: str, *, has_class: bool) -> str:
    """Finds how a model was saved.

    Args:
        path: A local file.
        has_class: Whether the node names the model's class: a pickle then holds its weights, else the model itself.

    Returns:
        One of ``FORMATS``.

    Raises:
        ModelFormatError: It is none of PyTorch's files, or one that is not run here.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        start = file.read(9)
    if start.startswith(b"PK\x03\x04"):
        return _format_of_archive(path, has_class=has_class)
    is_header = start[8:] == b"{" and int.from_bytes(start[:8], "little") <= os.path.getsize(path)
    if start.startswith(b"\x80") and not is_header:  # a header of 128 bytes, or 384, begins as a pickle does
        return STATE_DICT if has_class else MODULE
    if start[8:] == b"{":
        _check_header(path)
        return SAFETENSORS
    raise ModelFormatError("the file is none that torch.save, torch.jit, torch.export or safetensors wrote")


def _format_of_archive(path: str, *, has_class: bool) -> str:
    """Distinguishes PyTorch's zip archives; an archive holds everything in one folder of any name."""
    try:
        with open_archive(path) as archive:
            names = {name.partition("/")[2] or name for name in archive.namelist()}
            start = min((info.header_offset for info in archive.infolist()), default=0)
    except DAMAGE as exc:
        raise ModelFormatError(f"the file is a damaged archive: {exc}") from exc
    if start:  # a cut file ends in the middle of an archive within it
        raise ModelFormatError("the file is a damaged archive: it does not begin where the file does")
    if any(name.startswith("data/aotinductor/") for name in names):
        raise ModelFormatError(
            "the file holds machine code (AOTInductor); save the program with torch.export"
        )
    if "archive_format" in names or "serialized_exported_program.json" in names:
        return EXPORT
    if "constants.pkl" in names:
        return TORCHSCRIPT
    if "data.pkl" in names:
        return STATE_DICT if has_class else MODULE
    raise ModelFormatError("the archive is none that torch.save, torch.jit or torch.export wrote")


def _check_header(path: str) -> None:
    """Checks the header of a safetensors file: its length in 8 bytes, JSON, then all tensors without a gap."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _LONGEST_HEADER:
            raise ModelFormatError(f"its header would be {length} bytes long")
        head = file.read(length)
        size = file.seek(0, 2) - 8 - length
    try:
        content = read_json(head)
    except JsonError as exc:
        raise ModelFormatError(f"its header is not that of a safetensors file: {exc}") from exc
    with refusing("its header is not that of a safetensors file"):
        tensors = {name: one for name, one in content.items() if name != "__metadata__"}
        spans = sorted(tuple(map(int, one["data_offsets"])) for one in tensors.values())
    end = 0
    for span in spans:
        if len(span) != 2 or span[0] != end or span[1] < end:
            raise ModelFormatError(f"its tensors overlap or leave a gap at byte {end} of the data")
        end = span[1]
    if end != size:
        raise ModelFormatError(f"its tensors end at byte {end}, the file's data at {size}")


def runs_code(format_: str, *, weights_only: bool) -> bool:
    """Returns whether loading a model can run what is in its file.

    TorchScript and exported programs are programs, and PyTorch reads parts of the latter with pickle.

    Args:
        format_: How it was saved.
        weights_only: Whether a state dict is read by PyTorch's reader that makes nothing but tensors.
    """
    return format_ in (TORCHSCRIPT, EXPORT, MODULE) or (format_ == STATE_DICT and not weights_only)
