"""Which environment variables an ensemble file may set in a worker.

Some variables load libraries (``LD_PRELOAD``, ``OMP_TOOL_LIBRARIES``), write files (``XLA_FLAGS``), or send downloads
and credentials elsewhere (``HF_ENDPOINT``, ``HTTPS_PROXY``). So only those that set how a framework computes need no
trust.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import nearest
from beam_ensembles.graph.files import FileProblem
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.spec.places import below

COMPUTING: Final = frozenset((
    "BLIS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_VISIBLE_DEVICES", "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT",
    "HF_HUB_DISABLE_TELEMETRY", "HF_HUB_OFFLINE", "KMP_AFFINITY", "KMP_BLOCKTIME", "KMP_DUPLICATE_LIB_OK",
    "MALLOC_ARENA_MAX", "MKL_DYNAMIC", "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS", "NUMEXPR_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE", "OMP_DYNAMIC", "OMP_MAX_ACTIVE_LEVELS", "OMP_NESTED", "OMP_NUM_THREADS", "OMP_PLACES",
    "OMP_PROC_BIND", "OMP_SCHEDULE", "OMP_STACKSIZE", "OMP_THREAD_LIMIT", "OMP_WAIT_POLICY", "OPENBLAS_NUM_THREADS",
    "POLARS_MAX_THREADS", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "RAYON_NUM_THREADS", "TF_CPP_MIN_LOG_LEVEL",
    "TF_CUDNN_DETERMINISTIC", "TF_DETERMINISTIC_OPS", "TF_ENABLE_ONEDNN_OPTS", "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR", "TF_GPU_THREAD_COUNT", "TF_GPU_THREAD_MODE", "TF_NUM_INTEROP_THREADS",
    "TF_NUM_INTRAOP_THREADS", "TOKENIZERS_PARALLELISM", "TRANSFORMERS_OFFLINE",
    "TRANSFORMERS_VERBOSITY", "VECLIB_MAXIMUM_THREADS",
))  # fmt: skip
"""The variables that need no trust."""


def check_variables(node: NodeView, place: str, variables: Mapping[str, Any]) -> None:
    """Reports environment variables that nobody allowed (``untrusted_code``).

    Args:
        node: The node.
        place: Where they stand.
        variables: Their values by name.
    """
    for name in variables:
        if name in COMPUTING or _is_allowed(node, name):
            continue
        text = f"the environment variable '{name}' may make a worker run code or reach other places"
        node.problem(
            "untrusted_code",
            below(place, name),
            f"{text}{nearest(name, sorted(COMPUTING))}; allow it when starting the service: "
            f"--allow-code 'os.environ.{name}'",
        )


def _is_allowed(node: NodeView, name: str) -> bool:
    try:
        node.files.check_code(f"os.environ.{name}")
    except FileProblem:
        return False
    return True
