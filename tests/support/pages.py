"""The commands of a page of the documentation, and who runs them.

Every ``sh`` block is run by a test as written, unless its first line says otherwise: ``# run by WHO``, or
``# not run here: WHY``.
"""

from __future__ import annotations

import dataclasses
import doctest
import re
import shlex
import textwrap
from pathlib import Path

from scripts.layout import ROOT

_BLOCK = re.compile(r"^( *)```sh\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"(?:#|//) (\S+\.\w+)\n")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_VARIES = re.compile(r"\d[\d,]*\.\d[\d.]*|\d+,\d+|\d+(?= (?:s|ms|rows/s|bytes|kB|MiB)\b)|\d{2,}")
_DIGITS = re.compile(r"(\d\.\d{3})\d+")
_MARK = re.compile(r"# (run by|not run here:) (.+)\n")


@dataclasses.dataclass(frozen=True)
class Block:
    """One block of commands.

    Attributes:
        page: The page's name.
        text: All of it.
    """

    page: str
    text: str

    @property
    def run_by(self) -> str | None:
        """What its first line names, where something else than the page's own test runs it."""
        return self._mark("run by")

    @property
    def not_run(self) -> str | None:
        """Why it is not run, where its first line says that."""
        return self._mark("not run here:")

    def commands(self) -> list[list[str]]:
        """Returns the words of each command."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [words for words in (shlex.split(line, comments=True) for line in lines) if words]

    def _mark(self, kind: str) -> str | None:
        found = _MARK.match(self.text)
        return found[2] if found is not None and found[1] == kind else None

    def __str__(self) -> str:
        return f"{self.page}: {self.text.splitlines()[0]}"


def blocks(page: str) -> list[Block]:
    """Returns the blocks of a page below ``docs``."""
    text = path_of(page).read_text(encoding="utf-8")
    return [Block(page, textwrap.dedent(found[2])) for found in _BLOCK.finditer(text)]


def blocks_of(page: str, language: str) -> list[str]:
    """Returns the text of the code blocks of a language."""
    found = _CODE.finditer(path_of(page).read_text(encoding="utf-8"))
    return [textwrap.dedent(one[3]) for one in found if one[2] == language]


def block_with(page: str, first: str) -> Block:
    """Returns the one block that has a command that begins with some words."""
    words = first.split()
    (found,) = [block for block in blocks(page) if any(c[: len(words)] == words for c in block.commands())]
    return found


def flags_after(page: str, first: str) -> list[str]:
    """Returns the words of a page's command that follow those that it begins with."""
    words = first.split()
    (found,) = [c for c in block_with(page, first).commands() if c[: len(words)] == words]
    return found[len(words) :]


def named_files(page: str) -> dict[str, str]:
    """Returns the text of each code block whose first line names a file, by that name."""
    return named_files_of(path_of(page))


def named_files_of(path: Path) -> dict[str, str]:
    """Returns the same for any file of Markdown."""
    texts = [textwrap.dedent(found[3]) for found in _CODE.finditer(path.read_text(encoding="utf-8"))]
    return {name[1]: text[name.end() :] for text in texts if (name := _NAMED.match(text))}


def outputs(page: str) -> list[tuple[Block, str | None]]:
    """Returns a page's blocks of commands, each with the block of ``text`` that follows it, if one does."""
    found = list(_CODE.finditer(path_of(page).read_text(encoding="utf-8")))
    return [
        (
            Block(page, textwrap.dedent(block[3])),
            textwrap.dedent(after[3]) if after is not None and after[2] == "text" else None,
        )
        for block, after in zip(found, [*found[1:], None], strict=True)
        if block[2] == "sh"
    ]


def assert_says(text: str | None, found: str) -> None:
    """Asserts that commands printed what a page says, where it says something."""
    if text is None:
        return
    same = doctest.OutputChecker().check_output(comparable(text), comparable(found), _FLAGS)
    assert same, f"the page:\n{text}\nprinted:\n{found}"


def comparable(text: str) -> str:
    """Returns a text without what differs from one run to the next; rows keep three digits of each fraction.

    A logistic regression that stops early differs in the fourth from one processor to another.
    """
    return "\n".join(
        _DIGITS.sub(r"\1", line) if line.startswith("{") else _VARIES.sub("N", line)
        for line in text.split("\n")
    )


def path_of(page: str) -> Path:
    """Returns the file of a page."""
    return ROOT / "docs" / page
