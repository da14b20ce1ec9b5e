"""Stand-ins of the public images of Flink and of Beam's job server for it, for ``compose.yaml``.

Their jars are those of ``make test-flink``, from PyPI and Maven Central; Java is this machine's.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from scripts.containers.engine import Engine
from scripts.containers.stand_ins import PYTHON_BASE
from scripts.flink.cluster import JAVA_OPTIONS, LOGGING
from scripts.flink.install import Jars, install
from scripts.layout import ROOT
from scripts.shell import Command, log_path, run
from scripts.toolchains import java

IMAGES: Final = {
    "FLINK_IMAGE": "stand-in-of-flink:1.19.3-java17",
    "JOB_SERVER_IMAGE": "stand-in-of-beam-flink1.19-job-server:2.62.0",
}
"""Named for what they are, by the variables with which ``compose.yaml`` takes them."""
_TARGETS: Final = {"FLINK_IMAGE": "flink", "JOB_SERVER_IMAGE": "job-server"}
_RECIPE: Final = ROOT / "scripts" / "containers" / "flink"


def make(engine: Engine) -> str:
    """Creates them.

    Args:
        engine: Where they are to be.

    Raises:
        CommandFailed: a package is unavailable.
        Missing: there is no Java to fetch the jars with.
    """
    folder = Path(str(engine.folder), "flink")
    folder.mkdir()
    _context(folder, install())
    given = {"BASE": PYTHON_BASE, "JAVA_OPTIONS": " ".join((*JAVA_OPTIONS, *java.SHORT_LIVED))}
    options = [word for item in given.items() for word in ("--build-arg", "=".join(item))]
    for variable, image in IMAGES.items():
        target = ["--target", _TARGETS[variable], "--tag", image]
        engine.docker("build", *engine.network, *options, *target, folder, log="stand-ins-of-flink")
    shutil.rmtree(folder)
    return "Flink and Beam's job server, of the jars of make test-flink"


def _context(folder: Path, jars: Jars) -> None:
    """Puts what the images are made of into a folder."""
    for name in ("Dockerfile", "flink.sh"):
        shutil.copy(_RECIPE / name, folder)
    conf = folder / "flink" / "conf"
    conf.mkdir(parents=True)
    shutil.copy(_RECIPE / "config.yaml", conf)
    (conf / "log4j-console.properties").write_text(LOGGING, encoding="utf-8")
    _copy(_files(jars.flink), folder / "flink" / "lib")
    _copy([jars.utilities], folder / "flink" / "bin")
    _copy(_files(jars.job_server), folder / "job-server")
    # A Java that is whole in its folder, which a JDK of Debian's is not.
    whole: Command = [
        "jlink",
        "--add-modules=java.se,jdk.crypto.ec,jdk.management,jdk.unsupported",
        "--strip-debug",
        "--output",
        folder / "java",
    ]
    run(whole, log=log_path("stand-ins-of-flink"), env=java.environment())


def _files(class_path: str) -> list[Path]:
    return [Path(word) for word in class_path.split(os.pathsep)]


def _copy(files: Iterable[Path], folder: Path) -> None:
    folder.mkdir()
    for file in files:
        shutil.copy(file, folder)
