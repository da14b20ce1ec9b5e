"""What ``config`` may say for a model that is called on a server: the arguments of Beam's ``RemoteModelHandler``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.handlers.support.beam_config import HONOURED, REFUSED, Accepted


def _is_above_zero(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and _is_above_zero(value)


_SECONDS: Final = Accepted("a whole number of seconds above 0", _is_whole)
_MILLISECONDS: Final = Accepted("a whole number of milliseconds above 0", _is_whole)
THROTTLING: Final[Mapping[str, Accepted]] = {
    "throttle_delay_secs": _SECONDS,
    "window_ms": _MILLISECONDS,
    "bucket_ms": _MILLISECONDS,
    "overload_ratio": Accepted("a number above 0", _is_above_zero),
}
"""When calls are held back, and for how long."""

REMOTE_HONOURED: Final[Mapping[str, Accepted]] = {
    "max_batch_size": HONOURED["max_batch_size"],
    "env_vars": HONOURED["env_vars"],
    **THROTTLING,
}

_NOTHING_IS_LOADED: Final = "the model is loaded by its server; say there how many copies there are"
REMOTE_REFUSED: Final[Mapping[str, str]] = {
    **{name: reason for name, reason in REFUSED.items() if name != "inference_fn"},
    "large_model": _NOTHING_IS_LOADED,
    "model_copies": _NOTHING_IS_LOADED,
    "num_retries": "use the node's 'retries'",
    "retry_filter": "a function cannot be written in a file; only what may pass is tried again",
    "rate_limiter": "an object cannot be written in a file",
    "namespace": "metrics are those of the node",
}
