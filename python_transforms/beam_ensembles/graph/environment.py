"""Environment variables that nodes ask for: a worker process has one set of them for all its nodes."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.errors import Problem
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.spec.model import EnsembleSpec, NodeSpec
from beam_ensembles.spec.places import below

HARMLESS: Final = (
    "BLIS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_VISIBLE_DEVICES", "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT",
    "HF_HUB_DISABLE_TELEMETRY", "HF_HUB_OFFLINE", "KMP_AFFINITY", "KMP_BLOCKTIME", "KMP_DUPLICATE_LIB_OK",
    "MALLOC_ARENA_MAX", "MKL_DYNAMIC", "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS", "NUMEXPR_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE", "OMP_DYNAMIC", "OMP_MAX_ACTIVE_LEVELS", "OMP_NESTED", "OMP_NUM_THREADS", "OMP_PLACES",
    "OMP_PROC_BIND", "OMP_SCHEDULE", "OMP_STACKSIZE", "OMP_THREAD_LIMIT", "OMP_WAIT_POLICY", "OPENBLAS_NUM_THREADS",
    "POLARS_MAX_THREADS", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "RAYON_NUM_THREADS", "TF_CPP_MIN_LOG_LEVEL",
    "TF_CUDNN_DETERMINISTIC", "TF_DETERMINISTIC_OPS", "TF_ENABLE_ONEDNN_OPTS", "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR", "TF_GPU_THREAD_COUNT", "TF_GPU_THREAD_MODE", "TF_NUM_INTEROP_THREADS",
    "TF_NUM_INTRAOP_THREADS", "TOKENIZERS_PARALLELISM", "TRANSFORMERS_OFFLINE", "TRANSFORMERS_VERBOSITY",
    "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip
"""Variables that any file may set: they tune, and neither load code nor say where a worker connects or writes to."""

_ALLOWED_AS: Final = "env:"
"""What a pattern of allowed code begins with that allows a variable."""


def check_environment(spec: EnsembleSpec, files: Files) -> Iterator[Problem]:
    """Finds variables that a file may not set, and those to which two nodes of one process give different values."""
    for node in spec.nodes:
        yield from _not_allowed(node, files)
    yield from _conflicting(spec)


def _not_allowed(node: NodeSpec, files: Files) -> Iterator[Problem]:
    """Finds variables by which a file could have workers load code or connect elsewhere, such as LD_PRELOAD."""
    for name in _named(node):
        key = f"{_ALLOWED_AS}{name}"
        if name not in HARMLESS and not any(fnmatch.fnmatchcase(key, pattern) for pattern in files.code):
            text = (
                f"the environment variable {name!r} may make workers load code or connect elsewhere; allow it when "
                f"starting the service: --allow-code {key!r} (names such as OMP_NUM_THREADS need no allowance)"
            )
            yield Problem(below(node.path("config", "env_vars"), name), "untrusted_code", text)


def _conflicting(spec: EnsembleSpec) -> Iterator[Problem]:
    first: dict[str, tuple[NodeSpec, Any]] = {}
    for node in spec.nodes:
        for name, value in _variables(node).items():
            owner, wanted = first.setdefault(name, (node, value))
            if value != wanted:
                text = (
                    f"'{node.name}' sets the environment variable '{name}' to another value than '{owner.name}', "
                    "and all nodes of a worker process share them; give it one value, or run one of the two in a "
                    "process of its own: 'isolate: process'"
                )
                yield Problem(below(node.path("config", "env_vars"), name), "conflicting_env_vars", text)


def _variables(node: NodeSpec) -> Mapping[str, Any]:
    """Returns the variables that a node sets in the process that it shares with others."""
    config = node.options.get("config")
    if node.isolated or not isinstance(config, Mapping):
        return {}
    if config.get("large_model") or config.get("model_copies") is not None:
        return {}
    return _named(node)


def _named(node: NodeSpec) -> Mapping[str, Any]:
    """Returns the variables that a node sets, in whichever process."""
    config = node.options.get("config")
    found = config.get("env_vars") if isinstance(config, Mapping) else None
    return found if isinstance(found, Mapping) else {}
