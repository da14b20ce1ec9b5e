"""``python -m scripts.command_reference``: writes docs/reference/commands.md from the parsers of all verbs."""

from __future__ import annotations

import argparse
import importlib
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from beam_ensembles.cli.main import SUMMARIES
from scripts.layout import ROOT, relative
from scripts.program import say

PAGE: Final = ROOT / "docs" / "reference" / "commands.md"
_HEAD: Final = """\
# Options of every command

`make docs` writes this page from the command's own parsers: it says what `beam-ensembles VERB --help` prints.
[The command line](command-line.md) shows the verbs at work. [Environment variables](environment.md) lists the variables
that they read.
"""
_UNTITLED: Final = ("positional arguments", "options")
"""The groups that argparse makes itself."""
_CODE: Final = re.compile(
    r"(?<!\w)('[^'\n]+'(?!\w)"  # quoted
    r"|--[a-z][\w-]*(?:=\w[\w:.]*\w)?"  # flags
    r"|\$\w+(?:=\w+)?|\$\{\w+\}"  # variables
    r"|\w+://[\w:./*-]*[\w*]|[\w]+:/?[A-Z][A-Z0-9_]+\b"  # addresses and places
    r"|\*\.\w+(?:\.\w+)*|\w+(?:\.\w+)*\.\*|\*)"  # patterns
)
_COLUMNS: Final = re.compile(r"^ |\S {2,}\S|^(beam-ensembles|#) ", re.MULTILINE)
_PAGES: Final = re.compile(r"docs/((?:[\w-]+/)*([\w-]+)\.md)")


def reference(summaries: Mapping[str, str]) -> str:
    """Returns the text of the page.

    Args:
        summaries: What each verb does, in the order in which they are to be listed.
    """
    rows = "".join(f"| [`{verb}`](#{verb}) | {text} |\n" for verb, text in summaries.items())
    return "\n".join([_HEAD, f"| verb | what it does |\n|---|---|\n{rows}", *map(_section, summaries)])


def _section(verb: str) -> str:
    module = importlib.import_module(f"beam_ensembles.cli.{verb}")
    parser = argparse.ArgumentParser(prog=f"beam-ensembles {verb}", add_help=False)
    module.add_arguments(parser)
    blocks = (_block(block) for block in module.DESCRIPTION.strip("\n").split("\n\n"))
    return "\n".join([f"## `{verb}`\n", *blocks, *_tables(parser)])


def _block(block: str) -> str:
    """Returns a paragraph of a description as Markdown; commands and what stands in columns stay as they are."""
    title, _, rest = block.partition("\n")
    if not rest.startswith("  "):
        title, rest = "", block
    rest = textwrap.dedent(rest)
    lead = f"{_sentence(title)}\n\n" if title else ""
    if _COLUMNS.search(rest):
        return f"{lead}```text\n{rest}\n```\n"
    return f"{lead}{textwrap.fill(_sentence(' '.join(rest.split())), 120, break_on_hyphens=False)}\n"


def _tables(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yields a table of options for each group that has some."""
    groups = parser._action_groups
    untitled = [action for group in groups if group.title in _UNTITLED for action in group._group_actions]
    if untitled:
        yield _table(untitled)
    for exclusive in parser._mutually_exclusive_groups:
        names = " or ".join(f"`{action.option_strings[-1]}`" for action in exclusive._group_actions)
        yield f"{'Give' if exclusive.required else 'Give at most'} one of {names}.\n"
    for group in groups:
        if group.title not in _UNTITLED:
            title = _sentence(f"{group.title}")
            lead = f"**{title}**: {_text(group.description)}" if group.description else f"**{title}**"
            yield f"{lead}\n\n{_table(group._group_actions)}"


def _table(actions: Iterable[argparse.Action]) -> str:
    rows = [_row(action) for action in actions if action.help != argparse.SUPPRESS]
    return "".join(["| option | meaning |\n|---|---|\n", *rows])


def _row(action: argparse.Action) -> str:
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    value = str(action.metavar or choices)
    if not action.option_strings:
        name = f"`[{value}]`" if action.nargs == "?" else f"`{value}`"
    else:
        name = ", ".join(
            f"`{one}`" if action.nargs == 0 else f"`{one} {value}`" for one in action.option_strings
        )
        name += ", required" if action.required else ""
    return f"| {name} | {_text((action.help or '') % vars(action))} |\n"


def _sentence(text: str) -> str:
    return _text(text[:1].upper() + text[1:])


def _text(text: str) -> str:
    """Returns text as Markdown: flags, variables and what is quoted as code, pages as links."""
    parts = _CODE.split(text)
    parts[0::2] = [_PAGES.sub(r"[\2](../\1)", re.sub(r"([|<])", r"\\\1", part)) for part in parts[0::2]]
    parts[1::2] = [f"`{part.strip(chr(39))}`" for part in parts[1::2]]
    return "".join(parts)


def main() -> None:
    """Writes the page."""
    PAGE.write_text(reference(SUMMARIES), encoding="utf-8")
    say(relative(PAGE))


if __name__ == "__main__":
    main()
