"""``python -m scripts.words``: finds wording that readers had to read twice, in pages, docstrings and comments."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.layout import ROOT

READ: Final = ("*.md", "*.py", "*.go", "*.java")
LEFT_OUT: Final = re.compile(r"^tests/(golden|benchmarks)/|(^|/)(test_)?words\.py$")
RULES: Final = {
    r"\bdear(er|est)?\b": "expensive",
    r"\bin place of\b": "instead of",
    r"\bfor ever\b": "forever",
    r"\bon the quiet\b": "silently",
    r"\bonce a (worker|machine|process|pipeline|job|run|bundle|batch)\b": "once per",
    r"\b(rows?|calls?|models?|bytes|seconds) a (row|worker|machine|process|second|bundle|stage|node)\b": "per",
    r"\bwithout leave\b": "not allowed, or: without permission",
    r"\b(cannot|can) be had\b": "is available",
    r"(?-i:\bWho) (wants|asks|names|needs|calls)\b": "a sentence that names who does it",
    r'"""What (is|comes|was|becomes|runs|goes|stands) ': "the name of the thing",
    r'"""(Gives|Says|Has|Lets|Tells) ': "Returns, Yields, Whether, or a verb of what it does",
    r"\bhurts? nobody\b": "does no harm",
    r"\bnow and then\b": "occasionally",
    r"\bever more seldom\b": "less and less often",
}
"""A pattern, and what to write instead."""
_FOUND: Final = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in RULES.items()]
_QUOTED: Final = re.compile(r"`[^`\n]*`")


def found_in(text: str) -> Iterator[tuple[int, str, str]]:
    """Yields the number of each line with such wording, the wording, and what to write instead."""
    for number, line in enumerate(text.splitlines(), 1):
        plain = _QUOTED.sub("", line)
        for pattern, instead in _FOUND:
            if match := pattern.search(plain):
                yield number, match[0], instead


def main() -> int:
    """Prints what it finds; returns 1 if that is anything."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *READ], cwd=ROOT, capture_output=True, check=True, text=True
    )
    names = [name for name in listed.stdout.split("\0") if name and not LEFT_OUT.search(name)]
    problems = [
        f"{name}:{number}: '{wording}'; write: {instead}"
        for name in names
        if (path := Path(ROOT, name)).is_file()
        for number, wording, instead in found_in(path.read_text(encoding="utf-8"))
    ]
    print("\n".join(problems) or f"{len(names)} files, no such wording")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
