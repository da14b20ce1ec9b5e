"""Three models, one ensemble file, one service: the same answers in Python, Go and Java.

Sets up what is needed, trains the members, runs each language's digits pipeline on Prism, and compares the
answers. Ends with 0 where all languages that can be run on this machine agree.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scripts import answers, servers, toolchains
from scripts.answers import Answer
from scripts.layout import DEMO, relative
from scripts.members import DIGITS, HELDOUT, MODELS, train
from scripts.pipelines import PROGRAMS, Language, Servers
from scripts.program import exit_code, say, styled
from scripts.setup import steps
from scripts.steps import Outcome, Step, run_steps, show_failures
from scripts.toolchains import go, maven, python

MEMBERS = ("forest", "boost", "network")


def build_go() -> str:
    """Builds the Go pipeline."""
    return go.build_commands([DIGITS.name])


BUILDS = (
    Step("models", "training a forest, boosted trees and a network", train, after=("python",)),
    # After Prism, not beside it: they share most packages, and two builds at once would compile them twice.
    Step("go pipelines", "building the Go pipeline", build_go, after=("prism",)),
    Step("java pipelines", "building the Java client and pipeline", maven.package_digits, after=("java",)),
)


def comparable(language: Language) -> Path:
    """Returns the file of a language's answers, ordered and with what is compared."""
    return DEMO / f"{language.name.lower()}.jsonl"


def forget_answers() -> None:
    """Removes what an earlier run left, so that no answer is taken for one of this run."""
    for language in PROGRAMS:
        DIGITS.answers(language.name).unlink(missing_ok=True)
        comparable(language).unlink(missing_ok=True)


def runnable(outcomes: Mapping[str, Outcome]) -> list[Language]:
    """Returns the languages whose pipeline can be run; says of the others why not."""
    found = []
    for language in PROGRAMS:
        reasons = [outcomes[step].missing for step in language.needs if not outcomes[step].well]
        if reasons:
            say(styled(f"{language.name} is left out: {reasons[0]}", "yellow"))
        else:
            found.append(language)
    return found


def score(languages: Sequence[Language], *, on_prism: bool) -> dict[str, Outcome]:
    """Runs the pipelines one after the other, with a service and a runner for as long as they take."""
    env = toolchains.environment()
    with contextlib.ExitStack() as running:
        at = Servers(
            service=running.enter_context(servers.service(MODELS)),
            runner=running.enter_context(servers.prism()) if on_prism else None,
        )
        say(f"Scoring (service on {at.service}, {f'Prism on {at.runner}' if on_prism else 'no Prism'})")
        outcomes: dict[str, Outcome] = {}
        for language in languages:
            step = Step(language.name, "scoring the held-out images", _scoring(language, at, env))
            outcomes |= run_steps([step])
    return outcomes


def _scoring(language: Language, at: Servers, env: Mapping[str, str]) -> Callable[[], str]:
    def work() -> str:
        language.score(DIGITS, at, env)
        write(comparable(language), answers.read(DIGITS.answers(language.name)))
        return relative(comparable(language))

    return work


def write(path: Path, found: Sequence[Answer]) -> None:
    """Writes the parts of a language's answers by which people compare it with another's."""
    with path.open("w", encoding="utf-8") as file:
        for answer in found:
            file.write(json.dumps({key: answer[key] for key in ("id", "label", "confidence")}) + "\n")


def accuracies(found: Sequence[Answer], targets: Mapping[int, str]) -> dict[str, float]:
    """Returns the share of right answers, of each member and of the ensemble."""
    columns = {**{member: f"{member}_label" for member in MEMBERS}, "ensemble": "label"}
    return {
        name: sum(answer[column] == targets[answer["id"]] for answer in found) / len(targets)
        for name, column in columns.items()
    }


def table(columns: Mapping[str, Mapping[str, float]]) -> str:
    """Draws accuracies: a row per member, a column per language."""
    names = [*MEMBERS, "ensemble"]
    header = f"  {'accuracy':<10}" + "".join(f"{language:>10}" for language in columns)
    rows = [
        f"  {name:<10}" + "".join(f"{values[name]:>10.4f}" for values in columns.values()) for name in names
    ]
    return "\n".join([header, "  " + "-" * (len(header) - 2), *rows])


def compare(languages: Sequence[Language]) -> bool:
    """Prints who was how often right; gives whether all languages answered for every image, and the same."""
    images = answers.read(HELDOUT)
    targets = {image["id"]: image["target"] for image in images}
    found = {language.name: answers.read(DIGITS.answers(language.name)) for language in languages}
    problems = [problem for name, own in found.items() for problem in answers.incomplete(name, own, images)]
    if not problems:
        say("\n" + table({name: accuracies(own, targets) for name, own in found.items()}))
        (first, reference), *others = found.items()
        for name, own in others:
            problems += answers.differences(first, reference, name, own)
    for problem in problems[:10]:
        say(styled(problem, "red"))
    verdict = f"{len(problems)} disagreements" if problems else f"{', '.join(found)}: the same answers"
    say(f"\n{len(images)} held-out images. " + styled(verdict, "red" if problems else "green"))
    return not problems


def demo() -> bool:
    """Runs the whole demo; gives whether it went as it should."""
    say("Setting up (logs in build/logs)")
    outcomes = run_steps([*steps(python.install_for_demo), *BUILDS])
    if show_failures(outcomes):
        return False
    forget_answers()
    languages = runnable(outcomes)
    scored = score(languages, on_prism=outcomes["prism"].well)
    return not show_failures(scored) and compare(languages)


if __name__ == "__main__":
    sys.exit(exit_code(demo))
