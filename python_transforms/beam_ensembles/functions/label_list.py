"""The names behind indices: those that a node lists, or those of a file, one a line or a JSON list."""

from __future__ import annotations

import os
from typing import Any, Final

from beam_ensembles.files.bounded_json import JsonError, read_json
from beam_ensembles.types import INT64, STRING, Type

_MOST_BYTES: Final = 16 << 20


class LabelsError(ValueError):
    """What should be a list of labels is none; the message says why in one line, and nothing of what a file holds."""


def type_of_labels(labels: Any) -> Type:
    """Returns the type of listed labels: texts or whole numbers; one name may stand for several indices.

    Raises:
        LabelsError: They are neither.
    """
    if not isinstance(labels, list) or not labels:
        raise LabelsError("labels are a list with at least one item")
    if all(isinstance(label, str) for label in labels):
        return STRING
    if all(type(label) is int and -(1 << 63) <= label < 1 << 63 for label in labels):
        return INT64
    raise LabelsError("labels are texts or whole numbers of 64 bits, all of one kind (quote texts)")


def read_labels(path: str) -> list[str]:
    """Reads a file of labels.

    Args:
        path: A local file: a JSON list of texts where its name ends in ``.json``, else a text with one label a line.

    Raises:
        LabelsError: It holds none.
    """
    if os.path.getsize(path) > _MOST_BYTES:
        raise LabelsError(f"the file is larger than {_MOST_BYTES >> 20} MiB")
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except UnicodeDecodeError as exc:
        raise LabelsError("the file is not UTF-8 text") from exc
    return _of_json(text) if path.lower().endswith(".json") else _of_lines(text)


def _of_json(text: str) -> list[str]:
    try:
        found = read_json(text.encode())
    except JsonError as exc:
        raise LabelsError("the file is not JSON, or holds too much") from exc
    if not isinstance(found, list) or not found or not all(isinstance(label, str) for label in found):
        raise LabelsError("the file holds no JSON list of texts")
    return found


def _of_lines(text: str) -> list[str]:
    lines = [line.strip() for line in text.rstrip().split("\n")]
    if lines == [""]:
        raise LabelsError("the file is empty; it needs one label a line")
    if "" in lines:
        raise LabelsError(f"line {lines.index('') + 1} is empty; every line is the label of its index")
    return lines
