"""Which environment variables a file may set in a worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.handlers.environment import COMPUTING
from tests.support.nodes import check_node, problems_of

MODELS = Path(__file__).parents[2] / "golden" / "specs_invalid" / "models"
INPUTS = {"x": "array<float>[4]"}


def node(**variables: str) -> dict[str, Any]:
    return {
        "model": "onnx",
        "uri": "network.onnx",
        "config": {"env_vars": variables},
        "inputs": ["x"],
        "outputs": {"probabilities": None},
    }


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD", "PYTHONPATH", "PYTHONSTARTUP", "PATH", "HTTPS_PROXY", "HF_ENDPOINT", "HF_HOME", "XLA_FLAGS",
        "OMP_TOOL_LIBRARIES", "TF_XLA_FLAGS", "TORCH_LOGS_OUT", "KERAS_HOME", "GOOGLE_APPLICATION_CREDENTIALS",
        "BEAM_ENSEMBLES_STAGE_PROCESSES",
    ],
)  # fmt: skip
def test_a_variable_that_may_run_code_must_be_allowed(name: str) -> None:
    one = node(**{name: "1"})
    assert problems_of(MODELS, INPUTS, one, trust=False) == [("untrusted_code", f"config.env_vars.{name}")]
    assert check_node(MODELS, INPUTS, one, trust=True)


def test_variables_that_set_how_frameworks_compute_need_no_trust() -> None:
    assert check_node(MODELS, INPUTS, node(**dict.fromkeys(COMPUTING, "1")), trust=False)
