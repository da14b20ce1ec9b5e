"""Three models, one ensemble file, one service: the same answers in Python, Go and Java.

Sets up what is needed, trains the members, runs each language's digits pipeline on Prism, and compares the
answers. Ends with 0 where all languages that can be run on this machine agree.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Mapping, Sequence

from scripts import answers, servers, toolchains
from scripts.layout import relative
from scripts.members import HELDOUT, MODELS, train
from scripts.pipelines import PIPELINES, Pipeline, Servers, build_go
from scripts.processes import end_with_cleanup_on_sigterm
from scripts.setup import steps
from scripts.shell import CommandFailed, TimedOut, log_path, run
from scripts.steps import Outcome, Step, run_steps, show_failures
from scripts.temporary import own_temporary_folder
from scripts.terminal import say, styled
from scripts.toolchains import maven, python

_SECONDS = 120
"""How long a pipeline may take. Now and then Beam 2.77's Python client waits for ever for a job that Prism has ended;
then the pipeline is run once more."""

BUILDS = (
    Step("models", "training a forest, boosted trees and a network", train, after=("python",)),
    # After Prism, not beside it: they share most packages, and two builds at once would compile them twice.
    Step("go digits", "building the Go pipeline", build_go, after=("prism",)),
    Step("java digits", "building the Java client and pipeline", maven.package, after=("java",)),
)


def forget_answers() -> None:
    """Removes what an earlier run left, so that no answer is taken for one of this run."""
    for pipeline in PIPELINES:
        pipeline.scored.unlink(missing_ok=True)
        pipeline.answers.unlink(missing_ok=True)


def runnable(outcomes: Mapping[str, Outcome]) -> list[Pipeline]:
    """Gives the pipelines that can be run; says of the others why not."""
    found = []
    for pipeline in PIPELINES:
        reasons = [outcomes[step].missing for step in pipeline.needs if not outcomes[step].well]
        if reasons:
            say(styled(f"{pipeline.language} is left out: {reasons[0]}", "yellow"))
        else:
            found.append(pipeline)
    return found


def score(pipelines: Sequence[Pipeline], *, on_prism: bool) -> dict[str, Outcome]:
    """Runs the pipelines one after the other, with a service and a runner for as long as they take."""
    env = toolchains.environment()
    with contextlib.ExitStack() as running:
        at = Servers(
            service=running.enter_context(servers.service(MODELS)),
            runner=running.enter_context(servers.prism()) if on_prism else None,
        )
        say(f"Scoring (service on {at.service}, {f'Prism on {at.runner}' if on_prism else 'no Prism'})")
        outcomes: dict[str, Outcome] = {}
        for pipeline in pipelines:
            outcomes |= run_steps([_scoring(pipeline, at, env)])
    return outcomes


def _scoring(pipeline: Pipeline, at: Servers, env: Mapping[str, str]) -> Step:
    def work() -> str:
        call = functools.partial(
            run, pipeline.call(at), log=log_path(f"demo-{pipeline.language}"), env=env, seconds=_SECONDS
        )
        try:
            call()
        except TimedOut:
            call()
        answers.write(pipeline.answers, answers.read(pipeline.scored))
        return relative(pipeline.answers)

    return Step(pipeline.language, "scoring the held-out images", work)


def compare(pipelines: Sequence[Pipeline]) -> bool:
    """Prints who was how often right; gives whether all languages answered for every image, and the same."""
    images = answers.read(HELDOUT)
    targets = {image["id"]: image["target"] for image in images}
    found = {pipeline.language: answers.read(pipeline.scored) for pipeline in pipelines}
    problems = [problem for name, own in found.items() for problem in answers.incomplete(name, own, images)]
    if not problems:
        say("\n" + answers.table({name: answers.accuracies(own, targets) for name, own in found.items()}))
        (first, reference), *others = found.items()
        for name, own in others:
            problems += answers.differences(first, reference, name, own)
    for problem in problems[:10]:
        say(styled(problem, "red"))
    languages = ", ".join(found)
    verdict = f"{len(problems)} disagreements" if problems else f"{languages}: the same answers"
    say(f"\n{len(images)} held-out images. " + styled(verdict, "red" if problems else "green"))
    return not problems


def demo() -> bool:
    """Runs the whole demo; gives whether it went as it should."""
    say("Setting up (logs in build/logs)")
    outcomes = run_steps([*steps(python.install_for_demo), *BUILDS])
    if show_failures(outcomes):
        return False
    forget_answers()
    pipelines = runnable(outcomes)
    scored = score(pipelines, on_prism=outcomes["prism"].well)
    return not show_failures(scored) and compare(pipelines)


def main() -> int:
    """Runs the demo; gives the exit code."""
    end_with_cleanup_on_sigterm()
    start = time.monotonic()
    try:
        with own_temporary_folder():
            well = demo()
    except CommandFailed as exc:
        say(styled(str(exc), "red"))
        well = False
    except KeyboardInterrupt:
        say("\nStopped")
        return 130
    say(f"{time.monotonic() - start:.0f} s")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
