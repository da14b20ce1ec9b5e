"""How much memory the workers of a machine hold for a model, however its node says that they share it.

What counts is the sum of the processes' proportional set sizes, of which each counts a page by its share where several
processes map it. Workers load a tiny model first, so that what comes with the large one is the large one.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

import joblib
import numpy as np
from sklearn.neural_network import MLPRegressor

from scripts.layout import ROOT

_TINY: Final = 2
_PSUTIL: Final[Any] = importlib.import_module("psutil")  # it has no types
_ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Every thread of a matrix library has buffers of its own."""


def copies_held(
    folder: Path, width: int, configs: Mapping[str, Mapping[str, Any]], processes: int, threads: int
) -> tuple[int, dict[str, float]]:
    """Measures how many times workers hold a model.

    Args:
        folder: Where ensembles and models go.
        width: The model's: it is a network of 4 x width x width x 1.
        configs: What the nodes say that load it, by name.
        processes: How many workers there are.
        threads: How many threads each scores with, at the same time.

    Returns:
        The bytes of the model's weights, and by the names of ``configs`` how many times as many the workers hold for a
        node with each; without what a process of its own needs besides (Python, scikit-learn).

    Raises:
        ValueError: The workers do not give the same answers.
    """
    size = _write_model(folder / "large.joblib", width)
    _write_model(folder / "tiny.joblib", _TINY)
    found = {}
    with _workers(processes, threads) as workers:
        _load(workers, _write_spec(folder, "own", "tiny", {}))
        before = _held(workers)
        _load(workers, _write_spec(folder, "shared", "tiny", {"large_model": True}))
        besides = _held(workers) - before
        for name, config in configs.items():
            shared, before = _shared(workers), _held(workers)
            _load(workers, _write_spec(folder, name, "large", config))
            more = _held(workers) - before - besides * (_shared(workers) - shared)
            found[name] = more / size
    return size, found


def _write_model(path: Path, width: int) -> int:
    random = np.random.default_rng(0)
    sizes = (4, width, width, 1)
    model = MLPRegressor(hidden_layer_sizes=(2, 2), max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one step does not converge
        model.fit(random.random((8, 4)), random.random(8))
    model.coefs_ = [random.random((one, two)) / one for one, two in itertools.pairwise(sizes)]
    model.intercepts_ = [np.zeros(size) for size in sizes[1:]]
    joblib.dump(model, path)
    return sum(weights.nbytes for weights in model.coefs_)


def _write_spec(folder: Path, name: str, model: str, config: Mapping[str, Any]) -> Path:
    node = {"model": "sklearn", "uri": f"{model}.joblib", "inputs": ["x"], "outputs": {"y": "double"}}
    file = folder / f"{name}-{model}.json"
    spec = {"ensemble": "one", "inputs": {"x": "array<double>[4]"}, "nodes": {"n": node | {"config": config}}}
    file.write_text(json.dumps(spec), encoding="utf-8")
    return file


Worker = subprocess.Popen[str]


@contextlib.contextmanager
def _workers(processes: int, threads: int) -> Iterator[list[Worker]]:
    command = [sys.executable, "-m", "tests.support.memory_worker", str(threads)]
    env = {**os.environ, **_ONE_THREAD}
    pipe = subprocess.PIPE
    with contextlib.ExitStack() as running:
        yield [
            running.enter_context(
                subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT, env=env, text=True)
            )
            for _ in range(processes)
        ]


def _load(workers: list[Worker], file: Path) -> None:
    """Loads an ensemble in all workers and scores with it, at the same time."""
    for worker in workers:
        _of(worker.stdin).write(f"{file}\n")
        _of(worker.stdin).flush()
    lines = {_of(worker.stdout).readline() for worker in workers}
    if len(lines) != 1 or len(set(map(str, json.loads(lines.pop())))) != 1:
        raise ValueError("the workers and their threads do not give the same answers")


def _of(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def _held(workers: list[Worker]) -> int:
    return sum(process.memory_full_info().pss for process in _processes(workers))


def _shared(workers: list[Worker]) -> int:
    """Counts the processes that hold shared models."""
    return len(_processes(workers)) - len(workers)


def _processes(workers: list[Worker]) -> set[Any]:
    """Returns the workers and what they started."""
    parents = [_PSUTIL.Process(worker.pid) for worker in workers]
    return {*parents, *(child for parent in parents for child in parent.children(recursive=True))}
