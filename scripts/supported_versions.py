"""Writes the table of versions in docs/deploy/deploying.md from the files that pin them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

from scripts import java_beam
from scripts.containers import stand_ins
from scripts.layout import REQUIREMENTS, ROOT

PAGE: Final = ROOT / "docs" / "deploy" / "deploying.md"
_SECTION: Final = re.compile(r"(?<=<!-- versions -->\n).*?(?=<!-- /versions -->)", re.DOTALL)
_NONE: Final = "not here"
_FRAMEWORKS: Final = (
    "scikit-learn", "onnxruntime", "xgboost-cpu", "lightgbm", "catboost", "torch", "tensorflow", "transformers",
    "tritonclient[grpc]", "google-cloud-aiplatform",
)  # fmt: skip


def table() -> str:
    """Returns the table as Markdown."""
    rows = [
        ("", "supported", "tested", "where"),
        ("---",) * 4,
        *_languages(),
        *_runners(),
        *_gpu(),
        *_frameworks(),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def page() -> str:
    """Returns the page with the table as it should be."""
    return _SECTION.sub(lambda _: table(), PAGE.read_text(encoding="utf-8"))


def _languages() -> list[tuple[str, ...]]:
    project = _project()
    beam = _pinned("dev.txt", "apache-beam")
    java = _found("java_examples/pom.xml", r"<maven.compiler.release>(\d+)<")
    go = _found("go_examples/ensemble/go.mod", r"^go (\S+)$")
    go_beam = _found("go_examples/ensemble/go.mod", r"^\tgithub.com/apache/beam/sdks/v2 v(\S+)$")
    return [
        (
            "Python",
            f"`{project['requires-python']}`",
            f"3.11; {stand_ins.PYTHON} in images",
            "all tests; `make test-image` on an engine of its own",
        ),
        ("Beam for Python", f"`{_range('apache-beam')}`", beam, "all tests"),
        ("Go", f"{go} or newer", go, "Go's tests"),
        ("Beam for Go", f"{go_beam}", go_beam, "Go's tests"),
        ("Java", f"{java} or newer", java, "Java's tests"),
        (
            "Beam for Java",
            f"{_minor(java_beam.TESTED[0])} to {_minor(java_beam.TESTED[-1])}",
            ", ".join(java_beam.TESTED),
            f"`make test-integration`; all of Java's tests with {java_beam.TESTED[0]}",
        ),
    ]


def _minor(version: str) -> str:
    return version.rpartition(".")[0]


def _runners() -> list[tuple[str, ...]]:
    prism = _found("go_examples/ensemble/go.mod", r"^\tgithub.com/apache/beam/sdks/v2 v(\S+)$")
    flink = _pinned("flink.txt", "apache-flink-libraries")
    line = ".".join(flink.split(".")[:2])
    runner = rf"<artifactId>beam-runners-flink-{line}</artifactId>\s*<version>(\S+)<"
    job_server = _found("scripts/flink/pom.xml", runner)
    return [
        ("Prism", prism, prism, "`make test-integration`"),
        ("Flink", f"{line}, Beam's job server {job_server}", f"{flink}, {job_server}", "`make test-flink`"),
        ("Dataflow", "the SDKs' own runners", "jobs made, none submitted", "`make test-integration`"),
        ("Kubernetes", "1.30 or newer", "schemas of 1.30 and 1.37", "`make test-integration`"),
    ]


def _gpu() -> list[tuple[str, ...]]:
    cuda = _found("Dockerfile", r"^ARG CUDA_BASE=nvidia/cuda:(\d+\.\d+\.\d+)\S*$")
    return [
        ("CUDA", f"{cuda} in the image `worker-gpu`", _NONE, "`make test-gpu`, on a machine with a GPU"),
        (
            "TensorRT",
            f"`{_range('tensorrt-cu13-bindings')}`",
            _NONE,
            "`make test-gpu`, on a machine with a GPU",
        ),
    ]


def _frameworks() -> list[tuple[str, ...]]:
    return [
        (name, f"`{_range(name)}`", _pinned("dev.txt", name.partition("[")[0]), "Python's tests")
        for name in _FRAMEWORKS
    ]


def _project() -> dict[str, str]:
    project: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _range(package: str) -> str:
    """Returns the versions that pyproject.toml allows of a package."""
    return _found("pyproject.toml", rf'"{re.escape(package)}([<>=][^";]*)["; ]')


def _pinned(lock: str, package: str) -> str:
    """Returns the version that a lock has of a package."""
    name = Path(REQUIREMENTS / lock).relative_to(ROOT)
    return _found(str(name), rf"^{re.escape(package)}==(\S+)")


def _found(file: str, pattern: str) -> str:
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise LookupError(f"{file} holds nothing like {pattern}")
    return found[1]


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
