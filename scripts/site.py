"""``python -m scripts.site``: builds the site of the pages into ``build/site``; a broken link is an error."""

from __future__ import annotations

import os
import sys

from scripts.environments import locked_environment
from scripts.layout import BUILD, ROOT, relative
from scripts.program import exit_code, say
from scripts.shell import Command, log_path, run

FOLDER = BUILD / "site"


def build() -> bool:
    """Builds the site with mkdocs, which an environment of its own has."""
    mkdocs = locked_environment("docs") / "bin" / "mkdocs"
    command: Command = [mkdocs, "build", "--strict", "--clean", "--quiet"]
    run(command, log=log_path("site"), cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    say(f"{relative(FOLDER)}: open {relative(FOLDER / 'index.html')}")
    return True


if __name__ == "__main__":
    sys.exit(exit_code(build))
