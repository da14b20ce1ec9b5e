"""What the images are: their versions, who runs in them, what is in them and what is not."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.runtime import version_guard
from scripts.containers.engine import Engine
from scripts.containers.images import TARGETS, image
from scripts.layout import REQUIREMENTS, ROOT
from tests.support.containers import service
from tests.support.patience import wait_until

FRAMEWORKS = "sklearn", "onnxruntime", "xgboost", "torch", "tensorflow", "transformers"
OF_ALL = {
    "user": "import os; said = os.getuid()",
    "versions": "from beam_ensembles.runtime import version_guard; said = version_guard.versions()",
}
FACTS = {
    "service": {
        **OF_ALL,
        "frameworks": f"import importlib.util as u; said = [n for n in {FRAMEWORKS} if u.find_spec(n)]",
        "storage": (
            "from apache_beam.io.filesystems import FileSystems as f\n"
            "try: said = [f.get_filesystem(u).scheme() for u in ('gs://a/b', 's3://a/b')]\n"
            "except ValueError as exc: said = str(exc)"
        ),
    },
    "worker": {
        **OF_ALL,
        "kinds": "import subprocess as s; said = json.loads(s.check_output(['beam-ensembles', 'list', '--json']))",
        "locale": "import locale; said = locale.setlocale(locale.LC_ALL, 'en_US.UTF-8')",
        # That this module is named in its arguments is what tells a worker from other programs.
        "metric ids": "from apache_beam.runners.worker.sdk_worker import SHORT_ID_CACHE as c; said = c._last_short_id",
        "CUDA of PyTorch": "import torch; said = torch.version.cuda",
    },
    "worker-gpu": {
        **OF_ALL,
        "CUDA": (
            "import importlib.metadata as m, importlib.util as u, onnxruntime as o, cuda.bindings;"
            "said = ['CUDAExecutionProvider' in o.get_available_providers(), bool(m.version('tensorrt-cu13-bindings')),"
            " u.find_spec('torch') is None or __import__('torch').version.cuda is not None]"
        ),
    },
}
"""What Python in a container is asked of an image, by its target: code that ends with a variable ``said``."""
Facts = dict[str, dict[str, Any]]


def ran(
    engine: Engine, name: str, *words: str, flags: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Runs a program in a new container; returns what it prints."""
    program, *arguments = words
    command = ["docker", "run", "--rm", *engine.network, *flags, "--entrypoint", program, name, *arguments]
    done = subprocess.run(command, env=engine.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def facts(engine: Engine) -> Facts:
    """What each image says of itself, in one container."""
    found = {}
    for target, code in FACTS.items():
        pieces = [f"{one}\nfound[{name!r}] = said" for name, one in code.items()]
        program = "\n".join(["import json", "found = {}", *pieces, "print('\\n' + json.dumps(found))"])
        said = ran(engine, image(target), "python", "-c", program).stdout
        found[target] = json.loads(said.splitlines()[-1])
    return found


def test_all_have_one_python_and_the_versions_of_this_checkout(facts: Facts) -> None:
    service, worker = (facts[target]["versions"] for target in TARGETS[:2])
    assert service == worker
    assert {**service, "Python": ""} == {**version_guard.versions(), "Python": ""}


@pytest.mark.parametrize("target", TARGETS)
def test_nobody_is_root(facts: Facts, target: str) -> None:
    assert facts[target]["user"] == 65532


def test_the_service_has_no_framework(facts: Facts) -> None:
    assert facts["service"]["frameworks"] == []


def test_the_service_reads_buckets_where_it_was_built_for_it(engine: Engine, facts: Facts) -> None:
    """Which a machine with an engine of its own may not have done."""
    if not engine.network:
        pytest.skip("the images here were built as they are by default")
    assert facts["service"]["storage"] == ["gs", "s3"]


@pytest.mark.parametrize("target", TARGETS)
def test_labels_say_the_versions(engine: Engine, facts: Facts, target: str) -> None:
    said = json.loads(
        engine.ask("image", "inspect", "--format", "{{json .Config.Labels}}", image(target)) or ""
    )
    versions = facts[target]["versions"]
    assert said["org.opencontainers.image.title"] == f"beam-ensembles-{target}"
    assert said["org.opencontainers.image.version"] == versions["beam-ensembles"]
    assert said["io.github.beamensembles.beam"] == versions["Beam"]
    assert said["io.github.beamensembles.python"] == versions["Python"]


def test_the_worker_has_every_framework(facts: Facts) -> None:
    listed = facts["worker"]["kinds"]
    assert {"sklearn", "pytorch", "tensorflow", "huggingface"} <= {kind["name"] for kind in listed}
    assert [kind["name"] for kind in listed if not kind["installed"]] == []


def test_the_worker_has_the_pytorch_of_the_index_that_it_was_given(engine: Engine, facts: Facts) -> None:
    """That for CPUs, and PyPI's, which has what GPUs need, where it was given none."""
    assert (facts["worker"]["CUDA of PyTorch"] is not None) == bool(engine.network)


def test_the_worker_has_the_locale_of_onnx_text_models(facts: Facts) -> None:
    assert facts["worker"]["locale"] == "en_US.UTF-8"


def test_workers_count_their_metrics_from_elsewhere(facts: Facts) -> None:
    assert facts["worker"]["metric ids"] > 1 << 20


def test_the_worker_with_a_gpu_has_the_frameworks_for_it(facts: Facts) -> None:
    assert facts["worker-gpu"]["CUDA"] == [True, True, True]


def test_what_the_worker_with_a_gpu_has_by_default_goes_together(engine: Engine, gpu_image: str) -> None:
    """In the versions of its lock; what the image here was built without is looked for, and not fetched."""
    (extras,) = re.findall(
        r'^ARG GPU_EXTRAS="(.*)"$', (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.M
    )
    overrides = ["--overrides", "gpu-overrides.txt", "-r", "gpu-overrides.txt"]
    as_built = ("./install_extras.sh", "gpu.txt", extras, *overrides)
    flags = ("--user=0", "--workdir=/opt/beam-ensembles/src")
    said = ran(engine, gpu_image, *as_built, "--dry-run", "--reinstall", flags=flags).stderr
    found = dict(re.findall(r"^ [+~] ([\w.-]+)==(\S+)", said, re.M))
    locked = re.findall(r"^([\w.-]+)==(\S+)", (REQUIREMENTS / "gpu.txt").read_text(encoding="utf-8"), re.M)
    missing = {"torch", "nvidia-cublas", "onnxruntime-gpu", "xgboost", "transformers"} - found.keys()
    assert not missing, said
    assert not {"onnxruntime", "xgboost-cpu", "tensorflow"} & found.keys()
    assert found.items() <= set(locked)


def test_the_health_check_is_the_services_own(engine: Engine, service_image: str) -> None:
    with service(engine, service_image, ()) as (container, address):
        assert container.run("beam-ensembles", "health") == f"{address} SERVING" or not engine.network
        wait_until(lambda: container.health != "starting")
        assert container.health == "healthy"


def test_a_worker_adds_a_pipelines_packages_to_its_own(
    engine: Engine, worker_image: str, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "late"\nversion = "1"\n', encoding="utf-8")
    (tmp_path / "late.py").write_text("HERE = 'late'\n", encoding="utf-8")
    install = "cp -r /late ~/late && pip install --quiet --no-index --no-build-isolation ~/late"
    words = ("-c", f"{install} && python -c 'import late; print(late.HERE)'")
    command = [
        "docker",
        "run",
        "--rm",
        *engine.network,
        "--volume",
        f"{tmp_path}:/late:ro",
        "--entrypoint",
        "sh",
    ]
    tmp_path.chmod(0o755)
    done = subprocess.run(
        [*command, worker_image, *words], env=engine.env, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1:] == ["late"], done.stderr
