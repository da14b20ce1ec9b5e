"""What verbs print: text from outside as it may be shown, whatever encoding a terminal or a pipe has."""

from __future__ import annotations

import json
import sys
from typing import Any

from beam_ensembles.messages.printable import printable


def print_json(data: Any) -> None:
    """Prints data as JSON on several lines, with control and invisible characters as escapes of JSON."""
    lines = json.dumps(data, indent=2, ensure_ascii=False).split("\n")
    print("\n".join(map(printable, lines)))


def print_lines(text: str) -> None:
    """Prints text of several lines; a line that holds control or invisible characters shows their escapes."""
    print("\n".join(map(printable, text.split("\n"))))


def counted(rows: int) -> str:
    """Returns a number of rows, as in ``1,024 rows``."""
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def say(verb: str, message: str) -> None:
    """Prints one sentence to standard error, as the verb's."""
    print(f"beam-ensembles {verb}: {printable(message)}", file=sys.stderr)
