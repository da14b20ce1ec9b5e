"""The digits ensemble on a real Flink cluster, from each language: the answers of Prism."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from scripts import answers, servers, toolchains
from scripts.example import Example
from scripts.flink.stream import as_stream
from scripts.members import DIGITS
from scripts.pipelines import PROGRAMS, Language, Servers
from scripts.shell import log_path, run
from tests.support.flink import Flink

SECONDS = 900
pytestmark = pytest.mark.timeout(2 * SECONDS)
(PYTHON,) = (language for language in PROGRAMS if language.name == "Python")
OTHERS = [language for language in PROGRAMS if language is not PYTHON]
"""Those whose text sinks end well in a stream on this runner; Python's does not (``docs/deploy/flink.md``)."""


def example_in(folder: Path) -> Example:
    """Returns the digits example with a folder of its own for what comes out."""
    folder.mkdir()
    shutil.copy(DIGITS.input, folder)
    return dataclasses.replace(DIGITS, made=folder)


def score(
    language: Language, example: Example, at: Servers, name: str, flags: Sequence[str] = ()
) -> list[answers.Answer]:
    """Runs a pipeline; gives what it answered."""
    log = log_path(f"{name}-{language.name}".lower())
    run([*language.command(example, at), *flags], log=log, env=toolchains.environment(), seconds=SECONDS)
    return answers.read(example.answers(language.name))


@pytest.fixture(scope="module")
def of_prism(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[answers.Answer]]:
    """What Prism answers, from Python; ``make demo`` compares the languages there."""
    example = example_in(tmp_path_factory.mktemp("on-prism") / "digits")
    with servers.prism() as prism:
        yield score(PYTHON, example, Servers("", prism), "prism-digits")


@pytest.mark.parametrize("language", PROGRAMS, ids=lambda language: str(language.name))
def test_the_answers_are_those_of_prism(
    language: Language, on_flink: Servers, of_prism: list[answers.Answer], tmp_path: Path
) -> None:
    found = score(language, example_in(tmp_path / "digits"), on_flink, "flink-digits")
    assert len(of_prism) == DIGITS.scored
    assert not answers.incomplete(language.name, found, of_prism)
    assert not answers.differences("Prism", of_prism, language.name, found)


@pytest.mark.parametrize("language", OTHERS, ids=lambda language: str(language.name))
def test_they_are_the_same_as_a_stream_in_small_bundles(
    language: Language, flink: Flink, on_flink: Servers, of_prism: list[answers.Answer], tmp_path: Path
) -> None:
    flags = as_stream(language.name, 8)
    found = score(language, example_in(tmp_path / "digits"), on_flink, "flink-digits-stream", flags)
    assert not answers.incomplete(language.name, found, of_prism)
    assert not answers.differences("Prism", of_prism, language.name, found)
    options = flink.cluster.rest.options(flink.cluster.rest.jobs()[-1]["jid"])
    assert (options["streaming"], float(options["maxBundleSize"])) == ("true", 8)
