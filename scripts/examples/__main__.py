"""``python -m scripts.examples [NAME…]``: runs the examples, or the named ones, in every language.

Makes their models, calls the pipelines of all languages with one service and one Prism, compares what they answered,
and prints what the scored rows say. Ends with 0 where all ran and agree.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from scripts import servers, toolchains
from scripts.chat_server import serving_chat
from scripts.example import Example
from scripts.examples.agreement import report
from scripts.examples.beam_yaml import YAML
from scripts.examples.streams import Stream
from scripts.examples.table import EXAMPLES, STREAMS
from scripts.pipelines import PROGRAMS, Language, Servers
from scripts.program import exit_code, say, styled
from scripts.steps import Step, run_steps, show_failures
from scripts.toolchains import go, java, maven


def languages_of(example: Example) -> tuple[Language, ...]:
    """Returns the languages that an example has a pipeline in."""
    return (*PROGRAMS, YAML) if example.beam_yaml else PROGRAMS


def builds(chosen: Sequence[Example]) -> list[Step]:
    """Returns the steps that make the models and build the programs."""
    folders = {example.folder.name: example for example in reversed(chosen)}  # the first of a folder counts
    models = [Step(f"{name} models", "making the models", one.make_models) for name, one in folders.items()]
    # One after the other: each uses all cores.
    in_turn = [
        Step(step.name, step.doing, step.work, after=(before.name,))
        for before, step in itertools.pairwise(models)
    ]
    names = [example.name for example in chosen]
    return [
        *models[:1],
        *in_turn,
        Step("go pipelines", "building the Go pipelines", lambda: go.build_commands(names)),
        Step("java", "looking for a JDK and Maven", java.require),
        Step("java pipelines", "building the Java pipelines", maven.package, after=("java",)),
    ]


def scoring(example: Example, at: Servers, env: Mapping[str, str]) -> list[Step]:
    """Returns the steps that run an example's pipelines, two at a time: half of a start is waiting."""
    languages = languages_of(example)
    return [
        _scoring(example, language, at, env, after=languages[at_ - 2 : at_ - 1] if at_ > 1 else ())
        for at_, language in enumerate(languages)
    ]


def _scoring(
    example: Example, language: Language, at: Servers, env: Mapping[str, str], after: Sequence[Language]
) -> Step:
    def work() -> str:
        example.answers(language.name).unlink(missing_ok=True)
        language.score(example, at, env)
        return ""

    before = tuple(f"{example.name} {other.name}" for other in after)
    return Step(f"{example.name} {language.name}", "scoring", work, after=before)


def score_all(chosen: Sequence[Example], streams: Sequence[Stream]) -> list[str]:
    """Runs the examples one after the other; gives the names of those that failed or whose languages disagree."""
    env = toolchains.environment()
    everything = [*chosen, *(stream.example for stream in streams)]
    folders = list(dict.fromkeys(example.folder for example in everything))
    code = dict.fromkeys(name for example in everything for name in example.allow_code)
    beside_rows = list(dict.fromkeys(example.results for example in everything))  # rows may name files there
    flags = [word for name in code for word in ("--allow-code", name)]
    # The models' own code, for the workers of the service; a pipeline in Python finds it beside itself.
    variables = {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    failed = []
    with contextlib.ExitStack() as stack:
        ready = [stack.enter_context(served(example)) for example in chosen]
        called = [one.flags["server"].removesuffix("/v1") for one in ready if one.served]
        flags += [word for origin in called for word in ("--allow-host", origin)]
        service = stack.enter_context(
            servers.service(*folders, *beside_rows, flags=flags, variables=variables)
        )
        at = Servers(service, stack.enter_context(servers.prism()))
        for example in ready:
            if not (_ran(scoring(example, at, env)) and report(example, languages_of(example))):
                failed.append(example.name)
        for stream in streams:
            stream.prepare()
            if not (_ran(stream.steps(at, env)) and stream.report()):
                failed.append(stream.example.name)
    return failed


@contextlib.contextmanager
def served(example: Example) -> Iterator[Example]:
    """Serves the language model of an example that has one; gives the example with the flag that says where it is."""
    if not example.served:
        yield example
        return
    with serving_chat(example.models / example.served) as url:
        yield dataclasses.replace(example, flags={**example.flags, "server": url})


def _ran(steps: Sequence[Step]) -> bool:
    outcomes = run_steps(steps)
    show_failures(outcomes)
    return all(outcome.well for outcome in outcomes.values())


def main() -> int:
    """Runs the examples that are named; gives the exit code."""
    names = list(dict.fromkeys(example.folder.name for example in EXAMPLES))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(names)}; all where none is given"
    )
    wanted = parser.parse_args().names or names
    unknown = [name for name in wanted if name not in names]
    if unknown:
        parser.error(f"there is no example '{unknown[0]}'; there are {', '.join(names)}")
    chosen = [example for example in EXAMPLES if example.folder.name in wanted]
    streams = [stream for stream in STREAMS if stream.example.folder.name in wanted]

    def run() -> bool:
        if not _ran(builds([*chosen, *(stream.example for stream in streams)])):
            return False
        failed = score_all(chosen, streams)
        if failed:
            say(styled(f"\nFailed: {', '.join(failed)}", "red"))
        return not failed

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
