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
Print the JSON Schema of ensemble files, with which editors complete and check them while they are written:

  beam-ensembles schema > ensemble.schema.json

and as the first line of an ensemble file, for the YAML extension of VS Code and all that use its language server:

  # yaml-language-server: $schema=ensemble.schema.json

It knows a file's shape, kinds that installed distributions add among it; 'beam-ensembles validate' knows the rest.
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
