"""An example: the ensemble, the code that makes its models, and a pipeline in every language."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from scripts.layout import BUILD, EXAMPLES, PYTHON, TOOLS, relative
from scripts.made import Made
from scripts.shell import Command, log_path, run
from scripts.toolchains import maven, python

_JAVA_PACKAGE = "io.github.beamensembles.examples"


@dataclasses.dataclass(frozen=True)
class Example:
    """The programs to run from a folder of examples/; every language has a pipeline that takes the same flags.

    Attributes:
        name: What it is called; the Go command is go_examples/cmd/NAME.
        java: The Java class, below the examples' package.
        scored: How many rows come out.
        of: The folder in examples/; that of the name where it is not given.
        ensemble: The ensemble file; NAME.yaml where it is not given.
        script: The Python program.
        rows: The file of the rows to score, below the folder of what is made.
        sources: The files that the models are made by: they are made again when one has changed.
        allow_code: What the service must allow for its models and functions, as patterns of dotted names.
        flags: Other flags of the pipelines; the Beam YAML pipeline gets them as variables, as all others.
        summary: Whether summary.py prints what the scored rows say; a sample of them is shown where it does not.
        key: The field that tells rows apart.
        failed: How many rows come out as errors: JSON lines, in a file with the answers' name and .errors.
        parquet: Whether the programs write their answers as Parquet, too, in a file with their name and .parquet.
        beam_yaml: Whether there is a Beam YAML pipeline.
        made: The folder of the rows and of the answers; one below build/examples where it is not given.
        jar: The Java program, with what it needs in lib/ beside it.
        lock: The packages that the models are made with.
        served: The folder, among the models, of a language model that is served meanwhile; its address is the flag
            ``server``.
    """

    name: str
    java: str
    scored: int
    of: str = ""
    ensemble: str = ""
    script: str = "pipeline.py"
    rows: str = "rows.jsonl"
    sources: tuple[str, ...] = ("train.py",)
    allow_code: tuple[str, ...] = ()
    flags: Mapping[str, str] = dataclasses.field(default_factory=dict)
    summary: bool = False
    key: str = "id"
    failed: int = 0
    parquet: bool = False
    beam_yaml: bool = True
    made: Path | None = None
    jar: Path = maven.EXAMPLES_JAR
    lock: Path = python.DEV_LOCK
    served: str = ""

    @property
    def folder(self) -> Path:
        """The folder with the ensemble file and what is Python."""
        return EXAMPLES / (self.of or self.name)

    @property
    def models(self) -> Path:
        """The folder of the models."""
        return self.folder / "models"

    @property
    def ensemble_file(self) -> Path:
        """The ensemble file."""
        return self.folder / (self.ensemble or f"{self.name}.yaml")

    @property
    def results(self) -> Path:
        """The folder of the rows and of the answers."""
        return self.made or BUILD / "examples" / self.folder.name

    @property
    def input(self) -> Path:
        """The file of the rows to score."""
        return self.results / self.rows

    @property
    def go_program(self) -> Path:
        """The built Go pipeline."""
        return TOOLS / self.name

    @property
    def java_class(self) -> str:
        """The Java pipeline's full name."""
        return f"{_JAVA_PACKAGE}.{self.java}"

    def answers(self, language: str) -> Path:
        """Returns the file that a language's pipeline writes."""
        return self.results / f"{self.name}-{language.lower()}.jsonl"

    def errors(self, language: str) -> Path:
        """Returns the file of the rows that failed, in a language's pipeline."""
        return beside(self.answers(language), ".errors")

    def as_parquet(self, language: str) -> Path:
        """Returns the file in which a language's program writes its answers as Parquet."""
        return beside(self.answers(language), ".parquet")

    def make_models(self) -> str:
        """Creates the models and the rows to score, unless they were made by the code that is there now."""
        sources = [*(self.folder / name for name in self.sources), self.lock]
        trained = Made(self.models / ".made", (self.input,), lambda: sources)
        command: Command = [PYTHON, self.folder / "train.py", "--models", self.models, "--rows", self.input]
        if trained.make(lambda: run(command, log=log_path(f"train-{self.folder.name}"))):
            return f"{relative(self.models)}, {relative(self.input)}"
        return f"{relative(self.models)}, up to date"


def beside(path: Path, suffix: str) -> Path:
    """Returns the file that has a file's whole name and a suffix after it."""
    return path.with_name(path.name + suffix)
