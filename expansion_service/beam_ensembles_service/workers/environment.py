"""The environment of workers: the variables that Beam and the frameworks need, and those that flags name."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from beam_ensembles.processes.fork_client import own_environment

PASSED: Final = (
    # The operating system and Python
    "HOME", "HOSTNAME", "LANG", "LANGUAGE", "LC_*", "LD_LIBRARY_PATH", "LD_PRELOAD", "LOGNAME", "MALLOC_*", "PATH",
    "DYLD_*", "PYTHON*", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "TZDIR", "USER", "VIRTUAL_ENV", "XDG_*",
    # Beam and this project
    "BEAM_ENSEMBLES_*", "RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT", "SEMI_PERSISTENT_DIRECTORY", "WORKER_ID",
    # Frameworks, their threads and their caches
    "ABSL_*", "BLIS_*", "CUBLAS_*", "CUDA_*", "CUDNN_*", "GOMP_*", "GOTO_*", "GRPC_*", "HF_*", "JOBLIB_*", "KERAS_*",
    "KMP_*", "LOKY_*", "MKL_*", "NCCL_*", "NUMBA_*", "NUMEXPR_*", "NVIDIA_*", "OMP_*", "ONNX*", "OPENBLAS_*", "ORT_*",
    "POLARS_*", "PROTOCOL_BUFFERS_*", "PYTORCH_*", "SKLEARN_*", "TENSORFLOW_*", "TF2_*", "TFHUB_*", "TF_*",
    "TOKENIZERS_*", "TORCHINDUCTOR_*", "TORCH_*", "TRANSFORMERS_*", "TRITON_*", "VECLIB_*", "XGBOOST_*", "XLA_*",
    # The network
    "ALL_PROXY", "CURL_CA_BUNDLE", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR",
    "SSL_CERT_FILE", "all_proxy", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
"""Patterns of the variables that workers always get."""

_SECRET: Final = (
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "API_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
)
"""A variable with one of these in its name is passed only if a flag names it."""
_OURS_ALONE: Final = "BEAM_ENSEMBLES_TLS_*"
"""The settings of this machine's clients."""
_TOKENIZERS: Final = "TOKENIZERS_"

STORES: Final[Mapping[str, tuple[str, ...]]] = {
    "gs://": ("GOOGLE_*", "GCLOUD_*", "GCE_*", "CLOUDSDK_*"),
    "s3://": ("AWS_*",),
    "hdfs://": ("HADOOP_*", "HDFS_*", "KRB5*"),
}
"""Patterns of the variables that workers need to read a bucket, passed if a flag names such a bucket."""


def worker_environment(named: Sequence[str] = (), places: Sequence[str] = ()) -> dict[str, str]:
    """Returns the environment of workers.

    Args:
        named: Patterns of variables that are passed whatever they hold.
        places: Where ensembles may read models; buckets among them need credentials.

    Returns:
        The part of this process's environment that they get, with the modules that this process finds.
    """
    stores = [pattern for store, some in STORES.items() for pattern in some if _names(places, store)]
    exact = (*named, *stores)
    return {
        name: value
        for name, value in own_environment().items()
        if _matches(name, exact) or (_matches(name, PASSED) and not _is_secret(name))
    }


def _names(places: Sequence[str], store: str) -> bool:
    return any(place.startswith(store) for place in places)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _is_secret(name: str) -> bool:
    upper = name.upper().removeprefix(_TOKENIZERS)
    return any(part in upper for part in _SECRET) or _matches(name, (_OURS_ALONE,))
