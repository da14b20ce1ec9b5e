"""Runs a stream in every language, and publishes a newer model in the middle of it."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.answers import Answer, differences
from scripts.example import Example
from scripts.pipelines import Servers, go_program, java_program, python_program
from scripts.processes import READY_SECONDS
from scripts.program import say, styled
from scripts.shell import Command, CommandFailed, check_stopped, log_path, run
from scripts.steps import Step

_PROGRAMS: dict[str, Callable[[Example, Servers], Command]] = {
    "Python": python_program,
    "Go": go_program,
    "Java": java_program,
}
"""Seconds that a stream may take beside those in which numbers arrive."""


@dataclasses.dataclass(frozen=True)
class Stream:
    """A stream of numbers; its programs print a JSON line for each window, which says what they were multiplied by.

    Attributes:
        example: Its programs, and how many windows there are.
        first: The file, among the models, that is there when it starts.
        newer: The file that is published for a language when it has printed a line.
        seconds: How long numbers arrive.
    """

    example: Example
    first: str
    newer: str
    seconds: int

    def prepare(self) -> None:
        """Creates the folders as they are when the stream starts: each language has one, whose models change."""
        for language in _PROGRAMS:
            shutil.rmtree(self._folder(language), ignore_errors=True)
            (self._folder(language) / "models").mkdir(parents=True)
            shutil.copy(self.example.ensemble_file, self._folder(language))
            self._publish(self.first, language)
            self._log(language).unlink(missing_ok=True)

    def steps(self, at: Servers, env: Mapping[str, str]) -> list[Step]:
        """Returns the steps that run the programs, and the one that publishes the newer model; all at once."""
        name = self.example.name
        return [
            *(
                Step(
                    f"{name} {language}",
                    "scoring what arrives",
                    functools.partial(self._run, language, program(self.example, at), env),
                )
                for language, program in _PROGRAMS.items()
            ),
            Step(f"{name} refresh", "waiting until the first model has been used", self._refresh),
        ]

    def report(self) -> bool:
        """Prints what each language said of each window; gives whether that is what it should be."""
        found = {language: self._lines(language) for language in _PROGRAMS}
        problems = stream_problems(found, self.example.scored)
        say(f"\n{styled(self.example.name, 'bold')}")
        for language, windows in found.items():
            say(f"{language:<7} x {', '.join(str(window['times']) for window in windows)}")
        for problem in problems:
            say(styled(problem, "red"))
        verdict = f"{len(problems)} disagreements" if problems else f"{', '.join(found)}: the same windows"
        say(f"{self.example.scored} windows. {styled(verdict, 'red' if problems else 'green')}\n")
        return not problems

    def _run(self, language: str, program: Command, env: Mapping[str, str]) -> str:
        ensemble = self._folder(language) / self.example.ensemble_file.name
        command = [*program, f"--ensemble={ensemble}", f"--seconds={self.seconds}"]
        run(command, log=self._log(language), env=env, seconds=self.seconds + READY_SECONDS)
        return ""

    def _refresh(self) -> str:
        end = time.monotonic() + self.seconds + READY_SECONDS
        waiting = set(_PROGRAMS)
        while waiting:
            if time.monotonic() > end:
                raise CommandFailed(
                    f"{', '.join(sorted(waiting))}: not a line in {self.seconds + READY_SECONDS:.0f} s"
                )
            for language in [name for name in waiting if self._lines(name)]:
                self._publish(self.newer, language)
                waiting.remove(language)
            check_stopped()
            time.sleep(0.2)
        return f"{self.newer} is there"

    def _folder(self, language: str) -> Path:
        return self.example.results / "stream" / language

    def _publish(self, model: str, language: str) -> None:
        """Puts a whole model there at once, as whoever publishes models should."""
        place = self._folder(language) / "models" / model
        shutil.copyfile(self.example.models / model, place.with_suffix(".new"))
        os.replace(place.with_suffix(".new"), place)

    def _log(self, language: str) -> Path:
        return log_path(f"{self.example.name}-{language}")

    def _lines(self, language: str) -> list[Answer]:
        log = self._log(language)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        lines = [
            line for line in text.splitlines(keepends=True) if line.startswith("{") and line.endswith("}\n")
        ]
        return sorted(map(json.loads, lines), key=lambda window: window["id"])


def stream_problems(found: Mapping[str, list[Answer]], windows: int) -> list[str]:
    """Returns where languages have other windows, or a window has lost rows or not the models that it should have.

    Args:
        found: What each language printed, ordered by window: ``id``, ``numbers``, ``times``.
        windows: How many windows there should be.
    """
    problems = []
    for language, lines in found.items():
        if [line["id"] for line in lines] != list(range(windows)):
            problems.append(
                f"{language} has windows {[line['id'] for line in lines]}, not 0 to {windows - 1}"
            )
        elif len({line["numbers"] for line in lines}) > 1:
            problems.append(f"{language} has windows of {[line['numbers'] for line in lines]} numbers")
        elif abs(lines[0]["times"] - lines[-1]["times"]) < 0.1:
            problems.append(f"{language} goes on with the first model: {lines[-1]['times']}")
    if problems:
        return problems
    # Which window the newer model comes in is chance; before and after, all are the same.
    (first, reference), *others = ((name, [lines[0], lines[-1]]) for name, lines in found.items())
    return [text for name, own in others for text in differences(first, reference, name, own)]
