"""What the machine is, and this repository's own tests of GPUs there."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from typing import Any, Final

from scripts.gpu_acceptance.setting import Figures, Setting, StepFailed, demand
from scripts.layout import ROOT

_MODULES: Final = (
    "torch", "transformers", "numpy", "pyarrow", "pandas", "sklearn", "PIL", "grpc", "google.protobuf", "apache_beam",
    "yaml", "xxhash", "threadpoolctl", "beam_ensembles", "beam_ensembles.local.ensemble", "beam_ensembles_service",
)  # fmt: skip
_TESTS: Final = "tests/gpu/test_pytorch_on_gpu.py"


def versions(setting: Setting) -> Figures:
    """Imports all that the run needs; returns the versions and the device.

    Raises:
        StepFailed: Something is missing, or there is no GPU.
    """
    missing = []
    for name in _MODULES:
        try:
            importlib.import_module(name)
        except ImportError as error:
            missing.append(f"{name} ({error})")
    demand(
        not missing,
        f"cannot be imported: {', '.join(missing)}; pass --kit with the archive of 'make gpu-kit'",
    )
    names = ("torch", "transformers", "numpy", "pyarrow", "apache-beam", "grpcio", "protobuf")
    found = {name: importlib.metadata.version(name) for name in names}
    return {"python": platform.python_version(), **found, **_device(setting)}


def _device(setting: Setting) -> dict[str, Any]:
    if not setting.has_gpu:
        return {"device": f"CPU, {os.cpu_count()} cores"}
    import torch

    demand(torch.cuda.is_available(), f"PyTorch {torch.__version__} finds no CUDA device")
    one = torch.cuda.get_device_properties(0)
    return {
        "device": one.name,
        "memory_gib": one.total_memory / 2**30,
        "capability": f"{one.major}.{one.minor}",
        "cuda": str(torch.version.cuda),
        "driver": _driver(),
        "devices": torch.cuda.device_count(),
    }


def _driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "not known"
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "not known"


def gpu_tests(setting: Setting) -> Figures:
    """Runs ``tests/gpu`` for PyTorch; returns how many tests passed.

    Raises:
        StepFailed: One failed, or on a GPU one was skipped.
    """
    command = [sys.executable, "-m", "pytest", "-q", _TESTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr, sep="\n")
    said = done.stdout.strip().splitlines()[-1:] or done.stderr.strip().splitlines()[-1:] or ["nothing"]
    if done.returncode not in (0, 5):
        raise StepFailed(f"pytest ended with {done.returncode}: {said[0]}")
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|skipped)", said[0])}
    if setting.has_gpu:
        demand(counts.get("passed", 0) > 0 and not counts.get("skipped"), f"tests were skipped: {said[0]}")
    return counts
