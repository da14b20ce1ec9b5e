"""The Java client as others use it: installed by the commands of its tutorial into an empty repository."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from typing import Final

import pytest

import beam_ensembles
from scripts import java_beam
from scripts.layout import MAVEN_PROJECT, ROOT
from scripts.servers import PRISM_VARIABLE, SERVICE_VARIABLE
from scripts.toolchains import java
from scripts.toolchains.maven import OPENED, QUIET
from tests.support.pages import outputs, path_of

PAGE: Final = "get-started/java.md"
TUTORIAL: Final = path_of(PAGE).read_text(encoding="utf-8")
TESTING: Final = path_of("how-to/testing-java.md").read_text(encoding="utf-8")
ROOT_README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
PRISM_OF_PAGE: Final = "localhost:8073"
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


def blocks(language: str, text: str = TUTORIAL) -> list[str]:
    """Returns the code blocks of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(*, naming: str) -> str:
    """Returns the page's block of commands in which a word is."""
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
            "MAVEN_OPTS": " ".join([f"-Duser.home={self.folder}", *java.SHORT_LIVED]),
            "BEAM_ENSEMBLES_PYTHON": sys.executable,
            "CHECKOUT": str(folder),
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
    """The home of a user who has installed the client from a checkout, as the page says."""
    if java.find_jdk() is None or shutil.which("mvn") is None:
        pytest.skip("there is no JDK with Maven here")
    user = Home(tmp_path_factory.mktemp("home"))
    checkout = tmp_path_factory.mktemp("checkout")
    shutil.copytree(MAVEN_PROJECT, checkout / MAVEN_PROJECT.name, ignore=shutil.ignore_patterns("target"))
    user.run(commands(naming="client install"), checkout)
    return user


@pytest.fixture(scope="module")
def installed(home: Home) -> Path:
    """The folder of the repository in which the client is."""
    group = home.repository / "io" / "github" / "beamensembles"
    return group / "beam-ensembles" / beam_ensembles.__version__


def test_the_installed_pom_needs_no_other_file(installed: Path) -> None:
    (pom,) = installed.glob("*.pom")
    project = ElementTree.parse(pom).getroot()
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


def test_the_program_of_the_tutorial(home: Home, tmp_path: Path) -> None:
    if PRISM_VARIABLE not in os.environ:
        pytest.skip(f"{PRISM_VARIABLE} names no Prism; 'make test-integration' starts one")
    trained(tmp_path)
    shutil.copy(MAVEN_PROJECT / "starter" / "pom.xml", tmp_path)
    script = commands(naming="mvn -q package").replace(PRISM_OF_PAGE, os.environ[PRISM_VARIABLE])
    said = home.run(script, tmp_path)
    assert "Tests run: 1," in (tmp_path / "target/surefire-reports/com.example.FlowersTest.txt").read_text()
    logged = [line for line in said.splitlines() if "beam" in line and "ensembles" in line]
    assert len(logged) < 20, said
    assert "SEVERE" not in said, said
    (expected,) = (text for _, text in outputs(PAGE) if text is not None)
    assert scored(expected) == scored((tmp_path / "scored.jsonl").read_text())
    assert scored(expected) == scored("\n".join(said.splitlines()[-2:]))


@pytest.mark.parametrize("version", java_beam.TESTED[1:])
def test_one_jar_on_newer_versions_of_beam(
    version: str, installed: Path, flowers: Path, tmp_path: Path
) -> None:
    path = [*installed.glob("*.jar"), *class_path(version)]
    assert scores(path, flowers, tmp_path) == FLOWERS


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_the_oldest_beam_beside_libraries_with_other_versions_of_arrow(
    first: bool, installed: Path, flowers: Path, tmp_path: Path
) -> None:
    client = list(installed.glob("*.jar"))
    others = list(class_path(java_beam.TESTED[0], *NEIGHBOURS))
    for name in ("arrow-vector-1", "flatbuffers-java-2", "lz4-java-1", "kafka-clients-"):
        assert any(jar.name.startswith(name) for jar in others), f"the test is of no use without {name}"
    assert scores(client + others if first else others + client, flowers, tmp_path) == FLOWERS


@pytest.mark.parametrize(
    ("program", "beam", "compiler", "main"),
    [
        (
            "Score.kt",
            java_beam.TESTED[-1],
            [("org.jetbrains.kotlin", "kotlin-compiler-embeddable", "2.1.0")],
            ["org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-reflect", "-jvm-target", "17"],
        ),
        (
            "Score.scala",
            java_beam.TESTED[0],
            [("org.scala-lang", "scala-compiler", "2.13.16")],
            ["scala.tools.nsc.Main"],
        ),
    ],
    ids=["kotlin", "scala"],
)
def test_a_program_in_another_language_of_the_jvm(
    program: str,
    beam: str,
    compiler: list[tuple[str, str, str]],
    main: list[str],
    installed: Path,
    tmp_path: Path,
) -> None:
    direct = ("org.apache.beam", "beam-runners-direct-java", "")
    jars = [*installed.glob("*.jar"), *class_path(beam, *compiler, direct)]
    path = os.pathsep.join(map(str, jars))
    source = Path(__file__).with_name(program)
    (tmp_path / "classes").mkdir()
    name = "flowers.ScoreKt" if program.endswith(".kt") else "Score"
    for command in (
        ["java", *java.SHORT_LIVED, "-cp", path, *main, "-cp", path, "-d", "classes", source],
        ["java", *java.SHORT_LIVED, "-cp", f"classes{os.pathsep}{path}", name],
    ):
        done = subprocess.run(
            command, cwd=tmp_path, env=java.environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    found = {file.stem: file.read_text() for file in tmp_path.glob("*.txt")}
    assert found == {"output": "1 setosa\n", "errors": "model_error\n", "objects": "1 setosa\n"}


NEIGHBOURS: Final = (
    ("org.apache.beam", "beam-sdks-java-io-google-cloud-platform", ""),
    ("org.apache.beam", "beam-sdks-java-extensions-arrow", ""),
    ("org.apache.kafka", "kafka-clients", "3.9.0"),
)
"""What brings other versions of Arrow and LZ4; without a version, that of Beam."""
FLOWERS: Final = {
    encoding: ["1 setosa null 9.50", "2 virginica tall 9.50"] for encoding in ("ROWS.txt", "ARROW.txt")
}


@pytest.fixture(scope="module")
def flowers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the README's ensemble, where there is a Prism."""
    if PRISM_VARIABLE not in os.environ:
        pytest.skip(f"{PRISM_VARIABLE} names no Prism; 'make test-integration' starts one")
    return trained(tmp_path_factory.mktemp("flowers"))


def trained(folder: Path) -> Path:
    """Writes the files of the README and of both pages, and trains the models; returns the folder."""
    for block in (*blocks("(?:python|yaml)", ROOT_README), *blocks("java"), *blocks("java", TESTING)):
        named = re.match(r"(?:#|//) (\S+\.\w+)\n", block)
        if named is not None:
            (folder / named[1]).parent.mkdir(parents=True, exist_ok=True)
            (folder / named[1]).write_text(block)
    subprocess.run([sys.executable, "train.py"], cwd=folder, check=True)
    return folder


@functools.cache
def class_path(beam: str, *others: tuple[str, str, str]) -> tuple[Path, ...]:
    """Returns the jars that a program has beside the client, as Maven chooses them."""
    wanted = [
        ("org.apache.beam", "beam-sdks-java-core", beam),
        ("org.apache.beam", "beam-sdks-java-harness", beam),
        ("com.github.jbellis", "jamm", "0.4.0"),
        ("org.slf4j", "slf4j-jdk14", "2.0.16"),
        *others,
    ]
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version or beam}</version></dependency>"
        for group, name, version in wanted
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "pom.xml").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>com.example</groupId><artifactId>program</artifactId><version>1</version>"
            f"<dependencies>{dependencies}</dependencies></project>"
        )
        goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
        command = ["mvn", *QUIET, goal, "-Dmdep.outputFile=jars"]
        done = subprocess.run(
            command, cwd=folder, env=java.environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
        return tuple(Path(jar) for jar in (folder / "jars").read_text().split(os.pathsep))


def scores(jars: list[Path], flowers: Path, folder: Path) -> dict[str, list[str]]:
    """Compiles and runs the program that scores flowers; returns the lines of each file that it writes."""
    path = os.pathsep.join(map(str, jars))
    env = java.environment() | {"BEAM_ENSEMBLES_PYTHON": sys.executable}
    env.pop(SERVICE_VARIABLE, None)
    shutil.copytree(flowers, folder, dirs_exist_ok=True)
    program = Path(__file__).with_name("Score.java")
    prism = os.environ[PRISM_VARIABLE]
    for command in (
        [
            "javac",
            *(f"-J{flag}" for flag in java.SHORT_LIVED),
            "-nowarn",
            "-d",
            "classes",
            "-cp",
            path,
            program,
        ],
        ["java", *java.SHORT_LIVED, OPENED, "-cp", f"classes{os.pathsep}{path}", "Score", prism, folder],
    ):
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return {file.name: sorted(file.read_text().splitlines()) for file in folder.glob("*.txt")}


def scored(lines: str) -> list[dict[str, object]]:
    """Returns scored rows in the order of their ids, confidences with the digits that all machines share."""
    rows = [json.loads(line) for line in lines.splitlines()]
    return sorted(
        ({**row, "confidence": round(row["confidence"], 3)} for row in rows), key=lambda row: row["id"]
    )
