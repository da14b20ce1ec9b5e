"""``python -m scripts.release``: makes and checks all that is published. Publishes only with ``--publish VERSION``."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from scripts.layout import BUILD, relative
from scripts.program import say, styled
from scripts.release import (
    audit,
    bills_of_materials,
    go_module,
    images,
    maven_artifacts,
    publishing,
    python_package,
    versions,
)
from scripts.shell import CommandFailed, Missing
from scripts.steps import Step, run_steps, show_failures
from scripts.toolchains import go, java

FOLDER: Final = BUILD / "release"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.release", description=__doc__)
    parser.add_argument(
        "--only",
        choices=("python", "go", "java", "images"),
        action="append",
        help="make only this (repeatable)",
    )
    parser.add_argument("--set-version", metavar="VERSION", help="write this version everywhere, and end")
    parser.add_argument(
        "--publish", metavar="VERSION", help="after all checks publish everything; VERSION is what you mean"
    )
    return parser.parse_args()


def _steps(version: str, only: list[str] | None) -> list[Step]:
    def python_files() -> str:
        folder = _empty("python")
        made = python_package.make(folder, version)
        return f"{made}; {bills_of_materials.of_python(folder.with_name('python-installed'))}"

    def java_artifacts() -> str:
        java.require()
        folder = _empty("java")
        return f"{maven_artifacts.make(folder, version)}; {bills_of_materials.of_java(folder)}"

    def go_proxy() -> str:
        go.require()
        return f"{go_module.make(_empty('go'), version)}; {bills_of_materials.of_go()}"

    all_: dict[str, tuple[str, Callable[[], str]]] = {
        "python": ("wheel and source distribution", python_files),
        "go": ("the module as its tag will hold it", go_proxy),
        "java": ("jars, sources and Javadoc", java_artifacts),
        "images": ("their names", lambda: images.check(version)),
    }
    steps = [Step(name, doing, work) for name, (doing, work) in all_.items() if only is None or name in only]
    return steps if only else [*steps, *audit.STEPS]


def _empty(name: str) -> Path:
    folder = FOLDER / name
    for leftover in FOLDER.glob(f"{name}*"):
        shutil.rmtree(leftover)
    folder.mkdir(parents=True)
    return folder


def _show_commands(version: str) -> None:
    say(
        f"\nA dry run: all of it lies in {relative(FOLDER)}, nothing was published. --publish {version} would run:"
    )
    for command, _ in publishing.commands(version, FOLDER / "python"):
        say(f"  {shlex.join(command)}")
    for obstacle in publishing.obstacles(version):
        say(styled(f"  but not yet: {obstacle}", "yellow"))


def main() -> int:
    """Does what the flags say; gives the exit code."""
    flags = _arguments()
    try:
        if flags.set_version is not None:
            versions.write(flags.set_version)
            return 0
        version = versions.agreed()
        say(f"beam-ensembles {version}")
        outcomes = run_steps(_steps(version, flags.only))
        if show_failures(outcomes):
            return 1
        if flags.publish is None:
            _show_commands(version)
        elif flags.only is not None or not all(outcome.well for outcome in outcomes.values()):
            raise CommandFailed("not published: everything must be made and checked first")
        else:
            publishing.publish(flags.publish, version, FOLDER / "python")
    except (CommandFailed, Missing) as exc:
        say(styled(str(exc), "red"))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
