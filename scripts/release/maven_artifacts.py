"""The Java library: what Maven Central gets, deployed to a folder."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Final

from scripts.layout import MAVEN_PROJECT
from scripts.release.coordinates import MAVEN_ARTIFACTS, MAVEN_GROUP
from scripts.shell import CommandFailed, log_path, run
from scripts.toolchains import java
from scripts.toolchains.maven import QUIET

_LOG: Final = "release-java"
_POM: Final = "{http://maven.apache.org/POM/4.0.0}"
_DEMANDED: Final = (
    "name", "description", "url", "licenses/license/name", "developers/developer/name", "scm/connection", "scm/url",
)  # fmt: skip
_LIBRARY: Final = ("-DskipTests", "-Dmaven.install.skip", "--projects", "bom,client", "deploy")
PUBLISH: Final = ("mvn", *QUIET, "-Prelease,central", *_LIBRARY)
"""Signs with the key of the machine's GnuPG, and uploads with the token of server ``central`` in settings.xml."""


def make(folder: Path, version: str) -> str:
    """Deploys, unsigned, to a folder what Central would get, and checks that it would find all in it.

    Args:
        folder: Where a copy of the Maven project is built, so that nobody else's build is disturbed.
        version: What it must say.

    Raises:
        CommandFailed: Something is missing.
    """
    shutil.copytree(MAVEN_PROJECT, folder, ignore=shutil.ignore_patterns("target"), dirs_exist_ok=True)
    repository = folder.with_name("java-repository")
    deploy = ["mvn", *QUIET, "-Prelease", "-Dgpg.skip", "-Dfmt.skip"]
    to_folder = f"-DaltDeploymentRepository=folder::{repository.as_uri()}"
    run([*deploy, to_folder, *_LIBRARY], log=log_path(_LOG), env=java.environment(), cwd=folder)
    names = [str(path.relative_to(repository)) for path in repository.rglob("*") if path.is_file()]
    problems = [*_missing_files(names, version), *_strange_files(names), *_gaps(repository)]
    if problems:
        raise CommandFailed("Maven Central would refuse this:\n" + "\n".join(problems))
    return f"{MAVEN_GROUP}:{MAVEN_ARTIFACTS[-1]}:{version}, {len(names)} files"


def _missing_files(names: list[str], version: str) -> list[str]:
    library = MAVEN_ARTIFACTS[-1]
    kinds = {artifact: [".pom"] for artifact in MAVEN_ARTIFACTS}
    kinds[library] += [".jar", "-sources.jar", "-javadoc.jar"]
    wanted = [
        f"{MAVEN_GROUP.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}{kind}"
        for artifact, endings in kinds.items()
        for kind in endings
    ]
    both = [name + sum_ for name in wanted for sum_ in ("", ".md5", ".sha1")]
    return [f"it lacks {name}" for name in both if name not in names]


def _strange_files(names: list[str]) -> list[str]:
    folders = tuple(f"{MAVEN_GROUP.replace('.', '/')}/{artifact}/" for artifact in MAVEN_ARTIFACTS)
    return [f"it holds {name}" for name in names if not name.startswith(folders)]


def _gaps(repository: Path) -> list[str]:
    """Names what Central demands of a POM and does not find."""
    poms = {path.name: ElementTree.parse(path).getroot() for path in repository.rglob("*.pom")}  # noqa: S314
    gaps = [
        f"{name} has no <{path}>" for name, pom in poms.items() for path in _DEMANDED if not _text(pom, path)
    ]
    return gaps + [f"{name} needs a parent" for name, pom in poms.items() if _text(pom, "parent/artifactId")]


def _text(pom: ElementTree.Element, path: str) -> str:
    return (pom.findtext("/".join(_POM + part for part in path.split("/"))) or "").strip()
