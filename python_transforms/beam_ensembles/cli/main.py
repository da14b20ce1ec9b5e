"""``beam-ensembles VERB ...``: finds the verb's module and hands over to it.

A verb's module has ``DESCRIPTION``, ``add_arguments(parser)`` and ``run(args) -> exit code``. Only the module
of the verb that was called is imported, so that ``validate`` does not wait for Beam.
"""

from __future__ import annotations

import argparse
import importlib
import io
import itertools
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from typing import Final

from beam_ensembles import __version__

SUMMARIES: Final = {
    "serve": "start the service that Java, Go and Python pipelines call",
    "workers": "start Python workers for a runner on this machine, as it asks for them",
    "health": "ask a service whether it answers",
    "validate": "check an ensemble file and report every problem",
    "pack": "put an ensemble, its models and your code into one file for workers elsewhere",
    "run": "score a file of rows with an ensemble on this machine",
    "evaluate": "compare an ensemble and its members on rows whose answer is known",
    "tune": "choose cut-offs from rows whose answer is known, with a guarantee",
    "explain": "show what each node does with one row of a file",
    "lock": "write down what an ensemble is and answers, to compare it with later",
    "check": "say whether an ensemble still gives what its lock says",
    "diff": "say what differs between two versions of an ensemble",
    "graph": "draw an ensemble, as Mermaid's text or as SVG",
    "plan": "show the stages that an ensemble runs in, and why",
    "metrics": "show what the nodes of a running or finished job have counted",
    "generate": "write the row types of an ensemble as Go, Java or Python code",
    "schema": "print the JSON Schema of ensemble files, for editors",
    "list": "show the kinds that a node can run, and which are installed",
}
"""The verbs and what they do."""

USAGE_ERROR: Final = 2
"""Exit code of wrong usage; 1 is for failures of a valid call."""

_NO_MEMORY: Final = (
    "there is not enough memory; look for a file with very long values, or give the command more memory"
)
_TRACEBACK_VARIABLE: Final = "BEAM_ENSEMBLES_TRACEBACK"
_DESCRIPTION: Final = "Ensembles of Python models as one step of a Beam pipeline in Java, Go or Python."
_EPILOG: Final = """\
start here:
  beam-ensembles validate digits.yaml      is my ensemble file right?
  beam-ensembles run digits.yaml --input rows.jsonl --output scored.jsonl
  beam-ensembles serve                     then call it from a pipeline

'beam-ensembles VERB --help' says more about one verb.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: What follows the command's name; None: those of this process.

    Returns:
        The exit code: 0 for success, 1 for failure, 2 for a call that cannot be understood.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Its encoding may lack characters; standard error escapes them.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    parser = _parser(given)
    args = parser.parse_args(given)
    if args.verb is None:
        parser.print_help(sys.stderr)
        return USAGE_ERROR
    try:
        code = int(args.run(args))
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has had enough, as in "beam-ensembles list | head"
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        _say(str(args.verb), _said_of(error))
        return 1
    except MemoryError:
        _drop_output()
        _say(str(args.verb), _NO_MEMORY)
        return 1
    except Exception as error:
        if os.environ.get(_TRACEBACK_VARIABLE):
            raise
        _say(str(args.verb), _internal(error))
        return 1
    return code


def _drop_output() -> None:
    """Discard unwritten output, so that Python does not fail again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser(given: list[str]) -> argparse.ArgumentParser:
    """Returns what parses a call, in which it has looked already for names that there are not."""
    parser = argparse.ArgumentParser(
        prog="beam-ensembles",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"beam-ensembles {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    verb = given[0] if given else ""
    for name, summary in SUMMARIES.items():
        child = verbs.add_parser(name, help=summary, allow_abbrev=False)
        if name == verb:
            _fill(child, verb)
            _check_options(child, given[1:])
    if verb and not verb.startswith("-") and verb not in SUMMARIES:
        parser.error(f"there is no verb '{verb}'{_nearest(verb, SUMMARIES)} (verbs: {', '.join(SUMMARIES)})")
    return parser


def _check_options(parser: argparse.ArgumentParser, given: list[str]) -> None:
    """Names an option that there is not, and the nearest: argparse would say first what else is missing."""
    known = parser._option_string_actions  # the only list that has those which --help leaves out
    for word in itertools.takewhile(lambda one: one != "--", given):
        name = word.partition("=")[0]
        if name.startswith("--") and name not in known and " " not in word:  # with a space it is a value
            parser.error(f"there is no option '{name}'{_nearest(name, known)}")


def _nearest(word: str, known: Iterable[str]) -> str:
    from beam_ensembles.errors import nearest

    return nearest(word, known)


def _said_of(error: OSError) -> str:
    from beam_ensembles.cli.write_errors import said_of

    return said_of(error)


def _internal(error: Exception) -> str:
    """Returns one sentence for a defect of this project, with the place that whoever mends it looks for."""
    from beam_ensembles.messages.foreign_errors import described

    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}, line {frame.lineno}"
    advice = f"please report it; {_TRACEBACK_VARIABLE}=1 shows the traceback"
    return f"internal error of beam-ensembles {__version__}: {described(error)} ({place}); {advice}"


def _say(verb: str, text: str) -> None:
    from beam_ensembles.cli.output import say

    say(verb, text)


def _fill(parser: argparse.ArgumentParser, verb: str) -> None:
    module = importlib.import_module(f"beam_ensembles.cli.{verb}")
    parser.description = module.DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)


if __name__ == "__main__":
    sys.exit(main())
