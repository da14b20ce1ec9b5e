"""The languages that rows can be written in."""

from __future__ import annotations

from typing import Final

from beam_ensembles.code_generation.go import Go
from beam_ensembles.code_generation.java import Java
from beam_ensembles.code_generation.language import Language
from beam_ensembles.code_generation.python import Python

LANGUAGES: Final[dict[str, Language]] = {one.command: one for one in (Go(), Java(), Python())}
"""Each language by its name on the command line."""
