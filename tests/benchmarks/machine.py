"""The machine that was measured on, in words that name no host and no path."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
from pathlib import Path

from scripts.shell import output
from scripts.toolchains import go

_PACKAGES = ("apache-beam", "numpy", "scikit-learn", "xgboost-cpu", "onnxruntime")


def description() -> dict[str, str]:
    """Gives what is known of the machine and of the versions, by name."""
    versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {
        "Processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "Memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "System": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Packages": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "torch": "installed" if importlib.util.find_spec("torch") else "not installed",
        "Go": _go(),
        "Commit": _commit(),
    }


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", information.read_text(encoding="utf-8"), re.MULTILINE)
        if found is not None:
            return found[1]
    return platform.processor() or platform.machine()


def _go() -> str:
    found = go.find()
    return ".".join(map(str, found.version)) if found else "none"


def _commit() -> str:
    return output(["git", "rev-parse", "--short", "HEAD"]) or "unknown"
