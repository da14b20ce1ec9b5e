"""``python -m beam_ensembles_service``: ``beam-ensembles serve`` as Beam's starters in Java and Go run it."""

from __future__ import annotations

import argparse
import sys

from beam_ensembles_service.launch import run
from beam_ensembles_service.settings import DESCRIPTION, add_arguments


def main(argv: list[str] | None = None) -> int:
    """Serves until it is ended; gives the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m beam_ensembles_service",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_arguments(parser)
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
