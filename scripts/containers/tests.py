"""Builds the images and runs the tests in ``tests/integration/containers`` against them (``make test-image``)."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from typing import Final

from scripts import toolchains
from scripts.containers import flink_stand_ins, stand_ins
from scripts.containers.engine import Engine, NoEngine, engine
from scripts.containers.images import TARGETS, build
from scripts.layout import PYTHON, ROOT
from scripts.members import train
from scripts.program import exit_code, say, styled
from scripts.shell import Command
from scripts.steps import Step, run_steps, show_failures
from scripts.toolchains import go, maven

IMAGES_VARIABLE: Final = "BEAM_ENSEMBLES_IMAGES"
"""Names the environment variable that tells tests that there are images, and where a private engine keeps its files
(``-``: the engine was there before)."""
_PROGRAMS: Final = (
    Step("models", "training the members of the digits ensemble", train),
    Step("java", "building the Java client and pipeline", maven.package),
)


def arguments(where: Engine) -> dict[str, str]:
    """Returns the build arguments, for every target: a builder without BuildKit also builds those before it.

    Where there are stand-ins there is neither PyTorch's index nor NVIDIA's: the worker gets PyPI's PyTorch with its
    gigabytes for GPUs. The worker with a GPU would get the same wheels once more: there they are only looked for, and
    TensorRT is without its libraries.
    """
    if where.folder is None:
        return {}
    indexes = {"TORCH_INDEX": "", "NVIDIA_INDEX": ""}
    extras = {"SERVICE_EXTRAS": "aws gcp", "GPU_EXTRAS": "onnx tensorrt"}
    return {**stand_ins.ARGUMENTS, **indexes, **extras}


def test(where: Engine) -> bool:
    """Builds and tests; gives whether all went as it should."""
    go.require()
    if show_failures(run_steps(_PROGRAMS)):
        return False
    if where.folder is not None:
        beam = importlib.metadata.version("apache-beam")
        bases = Step("bases", "making stand-ins", lambda: stand_ins.make(where, beam))
        flink = Step("flink", "making those of Flink", lambda: flink_stand_ins.make(where), ("bases",))
        if show_failures(run_steps([bases, flink])):
            return False
    for target in TARGETS:
        build(where, target, arguments(where))
    env = {**toolchains.environment(), **where.env, IMAGES_VARIABLE: str(where.folder or "-")}
    command: Command = [PYTHON, "-m", "pytest", "tests/integration/containers"]
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode == 0


def main() -> int:
    """Tests with the engine that there is; gives the exit code, 0 where there is none."""

    def work() -> bool:
        try:
            with engine() as where:
                return test(where)
        except NoEngine as exc:
            say(styled(f"SKIP: no container engine ({exc})", "yellow"))
            return True

    return exit_code(work)


if __name__ == "__main__":
    sys.exit(main())
