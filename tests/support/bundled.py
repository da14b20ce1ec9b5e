"""``python -m tests.support.bundled FOLDER``: a service that knows an ensemble from a bundle only, with workers apart.

What the bundle was made of is gone. The workers have a folder for bundles of their own, so that they get it from the
runner; the service does not say that they see its files.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
from sklearn.linear_model import LogisticRegression

from beam_ensembles.bundles.packing import Packed, Packing, pack
from beam_ensembles.bundles.store import VARIABLE
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.loading import files_of
from tests.support.service import RunningService, running_service

ENSEMBLE = """\
ensemble: sizes
inputs: {weight: double, length: double}
nodes:
  model:
    model: sklearn
    uri: models/size.joblib
    inputs: [weight, length]
    outputs: {size: int64}
  name:
    apply: labels
    file: names.txt
    inputs: [size]
    outputs: {name: string}
  greeting:
    apply: python
    function: sized_team.greetings.greet
    inputs: {names: name}
    outputs: {greeting: string}
outputs: [name, greeting]
"""
CODE = '''\
"""Greets by name."""

from sized_team.words import HELLO


def greet(names):
    return {"greeting": [f"{HELLO}, {name}" for name in names]}
'''
ALLOWED = "sized_team.*"
ROWS = [(1.0, 2.0, "hello, small"), (9.0, 8.0, "hello, large")]
"""Weight, length, and the greeting that they get."""


def write_ensemble(folder: Path) -> Path:
    """Writes an ensemble of a pickled model, a file of names and a function of the user; gives its file."""
    (folder / "models").mkdir(parents=True)
    model = LogisticRegression().fit([[1.0, 2.0], [2.0, 1.0], [9.0, 9.0], [8.0, 9.0]], [0, 0, 1, 1])
    joblib.dump(model, folder / "models" / "size.joblib")
    (folder / "names.txt").write_text("small\nlarge\n")
    (folder / "sized_team").mkdir()
    (folder / "sized_team" / "__init__.py").touch()
    (folder / "sized_team" / "words.py").write_text('HELLO = "hello"\n')
    (folder / "sized_team" / "greetings.py").write_text(CODE)
    (folder / "sizes.yaml").write_text(ENSEMBLE)
    return folder / "sizes.yaml"


def packed(file: Path, output: Path, **more: Any) -> Packed:
    """Packs an ensemble with all that lies beside it trusted, as its owner does."""
    packing = Packing(file=str(file), files=files_of(file), output=str(output), **more)
    return pack(packing, KINDS)


def pack_and_forget(folder: Path) -> Path:
    """Creates the bundle of the ensemble in a folder, and removes all that it was made of; gives the bundle."""
    file = write_ensemble(folder / "originals")
    bundle = packed(file, folder, code=[str(file.parent / "sized_team")])
    shutil.rmtree(file.parent)
    return Path(bundle.path)


@dataclasses.dataclass(frozen=True)
class Bundled:
    """What runs.

    Attributes:
        service: Expands the bundle, for workers that it shares nothing with.
        workers: Starts them.
        bundle: The bundle's file.
        cache: Where the workers unpack bundles.
    """

    service: RunningService
    workers: RunningService
    bundle: Path
    cache: Path


@contextlib.contextmanager
def running(folder: Path, *flags: str) -> Iterator[Bundled]:
    """Start a service with these flags, and its workers, for a bundle in a folder."""
    bundle = pack_and_forget(folder)
    with (
        _cache(folder / "workers"),
        running_service("--serve-loopback-worker", "--log-level", "debug") as workers,
        _cache(folder / "service"),
        running_service(
            *("--environment-type", "EXTERNAL", "--environment-config", workers.address),
            *("--trust", str(folder), "--allow-code", ALLOWED, *flags),
        ) as service,
    ):
        yield Bundled(service, workers, bundle, folder / "workers")


@contextlib.contextmanager
def _cache(folder: Path) -> Iterator[None]:
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def main() -> None:
    """Prints the service's address and the bundle's path, and ends with standard input."""
    with running(Path(sys.argv[1])) as found:
        print(f"{found.service.address} {found.bundle}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
