"""Imports Beam's inference modules without what they pull in needlessly. Written for Beam 2.77.

``apache_beam.ml.inference.base`` imports ``model_manager``, and that imports torch wherever it is installed:
seconds and hundreds of megabytes for a class that only multi-model handlers use. Beam guards that import, so
it is enough to let it fail; Beam imports the manager again where it is needed. The same guard drops
``resource``, without which ``model_byte_size`` is always 0: it is put back.

``xgboost_inference`` imports ``datatable``, which has no wheel for current Pythons, for the annotations of
one handler that is not used here: an empty stand-in takes its place while it is imported, where the real one
is missing.

``huggingface_inference`` imports tensorflow and transformers' classes for it, which transformers 5 took away. Its
models are PyTorch's here: stand-ins take the place of both, unless TensorFlow was imported before.

TensorFlow's and triton's copies of LLVM (PyTorch brings triton on Linux) end the process where TensorFlow is imported
first and triton after it; the other way round they get along. Only GPUs need triton, whose bindings also fill standard
error with what they leaked when the process ends: without a GPU PyTorch is told that it is not installed.

Every module of this project that needs one of Beam's inference modules gets it here, first.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from beam_ensembles import logs

BEAM_VERSION: Final = "2.77"
"""The version of Beam whose imports are described above; a test compares it with the one installed."""

_BASE: Final = "apache_beam.ml.inference.base"
_MODEL_MANAGER: Final = "apache_beam.ml.inference.model_manager"
_LOCK: Final = threading.RLock()
_TENSORFLOW_LOG: Final = "TF_CPP_MIN_LOG_LEVEL"
"""What TensorFlow writes on standard error: 1 warnings and errors, 3 nothing. Without a GPU it calls that an error."""
_CHATTER: Final = re.compile(
    rb"[IWE]0000 \d|WARNING: All log messages before absl::InitializeLog|\d{4}-[-\d]+ [:.\d]+: [IWE] "
)
"""Lines of TensorFlow's log: information, warnings, and the error that there is no GPU; not what ends the process."""
_GPU_DEVICES: Final = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""What there is on a machine with a GPU of NVIDIA, of AMD, or under Windows' Linux."""
_TENSORRT: Final = "tensorrt"
TENSORRT_BINDINGS: Final = "tensorrt_bindings"
"""The module of TensorRT's bindings as they come from PyPI."""
_OPENMP_WAITING: Final = "OMP_WAIT_POLICY"
"""OpenMP reads it when a library that has it is first imported. Its threads otherwise wait for each other by spinning,
and on a machine with other things to do, as a worker's is, that makes small batches of boosted trees ten times slower.
"""
_WITH_TORCH: Final = ("pytorch_inference", "huggingface_inference")
"""Import PyTorch, which has an OpenMP of its own and loses a third of its speed where the threads do not spin: from one
operation to the next is less time than waking them takes."""


def has_gpu_device() -> bool:
    """Whether this machine has a GPU; imports nothing to find out."""
    return any(os.path.exists(device) for device in _GPU_DEVICES)


def import_base() -> Any:
    """Imports ``apache_beam.ml.inference.base`` without torch, with ``base.resource`` in place.

    Returns:
        The module; from here on a plain import of it gives the same one.
    """
    with _LOCK:
        if _BASE not in sys.modules and _MODEL_MANAGER not in sys.modules:
            with _stand_in(_MODEL_MANAGER, None):
                base: Any = importlib.import_module(_BASE)
        else:
            base = importlib.import_module(_BASE)
        if base.resource is None:
            with contextlib.suppress(ImportError):  # there is none on Windows
                base.resource = importlib.import_module("resource")
        return base


def import_handlers(module: str) -> Any:
    """Imports one of Beam's handler modules, such as ``xgboost_inference``, and with it its framework.

    Args:
        module: The module's name within ``apache_beam.ml.inference``.

    Returns:
        The module.

    Raises:
        ImportError: The framework is not installed.
    """
    with _LOCK:
        import_base()
        has_gpu = has_gpu_device()
        os.environ.setdefault(_TENSORFLOW_LOG, "1" if has_gpu else "3")
        _settle_triton(has_gpu, before_tensorflow=module == "tensorflow_inference")
        if module in _WITH_TORCH:
            with contextlib.suppress(ImportError):  # Beam's module says so better
                importlib.import_module("torch")
        with patient_openmp():
            return _import_as_it_needs(module)


def _import_as_it_needs(module: str) -> Any:
    name = f"apache_beam.ml.inference.{module}"
    if module == "tensorflow_inference":
        with _quiet_hub(), _without_chatter():
            return importlib.import_module(name)
    if module == "huggingface_inference":
        with _without_tensorflow():
            return importlib.import_module(name)
    if module == "xgboost_inference" and importlib.util.find_spec("datatable") is None:
        with _stand_in("datatable", _datatable()):
            return importlib.import_module(name)
    return importlib.import_module(name)


@contextlib.contextmanager
def patient_openmp() -> Iterator[None]:
    """Sets the OpenMP that is loaded within the block to wait without spinning, unless the user said otherwise."""
    if _OPENMP_WAITING in os.environ:
        yield
        return
    os.environ[_OPENMP_WAITING] = "passive"
    try:
        yield
    finally:
        del os.environ[_OPENMP_WAITING]


def _datatable() -> ModuleType:
    stand_in: Any = ModuleType(
        "datatable", "Stands in for datatable while Beam's xgboost_inference is imported."
    )
    stand_in.Frame = type("Frame", (), {})
    return stand_in  # type: ignore[no-any-return]


def _settle_triton(has_gpu: bool, *, before_tensorflow: bool) -> None:
    """Hides triton where there is no GPU; where there is one, imports it before TensorFlow is."""
    if "triton" in sys.modules or "tensorflow" in sys.modules:
        return
    if not has_gpu:
        sys.modules["triton"] = None  # type: ignore[assignment]
    elif before_tensorflow:
        with contextlib.suppress(ImportError):
            importlib.import_module("triton")


def import_tensorrt() -> Any:
    """Imports TensorRT, by whichever of its two names it is installed, so that Beam's module finds it as ``tensorrt``.

    What PyPI has is the bindings, ``tensorrt_bindings``; NVIDIA's own ``tensorrt`` does nothing but to hand them on.

    Returns:
        The module.

    Raises:
        ImportError: Neither is installed (a ``ModuleNotFoundError``), or the libraries are not there.
    """
    with _LOCK:
        try:
            return importlib.import_module(_TENSORRT)
        except ModuleNotFoundError as exc:
            if exc.name != _TENSORRT:
                raise
        module = importlib.import_module(TENSORRT_BINDINGS)
        sys.modules[_TENSORRT] = module
        return module


@contextlib.contextmanager
def _quiet_hub() -> Iterator[None]:
    """Keeps tensorflow_hub from warning of how it is imported itself (pkg_resources)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _without_chatter() -> Iterator[None]:
    """Drops the lines that TensorFlow 2.21 logs while it is imported, whatever its level is.

    They come from C++, so standard error itself goes to a file meanwhile; all other lines are written afterwards. Only
    where a person reads it: in a notebook, and where a verb asks for quiet.
    """
    if not logs.is_quiet():
        yield
        return
    sys.stderr.flush()
    with tempfile.TemporaryFile() as written, os.fdopen(os.dup(2), "wb") as standard_error:
        os.dup2(written.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(standard_error.fileno(), 2)
            written.seek(0)
            standard_error.writelines(line for line in written if not _CHATTER.match(line))


@contextlib.contextmanager
def _without_tensorflow() -> Iterator[None]:
    """Imports ``huggingface_inference`` with PyTorch alone; the stand-ins are names for annotations."""
    importlib.import_module("transformers")
    importlib.import_module(
        "transformers.pipelines"
    )  # asks for tensorflow itself: before there is a stand-in
    transformers: Any = sys.modules["transformers"]  # it has put another module in its place meanwhile
    if not hasattr(transformers, "TFAutoModel"):
        transformers.TFAutoModel = type("TFAutoModel", (), {})
    if "tensorflow" in sys.modules:
        yield
        return
    tensorflow: Any = ModuleType("tensorflow", "Stands in for tensorflow while Beam's handlers are imported.")
    tensorflow.Tensor = type("Tensor", (), {})
    with _stand_in("tensorflow", tensorflow):
        yield


@contextlib.contextmanager
def _stand_in(name: str, module: ModuleType | None) -> Iterator[None]:
    """Puts a module, or None so that its import fails, in ``sys.modules`` for a while."""
    sys.modules[name] = module  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
