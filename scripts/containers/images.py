"""The project's images: ``python -m scripts.containers.images`` builds them (``make image``)."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

from beam_ensembles import __version__
from scripts.containers.engine import Engine, NoEngine, engine
from scripts.layout import ROOT
from scripts.program import exit_code, say, step_line

TARGETS: Final = ("service", "worker", "worker-gpu")


def image(target: str) -> str:
    """Returns the name under which the image of a target is built."""
    return f"beam-ensembles-{target}:{__version__}"


def own_python() -> str:
    """Returns the Python that runs this, which is that of a service that is not in a container."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def build(where: Engine, target: str, arguments: Mapping[str, str]) -> str:
    """Builds an image.

    Args:
        where: The engine.
        target: Which one.
        arguments: The build arguments that are not those of the Dockerfile.

    Raises:
        CommandFailed: it cannot be built.
    """
    flags = [word for item in arguments.items() for word in ("--build-arg", "=".join(item))]
    name = image(target)
    start = time.monotonic()
    where.docker(
        "build", *where.network, "--target", target, *flags, "--tag", name, ROOT, log=f"image-{target}"
    )
    size = int(where.ask("image", "inspect", "--format", "{{.Size}}", name) or 0)
    step_line("ok", "green", name, f"{size / 1e6:,.0f} MB", time.monotonic() - start)
    return name


def main(words: Sequence[str] | None = None) -> int:
    """Builds the images that are asked for; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "targets", nargs="*", help=f"of {', '.join(TARGETS)}; the first two where none is named"
    )
    parser.add_argument(
        "--build-arg", action="append", default=[], metavar="NAME=VALUE", help="as docker build's"
    )
    args = parser.parse_args(words)
    unknown = [target for target in args.targets if target not in TARGETS]
    if unknown:
        parser.error(f"there is no target '{unknown[0]}'; there are {', '.join(TARGETS)}")
    given = dict(argument.partition("=")[::2] for argument in args.build_arg)

    def work() -> bool:
        try:
            with engine() as where:
                for target in args.targets or TARGETS[:2]:
                    build(where, target, {"PYTHON_VERSION": own_python(), **given})
        except NoEngine as exc:
            say(f"no container engine ({exc})")
            return False
        return True

    return exit_code(work)


if __name__ == "__main__":
    sys.exit(main())
