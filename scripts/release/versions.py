"""The version is written in one file for each language and in the texts that name it: all must say the same."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.layout import ROOT
from scripts.shell import CommandFailed

VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:-?(?:a|b|rc)\d+)?")
_PARENT = r"<artifactId>beam-ensembles-parent</artifactId>\s*<version>({})</version>"
_CLIENT = r"<artifactId>beam-ensembles</artifactId>\s*<version>({})</version>"


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A place that holds the version.

    Attributes:
        file: Relative to the checkout.
        text: The text around it, a regular expression with ``{}`` where the version is.
    """

    file: str
    text: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The whole expression; group 1 is the version."""
        return re.compile(self.text.replace("({})", f"({VERSION.pattern})"), re.MULTILINE)


PLACES: Final = (
    Place("pyproject.toml", r'^version = "({})"$'),
    Place("python_transforms/beam_ensembles/__init__.py", r'^__version__: Final = "({})"$'),
    Place("CITATION.cff", r"^version: ({})$"),
    Place("go_examples/ensemble/config.go", r'^const Version = "({})"$'),
    Place("java_examples/pom.xml", _PARENT),
    Place("java_examples/bom/pom.xml", _PARENT),
    Place("java_examples/client/pom.xml", _PARENT),
    Place("java_examples/digits/pom.xml", _PARENT),
    Place("java_examples/examples/pom.xml", _PARENT),
    Place("java_examples/bench/pom.xml", _PARENT),
    Place("java_examples/starter/pom.xml", _CLIENT),
    Place("java_examples/README.md", _CLIENT),
    Place("docs/get-started/installing.md", r"`io\.github\.beamensembles:beam-ensembles:({})`"),
    Place("Dockerfile", r"^ARG VERSION=({})$"),
    Place("compose.yaml", r":-beam-ensembles-(?:service|worker):({})\}"),
    Place("deploy/kubernetes/kustomization.yaml", r"newTag: ({})\}"),
    Place("deploy/kubernetes-gpu/kustomization.yaml", r"newTag: ({})\}"),
)


def found(root: Path = ROOT) -> Iterator[tuple[Place, str]]:
    """Yields each place with each version that it has.

    Raises:
        CommandFailed: A place holds none.
    """
    for place in PLACES:
        versions = place.pattern.findall((root / place.file).read_text(encoding="utf-8"))
        if not versions:
            raise CommandFailed(f"{place.file}: holds no version where {place.text!r} should be")
        yield from ((place, version) for version in versions)


def agreed(root: Path = ROOT) -> str:
    """Returns the version.

    Raises:
        CommandFailed: Two places say different ones.
    """
    all_ = list(found(root))
    if len({version for _, version in all_}) > 1:
        lines = "\n".join(f"  {version}  {place.file}" for place, version in all_)
        raise CommandFailed(f"the places that hold the version disagree (--set-version writes all):\n{lines}")
    return all_[0][1]


def write(version: str, root: Path = ROOT) -> None:
    """Writes a version into all places.

    Raises:
        CommandFailed: It is none, or a place holds none so far.
    """
    if VERSION.fullmatch(version) is None:
        raise CommandFailed(f"'{version}' is not a version such as 1.2.3 or 1.2.3rc1")
    list(found(root))
    for place in PLACES:
        path = root / place.file
        text = path.read_text(encoding="utf-8")
        path.write_text(place.pattern.sub(lambda hit: _replaced(hit, version), text), encoding="utf-8")


def _replaced(hit: re.Match[str], version: str) -> str:
    start, end = hit.start(1) - hit.start(), hit.end(1) - hit.start()
    return hit[0][:start] + version + hit[0][end:]
