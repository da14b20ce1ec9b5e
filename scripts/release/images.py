"""The images: which there are, and under which names they are pushed. ``make test-image`` builds and runs them."""

from __future__ import annotations

import re
from typing import Final

from scripts.layout import ROOT
from scripts.release.coordinates import IMAGE_REGISTRY, IMAGES, image_name
from scripts.shell import CommandFailed

DOCKERFILE: Final = ROOT / "Dockerfile"


def check(version: str) -> str:
    """Ensures that the Dockerfile has a target for each image; gives the names under which they are pushed.

    Raises:
        CommandFailed: A target is missing.
    """
    targets = re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    missing = [target for target in IMAGES if target not in targets]
    if missing:
        raise CommandFailed(f"Dockerfile has no target {', '.join(missing)}, only {', '.join(targets)}")
    return ", ".join(published_name(target, version) for target in IMAGES)


def published_name(target: str, version: str) -> str:
    """Returns the name and tag of an image in the registry."""
    return f"{IMAGE_REGISTRY}/{image_name(target)}:{version}"


def commands(version: str) -> list[list[str]]:
    """Returns the commands that build and push each."""
    return [
        command
        for target in IMAGES
        for command in (
            ["docker", "build", "--target", target, "-t", published_name(target, version), "."],
            ["docker", "push", published_name(target, version)],
        )
    ]
