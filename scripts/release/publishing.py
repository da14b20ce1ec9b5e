"""The only place that can publish something: the commands that do it, and what must hold before they are run."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

from scripts.environments import locked_environment
from scripts.layout import MAVEN_PROJECT, ROOT
from scripts.program import say
from scripts.release import images, maven_artifacts
from scripts.release.coordinates import go_tag, release_tag
from scripts.shell import CommandFailed, output
from scripts.toolchains import java

Run = Callable[[list[str], Path], None]


def commands(version: str, python_folder: Path) -> list[tuple[list[str], Path]]:
    """Returns the commands in their order, each with the folder it is run in.

    What cannot be taken back by a later commit comes last: tags and packages.

    Args:
        version: The version.
        python_folder: Where the wheel and the source distribution lie.
    """
    twine = str(locked_environment("release") / "bin" / "twine")
    packages = sorted(map(str, python_folder.glob("*")))
    return [
        *((command, ROOT) for command in images.commands(version)),
        (["git", "tag", "-a", release_tag(version), "-m", f"Release {version}"], ROOT),
        (["git", "tag", "-a", go_tag(version), "-m", f"Release {version} of the Go client"], ROOT),
        (["git", "push", "origin", release_tag(version), go_tag(version)], ROOT),
        ([twine, "upload", *packages], ROOT),
        (list(maven_artifacts.PUBLISH), MAVEN_PROJECT),
    ]


def obstacles(version: str, root: Path = ROOT) -> list[str]:
    """Returns what stands against publishing: nothing where the version is written up and committed."""
    found = []
    if f"\n## [{version}]" not in (root / "CHANGELOG.md").read_text(encoding="utf-8"):
        found.append(f"CHANGELOG.md has no section [{version}]")
    if output(["git", "-C", root, "status", "--porcelain"]) != "":
        found.append("there are changes that are not committed")
    tags = (output(["git", "-C", root, "tag", "--list"]) or "").split()
    found += [f"the tag {tag} exists" for tag in (release_tag(version), go_tag(version)) if tag in tags]
    return found


def publish(asked: str, version: str, python_folder: Path, run: Run | None = None) -> None:
    """Publishes everything.

    Args:
        asked: The version that the person named; must be ``version``.
        version: What the checkout holds.
        python_folder: Where the wheel and the source distribution lie.
        run: Runs a command in a folder; None: really.

    Raises:
        CommandFailed: Something stands against it, or a command failed; the ones before it are done.
    """
    against = [] if asked == version else [f"the checkout holds {version}, not {asked}"]
    against += obstacles(version)
    if against:
        raise CommandFailed("not published: " + "; ".join(against))
    for command, folder in commands(version, python_folder):
        say(f"$ {shlex.join(command)}")
        (run or _really)(command, folder)


def _really(command: list[str], folder: Path) -> None:
    env = {**os.environ, **java.environment()}
    if subprocess.run(command, cwd=folder, env=env, check=False).returncode != 0:
        raise CommandFailed(f"failed, and what comes after it was not done: {shlex.join(command)}")
