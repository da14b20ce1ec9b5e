"""The Java client as others use it: installed by the commands of its README into an empty repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from typing import Final

import beam_ensembles
import pytest

from scripts.layout import MAVEN_PROJECT, ROOT
from scripts.servers import PRISM_VARIABLE, SERVICE_VARIABLE
from scripts.toolchains import java

README: Final = (MAVEN_PROJECT / "README.md").read_text(encoding="utf-8")
ROOT_README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
PRISM_OF_README: Final = "localhost:8073"
_POM: Final = "{http://maven.apache.org/POM/4.0.0}"
_SETTINGS: Final = """<settings>
  <profiles><profile>
    <id>downloaded</id>
    <repositories><repository><id>downloaded</id><url>{url}</url></repository></repositories>
    <pluginRepositories><pluginRepository><id>downloaded</id><url>{url}</url></pluginRepository></pluginRepositories>
  </profile></profiles>
  <activeProfiles><activeProfile>downloaded</activeProfile></activeProfiles>
</settings>
"""
"""What this machine has downloaded before, as a repository that is asked before Maven Central."""


def blocks(language: str, text: str = README) -> list[str]:
    """Returns the code blocks of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(*, naming: str) -> str:
    """Returns the README's block of commands in which a word is."""
    (block,) = (one for one in blocks("sh") if naming in one)
    return block


class Home:
    """A user's home whose Maven repository is empty at first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = folder / ".m2" / "repository"
        self.repository.mkdir(parents=True)
        of_machine = Path.home() / ".m2"
        settings = folder / ".m2" / "settings.xml"
        if (of_machine / "settings.xml").exists():
            shutil.copy(of_machine / "settings.xml", settings)
        else:
            settings.write_text(_SETTINGS.format(url=(of_machine / "repository").as_uri()))

    def run(self, script: str, folder: Path) -> str:
        """Runs commands as this user; gives what they print, and shows it where one fails."""
        env = java.environment() | {
            "HOME": str(self.folder),
            "MAVEN_OPTS": f"-Duser.home={self.folder}",
            "BEAM_ENSEMBLES_PYTHON": sys.executable,
        }
        env.pop(SERVICE_VARIABLE, None)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}"
        return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The home of a user who has installed the client from a checkout, as the README says."""
    if java.find_jdk() is None or shutil.which("mvn") is None:
        pytest.skip("there is no JDK with Maven here")
    user = Home(tmp_path_factory.mktemp("home"))
    checkout = tmp_path_factory.mktemp("checkout")
    shutil.copytree(MAVEN_PROJECT, checkout / MAVEN_PROJECT.name, ignore=shutil.ignore_patterns("target"))
    user.run(commands(naming="mvn install"), checkout)
    return user


@pytest.fixture(scope="module")
def installed(home: Home) -> Path:
    """The folder of the repository in which the client is."""
    group = home.repository / "io" / "github" / "beamensembles"
    return group / "beam-ensembles" / beam_ensembles.__version__


def test_the_installed_pom_needs_no_other_file(installed: Path) -> None:
    (pom,) = installed.glob("*.pom")
    project = ElementTree.parse(pom).getroot()  # noqa: S314
    assert project.find(f"{_POM}parent") is None
    dependencies = project.findall(f"{_POM}dependencies/{_POM}dependency")
    scopes = {one.findtext(f"{_POM}artifactId"): one.findtext(f"{_POM}scope") for one in dependencies}
    assert {name: scope for name, scope in scopes.items() if scope != "provided"} == {}


def test_the_jar_holds_nothing_under_a_name_of_others(installed: Path) -> None:
    (path,) = installed.glob("*.jar")
    with zipfile.ZipFile(path) as jar:
        files = [name for name in jar.namelist() if not name.endswith("/")]
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
        license_ = jar.read("META-INF/LICENSE").decode()
        notice = jar.read("META-INF/NOTICE").decode()
    strange = [name for name in files if not name.startswith(("io/github/beamensembles/", "META-INF/"))]
    assert strange == []
    assert "Automatic-Module-Name: io.github.beamensembles" in manifest.splitlines()
    assert license_ == (ROOT / "LICENSE").read_text(encoding="utf-8")
    for work in ("Apache Arrow", "FlatBuffers", "lz4-java"):
        assert work in notice


def test_the_program_of_the_readme(home: Home, tmp_path: Path) -> None:
    if PRISM_VARIABLE not in os.environ:
        pytest.skip(f"{PRISM_VARIABLE} names no Prism; 'make test-integration' starts one")
    for block in (*blocks("(?:python|yaml)", ROOT_README), *blocks("java")):
        named = re.match(r"(?:#|//) (\S+\.\w+)\n", block)
        if named is not None:
            (tmp_path / named[1]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / named[1]).write_text(block)
    shutil.copy(MAVEN_PROJECT / "starter" / "pom.xml", tmp_path)
    subprocess.run([sys.executable, "train.py"], cwd=tmp_path, check=True)
    script = commands(naming="mvn package").replace(PRISM_OF_README, os.environ[PRISM_VARIABLE])
    said = home.run(script, tmp_path)
    (expected,) = (block for block in blocks("json") if "species" in block)
    assert scored(expected) == scored((tmp_path / "scored.jsonl").read_text())
    assert scored(expected) == scored("\n".join(said.splitlines()[-2:]))


def scored(lines: str) -> list[dict[str, object]]:
    """Returns scored rows in the order of their ids, confidences with the digits that all machines share."""
    rows = [json.loads(line) for line in lines.splitlines()]
    return sorted(
        ({**row, "confidence": round(row["confidence"], 6)} for row in rows), key=lambda row: row["id"]
    )
