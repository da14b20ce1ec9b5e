"""What the tests of all cases need in one process."""

from __future__ import annotations

import contextlib
import importlib

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    """Imports PyTorch's compiler before TensorFlow, where there are cases of both.

    Both bring an LLVM (PyTorch's in Triton), whose options may be registered once: the later one ends the process
    where it is PyTorch's. Seen with PyTorch 2.15 and TensorFlow 2.21.
    """
    selected = " ".join(item.nodeid for item in session.items)
    if "torch" in selected and ("tensorflow" in selected or "keras" in selected):
        with contextlib.suppress(ImportError):
            importlib.import_module("torch._dynamo")
            importlib.import_module("torch").cuda.is_available()
