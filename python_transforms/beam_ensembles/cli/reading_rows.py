"""What verbs share that read a file of rows and say something about the ensemble: wrong calls, and every failure."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Final

from beam_ensembles.cli.ensemble_file import as_data, no_file, rows_misuse, wrong
from beam_ensembles.cli.output import print_json, say
from beam_ensembles.cli.own_code import import_from
from beam_ensembles.cli.quiet_libraries import quiet_libraries
from beam_ensembles.cli.terminable import terminable
from beam_ensembles.cli.write_errors import said_of
from beam_ensembles.errors import EnsembleError, InvalidEnsemble, InvalidRows

_FAILED: Final = 1
_USAGE: Final = 2
_INTERRUPTED: Final = 130


def run_verb(
    verb: str,
    args: argparse.Namespace,
    work: Callable[[argparse.Namespace], int],
    *,
    misuse: str | None,
    no_memory: str,
) -> int:
    """Does a verb's work; says in a sentence why it cannot, and returns the exit code.

    Args:
        verb: Its name.
        args: With ``file``, ``input``, ``code`` and ``json``.
        work: Returns the exit code.
        misuse: The fault of the call, if there is one.
        no_memory: What to say where there is not enough memory.
    """
    if misuse:
        say(verb, misuse)
        return _USAGE
    import_from(args.code)
    quiet_libraries(verb)
    try:
        with terminable():
            return work(args)
    except KeyboardInterrupt:
        say(verb, "interrupted; nothing was written")
        return _INTERRUPTED
    except InvalidEnsemble as error:
        path = args.input if isinstance(error, InvalidRows) else args.file
        if args.json:
            print_json({"problems": as_data(error.problems)})
        else:
            print(wrong(path, error.problems, sys.stderr), file=sys.stderr)
    except EnsembleError as error:
        say(verb, str(error))
    except BrokenPipeError:  # whoever reads has had enough, and that is not a failure
        raise
    except OSError as error:
        say(verb, said_of(error))
    except MemoryError:
        say(verb, no_memory)
    return _FAILED


def files_misuse(args: argparse.Namespace, written: str | None, what: str, *suffixes: str) -> str | None:
    """Returns what is wrong with the files that a call names, if anything is.

    Args:
        args: With ``file`` and ``input``.
        written: The file that the verb writes, if it does.
        what: What that is, such as ``page``.
        suffixes: Its possible suffixes, the usual one first.
    """
    for path in (args.file, args.input):
        if not os.path.isfile(path):
            return no_file(path)
    if written is not None:
        if not written.lower().endswith(suffixes):
            return f"'{written}' is for a {what}; its suffix must be {suffixes[0]}"
        if os.path.realpath(written) in map(os.path.realpath, (args.file, args.input)):
            return f"'{written}' is read; give the {what} another name"
        if not os.path.isdir(os.path.dirname(os.path.realpath(written))):
            return f"there is no folder for '{written}'; make it first"
    return rows_misuse(args.input)
