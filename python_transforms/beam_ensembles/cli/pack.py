"""``beam-ensembles pack FILE``: one file with the ensemble, its models and the user's code, for workers elsewhere."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from typing import Any, Final

from beam_ensembles.bundles.file_names import SUFFIX, is_bundle
from beam_ensembles.cli.ensemble_file import add_file_arguments, as_data, no_file, rows_misuse, warn, wrong
from beam_ensembles.cli.output import print_json, print_lines, say
from beam_ensembles.cli.run_progress import progress
from beam_ensembles.cli.terminable import terminable
from beam_ensembles.cli.write_errors import said_of
from beam_ensembles.errors import EnsembleError, InvalidEnsemble

DESCRIPTION: Final = """\
Pack an ensemble into one file that workers elsewhere get with the pipeline, without a bucket and without an image:
the ensemble file, every file that it names and, on request, your own Python code.

examples:
  beam-ensembles pack digits.yaml
  beam-ensembles pack digits.yaml --code our_team/ --requirements requirements.txt --output build/
  beam-ensembles pack digits.yaml --parameter version=3 --json
  beam-ensembles pack digits.yaml --code our_team/ --try --rows few.jsonl

contents:
  files     models and other files that the nodes name: on this machine, in storage (gs:, s3:), on the web. Of a
            pattern the newest match; folders whole; with an ONNX model its weights; SQLite files of lookups
  hubs      models named hf:NAME or https://tfhub.dev/... from this machine's cache; nothing is downloaded from a hub
  code      --code PATH: a package's folder (with __init__.py), a module (.py) or a wheel (may be repeated)
  needs     --requirements FILE: other packages that the code needs; workers without one name it in their error.
            Nothing is installed: put packages into the workers' image, or pack their wheels with --code

Servers (Triton, Vertex AI, databases) stay where they are, and secrets are never read: a bundle has their names only.
The values of --parameter are kept in the bundle and hold where a caller gives no others; do not put a secret there.

what it lacks:
  A warning names code that the file or a pickle needs and that is neither packed nor installed; nothing is imported
  for that. With --try the bundle is loaded and asked rows, as 'validate --load' does, in a process of its own: in an
  empty folder, with Python, installed packages and the bundle, but without PYTHONPATH, packages installed from their
  sources (pip install -e) and the folder that you are in.

the bundle:
  ENSEMBLE-DIGEST.ensemble.zip, named by the SHA-256 of its content: packing the same files again gives the same file.
  Use it instead of an ensemble file: for 'validate', 'plan', 'graph' and 'run', for RunEnsemble in Python,
  fromFile in Java and ensemble.FromFile in Go. A service checks it, trusts it where it trusts its folder (serve --trust
  FOLDER) or just this bundle (serve --trust bundle:SHA256), and sends it to the workers, which compare every digest.

exit code: 0 the bundle is written; 1 the ensemble is not valid or cannot be packed, or with --try the bundle, which is
written, does not run alone; 2 wrong usage; 130 interrupted
"""
_PACKED: Final = 0
_FAILED: Final = 1
_USAGE: Final = 2
_INTERRUPTED: Final = 130
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    add_file_arguments(parser)
    parser.add_argument(
        "--output",
        metavar="PLACE",
        default=".",
        help="write the bundle to this folder, or to this name, which ends in .ensemble.zip (default: here)",
    )
    parser.add_argument(
        "--code",
        metavar="PATH",
        action="append",
        default=[],
        help="pack this package's folder, module or wheel, too (may be repeated)",
    )
    parser.add_argument(
        "--requirements", metavar="FILE", help="note the packages in this file, which workers must have"
    )
    parser.add_argument(
        "--leave-remote",
        action="store_true",
        help="leave files in storage and on the web there, for workers to read",
    )
    parser.add_argument(
        "--try",
        dest="tried",
        action="store_true",
        help="load the bundle alone, and ask it a few made-up rows",
    )
    parser.add_argument(
        "--rows", metavar="ROWS", help="with --try: score this file of rows (.csv, .jsonl, .parquet)"
    )
    parser.add_argument("--json", action="store_true", help="print what was packed as a JSON object")


def run(args: argparse.Namespace) -> int:
    """Packs the file and prints what became of it."""
    message = _misuse(args)
    if message:
        return _say(message, _USAGE)
    logging.basicConfig(
        level=logging.ERROR
    )  # Beam logs warnings when it is imported, about what is not used here
    try:
        with terminable():
            return _pack(args)
    except KeyboardInterrupt:
        return _say("interrupted; nothing was written", _INTERRUPTED)
    except InvalidEnsemble as error:
        if args.json:
            print_json({"problems": as_data(error.problems)})
        else:
            print(wrong(args.file, error.problems, sys.stderr), file=sys.stderr)
        return _FAILED
    except OSError as error:
        return _say(said_of(error), _FAILED)
    except EnsembleError as error:
        return _say(str(error), _FAILED)


def _say(message: str, code: int) -> int:
    say("pack", message)
    return code


def _misuse(args: argparse.Namespace) -> str | None:
    """Returns in one sentence what is wrong with the call, if anything is."""
    for path in filter(None, (args.file, args.requirements, args.rows)):
        if not os.path.isfile(path):
            return no_file(path)
    if args.rows is not None and not args.tried:
        return "--rows is for the bundle that --try loads; add --try"
    if args.rows is not None and (message := rows_misuse(args.rows)) is not None:
        return message
    if is_bundle(args.file):
        return f"'{args.file}' is a bundle already"
    return _unwritable(args.output, is_name=is_bundle(args.output))


def _unwritable(output: str, *, is_name: bool) -> str | None:
    if not output:
        return f"--output is empty; give a folder, or a name that ends in {SUFFIX}"
    folder = os.path.dirname(os.path.abspath(output)) if is_name else output
    if os.path.exists(folder) and not os.path.isdir(folder):
        return f"'{folder}' is not a folder; give one, or a name that ends in {SUFFIX}"
    if not os.path.isdir(folder):
        named = "" if is_name else f", or end the name in {SUFFIX}"
        return f"there is no folder '{folder}' to write the bundle to; make it first{named}"
    if not os.access(folder, os.W_OK):
        return f"the folder '{folder}' cannot be written to"
    return None


def _pack(args: argparse.Namespace) -> int:
    from beam_ensembles.bundles.packing import Packing, pack
    from beam_ensembles.registry import KINDS
    from beam_ensembles.runtime.loading import files_of

    folder = os.path.dirname(os.path.abspath(args.file))
    packing = Packing(
        file=args.file,
        files=files_of(args.file, (folder, *args.trust)),
        parameters=dict(args.parameter),
        code=args.code,
        requirements=args.requirements,
        output=args.output,
        leave_remote=args.leave_remote,
    )
    with progress() as show:
        packed = pack(packing, KINDS, lambda doing, done, total: show(doing, done=done, total=total))
    warn(args.file, packed.warnings)
    if args.json and not args.tried:
        print_json(_as_data(packed))
    elif not args.json:
        print_lines(_as_text(packed))
    return _try(args, packed) if args.tried else _PACKED


def _try(args: argparse.Namespace, packed: Any) -> int:
    """Loads the bundle in a process that has nothing else, and prints what that showed."""
    from beam_ensembles.bundles.isolated_verb import run_alone

    sys.stdout.flush()
    rows = [] if args.rows is None else ["--rows", os.path.abspath(args.rows)]
    form = ["--json"] if args.json else []
    trust = [word for place in args.trust for word in ("--trust", _absolute(place))]
    done = run_alone(["validate", os.path.abspath(packed.path), "--load", *rows, *form, *trust])
    if args.json:
        print_json({**_as_data(packed), "trial": _parsed(done.stdout)})
    else:
        print(done.stdout, end="")
    if done.returncode == 0:
        return _PACKED
    ended = f", whose process ended with {done.returncode}" if done.returncode not in (0, 1) else ""
    return _say(f"'{packed.path}' is written, but it does not run alone{ended}", _FAILED)


def _absolute(place: str) -> str:
    """Returns a folder of this machine as it is named elsewhere; URIs as they are."""
    return place if ":" in place else os.path.abspath(place)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _as_data(packed: Any) -> dict[str, Any]:
    manifest = packed.manifest
    return {
        "bundle": packed.path,
        "sha256": packed.digest,
        "bytes": packed.size,
        "ensemble": manifest.ensemble,
        "files": {name: {"bytes": file.size, "sha256": file.sha256} for name, file in manifest.files.items()},
        "places": dict(manifest.places),
        "parameters": dict(manifest.parameters),
        "code": list(manifest.code),
        "wheels": list(manifest.wheels),
        "requirements": list(manifest.requirements),
        "left": dict(packed.left),
        "warnings": list(packed.warnings),
    }


def _as_text(packed: Any) -> str:
    manifest = packed.manifest
    lines = [
        f"packed ensemble '{manifest.ensemble}': {packed.path} ({_readable(packed.size)})",
        f"  sha256  {packed.digest}",
    ]
    lines += [
        f"  has     {uri} ({_readable(_size_of(name, manifest.files))})"
        for uri, name in manifest.places.items()
    ]
    lines += [f"  brings  {name}" for name in manifest.code]
    lines += [f"  needs   {requirement}" for requirement in manifest.requirements]
    lines += [f"  leaves  nodes.{node}: {uri}" for node, uri in packed.left.items()]
    return "\n".join(lines)


def _size_of(name: str, files: Any) -> int:
    """Returns the bytes of a file, or of all files in a folder."""
    return sum(file.size for one, file in files.items() if one == name or one.startswith(f"{name}/"))


def _readable(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < 1_000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} {_UNITS[-1]}"
