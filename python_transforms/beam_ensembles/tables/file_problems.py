"""Problems of a file of rows as a whole."""

from __future__ import annotations

import codecs
import collections
from collections.abc import Iterable, Sequence
from typing import Final

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.limits import LONGEST_FIELD_NAME

FILE: Final = "input"
"""The path of a problem of the whole file."""


def refuse_duplicates(fields: Sequence[str], what: str = "the file") -> None:
    """Refuses a file with two fields of one name.

    Args:
        fields: The names.
        what: What has the fields, where it is not a file.

    Raises:
        InvalidEnsemble: There are such fields.
    """
    counts = collections.Counter(fields)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        text = "{count} columns of {what} are named '{name}'; give each a name of its own"
        raise InvalidEnsemble(
            Problem(
                f"{FILE}.{name}",
                "duplicate_field",
                text.format(count=counts[name], what=what, name=name),
            )
            for name in twice
        )


def refuse_long_names(fields: Iterable[str]) -> None:
    """Refuses a file of rows with a field whose name is so long that each row of JSON lines would be huge.

    Raises:
        InvalidEnsemble: There is such a field.
    """
    for name in fields:
        if len(name) > LONGEST_FIELD_NAME:
            text = (
                f"the name of a field has {len(name):,} characters ('{name[:40]}...'); {LONGEST_FIELD_NAME:,} are "
                "allowed"
            )
            raise InvalidEnsemble([Problem(FILE, "bad_file", text)])


def refuse_utf16(start: bytes) -> None:
    """Refuses a text file that begins with the mark of UTF-16.

    Raises:
        InvalidEnsemble: It does.
    """
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InvalidEnsemble([Problem(FILE, "bad_file", "the file is UTF-16; save it as UTF-8")])
