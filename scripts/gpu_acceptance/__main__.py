"""Runs the acceptance of the GPU path: a line of JSON for each step, then a table; exit code 1 if a step failed."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from scripts.gpu_acceptance.running import FAILED, run_steps, table
from scripts.gpu_acceptance.setting import FULL, TINY, Setting
from scripts.gpu_acceptance.steps import STEPS
from scripts.layout import ROOT
from scripts.program import end_with_cleanup_on_sigterm

_SECONDS: Final = 480.0
_IMPORTED: Final = (
    "torch",
    "transformers",
    "pyarrow",
    "PIL.Image",
    "apache_beam",
    "beam_ensembles.local.ensemble",
)
"""Imported once, before the steps are forked. None of them starts CUDA, which a fork could not use."""


def main(words: Sequence[str] | None = None) -> int:
    """Runs what the command line says; returns the exit code."""
    end_with_cleanup_on_sigterm()
    asked = _parser().parse_args(words)
    chosen = [step for step in STEPS if not asked.step or step.name in asked.step]
    with _kit(asked.kit), tempfile.TemporaryDirectory(prefix="gpu-acceptance-") as folder:
        _prepare()
        setting = Setting(asked.device, TINY if asked.tiny else FULL, Path(folder))
        outcomes = []
        for outcome in run_steps(chosen, setting, asked.seconds * asked.patience, asked.patience):
            outcomes.append(outcome)
            print(outcome.line, flush=True)
            if asked.output is not None:
                with asked.output.open("a", encoding="utf-8") as file:
                    file.write(f"{outcome.line}\n")
    print(table(outcomes))
    return 1 if any(one.status == FAILED for one in outcomes) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m scripts.gpu_acceptance", description=__doc__)
    parser.add_argument(
        "--device", choices=("gpu", "cpu"), default="gpu", help="what to run on (default: gpu)"
    )
    parser.add_argument("--tiny", action="store_true", help="use tiny models and few rows")
    parser.add_argument("--kit", type=Path, help="use the packages in this archive of 'make gpu-kit'")
    parser.add_argument("--output", type=Path, help="append the lines of JSON to this file too")
    parser.add_argument(
        "--seconds", type=float, default=_SECONDS, help="end after this long (default: %(default)s)"
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=1.0,
        help="multiply all limits by this, for slow machines (default: 1)",
    )
    names = [step.name for step in STEPS]
    parser.add_argument("--step", action="append", choices=names, help="run only this step; may be repeated")
    return parser


@contextlib.contextmanager
def _kit(archive: Path | None) -> Iterator[None]:
    """Puts the packages of a kit behind those of this checkout, for this process and all that it starts."""
    with tempfile.TemporaryDirectory(prefix="gpu-kit-") as folder:
        paths = [str(ROOT / "python_transforms"), str(ROOT / "expansion_service"), str(ROOT)]
        if archive is not None:
            with tarfile.open(archive) as file:
                file.extractall(folder, filter="data")
            paths.append(folder)
        sys.path[:0] = paths
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        yield


def _prepare() -> None:
    """Imports what all steps need; what is missing is the first step's to say."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    for name in _IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
