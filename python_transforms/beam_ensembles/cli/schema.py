"""``beam-ensembles schema``: prints the JSON Schema of ensemble files."""

from __future__ import annotations

import argparse
import importlib.resources
import json
from typing import Final

from beam_ensembles.cli.output import say
from beam_ensembles.graph.json_schema.document import file_schema
from beam_ensembles.registry import KINDS

DESCRIPTION: Final = """\
Print the JSON Schema of ensemble files. Editors use it to complete and check a file while you write it:

  beam-ensembles schema > ensemble.schema.json

Then begin an ensemble file with this line, for the YAML extension of VS Code and all that use its language server:

  # yaml-language-server: $schema=ensemble.schema.json

The schema covers a file's shape, with kinds that installed distributions add. 'beam-ensembles validate' checks the
rest.
"""
_PRINTED: Final = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments: it has none."""


def run(args: argparse.Namespace) -> int:
    """Prints the schema that belongs to this version."""
    if KINDS.added:
        for error in KINDS.unusable():
            say("schema", str(error))
        print(json.dumps(file_schema(KINDS.usable()), indent=2, ensure_ascii=False))
        return _PRINTED
    file = importlib.resources.files("beam_ensembles") / "ensemble.schema.json"
    print(file.read_text(encoding="utf-8"), end="")
    return _PRINTED
