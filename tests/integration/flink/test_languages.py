"""The digits ensemble on a real Flink cluster, from each language: the answers of Prism."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import answers
from scripts.flink.stream import as_stream
from scripts.members import DIGITS
from scripts.pipelines import PROGRAMS, Language, Servers
from tests.support.flink import PIPELINE_SECONDS, Flink, digits_in, score

pytestmark = pytest.mark.timeout(2 * PIPELINE_SECONDS)
PYTHON, GO, JAVA = PROGRAMS
OTHERS = [GO, JAVA]
"""Those whose text sinks end well in a stream on this runner; Python's does not (``docs/deploy/flink.md``)."""


@pytest.mark.parametrize("language", [PYTHON, JAVA], ids=lambda language: str(language.name))
def test_the_answers_are_those_of_prism(
    language: Language, on_flink: Servers, of_prism: list[answers.Answer], tmp_path: Path
) -> None:
    """Go's, with a bundle, are compared in ``test_bundles.py``."""
    found = score(language, digits_in(tmp_path / "digits"), on_flink, "flink-digits")
    assert len(of_prism) == DIGITS.scored
    assert not answers.incomplete(language.name, found, of_prism)
    assert not answers.differences("Prism", of_prism, language.name, found)


@pytest.mark.parametrize("language", OTHERS, ids=lambda language: str(language.name))
def test_they_are_the_same_as_a_stream_in_small_bundles(
    language: Language, flink: Flink, on_flink: Servers, of_prism: list[answers.Answer], tmp_path: Path
) -> None:
    flags = as_stream(language.name, 8)
    found = score(language, digits_in(tmp_path / "digits"), on_flink, "flink-digits-stream", flags)
    assert not answers.incomplete(language.name, found, of_prism)
    assert not answers.differences("Prism", of_prism, language.name, found)
    options = flink.cluster.rest.options(flink.cluster.rest.jobs()[-1]["jid"])
    assert (options["streaming"], float(options["maxBundleSize"])) == ("true", 8)
