"""Under which names this project is published."""

from __future__ import annotations

from typing import Final

PYTHON_PACKAGE: Final = "beam-ensembles"
"""On PyPI."""

MAVEN_GROUP: Final = "io.github.beamensembles"
"""On Maven Central."""
MAVEN_ARTIFACTS: Final = ("beam-ensembles-bom", "beam-ensembles")
"""The versions that belong together, and the library. The examples are not published."""

GO_MODULE_PATH: Final = "github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"

IMAGES: Final = ("service", "worker", "worker-gpu")
"""Targets of the Dockerfile."""
IMAGE_REGISTRY: Final = "ghcr.io/beam-ensembles"


def release_tag(version: str) -> str:
    """Returns the tag of a release of all."""
    return f"v{version}"


def go_tag(version: str) -> str:
    """Returns the tag by which Go finds a version of a module that is a folder of its repository."""
    return f"go_examples/ensemble/v{version}"


def image_name(target: str) -> str:
    """Returns the local name of the image that a target of the Dockerfile makes."""
    return f"beam-ensembles-{target}"
