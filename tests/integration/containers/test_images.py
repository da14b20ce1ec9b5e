"""What the images are: their versions, who runs in them, what is in them and what is not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from beam_ensembles.runtime import version_guard
from scripts.containers.engine import Engine
from scripts.containers.images import TARGETS, image
from tests.support.containers import service
from tests.support.patience import wait_until

_VERSIONS = "import json; from beam_ensembles.runtime import version_guard; print(json.dumps(version_guard.versions()))"


def inside(engine: Engine, name: str, program: str, *words: str) -> str:
    """Returns the last line that a program in a new container prints."""
    command = ["docker", "run", "--rm", *engine.network, "--entrypoint", program, name, *words]
    done = subprocess.run(command, env=engine.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def test_all_have_one_python_and_the_versions_of_this_checkout(engine: Engine) -> None:
    service, worker = (
        json.loads(inside(engine, image(target), "python", "-c", _VERSIONS)) for target in TARGETS[:2]
    )
    assert service == worker
    assert {**service, "Python": ""} == {**version_guard.versions(), "Python": ""}


@pytest.mark.parametrize("target", TARGETS)
def test_nobody_is_root(engine: Engine, target: str) -> None:
    assert inside(engine, image(target), "id", "-u") == "65532"


def test_the_service_has_no_framework(engine: Engine, service_image: str) -> None:
    frameworks = "sklearn", "onnxruntime", "xgboost", "torch", "tensorflow", "transformers"
    code = f"import importlib.util as u; print([n for n in {frameworks} if u.find_spec(n)])"
    assert inside(engine, service_image, "python", "-c", code) == "[]"


def test_the_service_reads_buckets_where_it_was_built_for_it(engine: Engine, service_image: str) -> None:
    """Which a machine with an engine of its own may not have done."""
    if not engine.network:
        pytest.skip("the images here were built as they are by default")
    code = (
        "from apache_beam.io.filesystems import FileSystems as f;"
        "print([f.get_filesystem(u).scheme() for u in ('gs://a/b', 's3://a/b')])"
    )
    assert inside(engine, service_image, "python", "-c", code) == "['gs', 's3']"


@pytest.mark.parametrize("target", TARGETS)
def test_labels_say_the_versions(engine: Engine, target: str) -> None:
    said = json.loads(
        engine.ask("image", "inspect", "--format", "{{json .Config.Labels}}", image(target)) or ""
    )
    versions = json.loads(inside(engine, image(target), "python", "-c", _VERSIONS))
    assert said["org.opencontainers.image.title"] == f"beam-ensembles-{target}"
    assert said["org.opencontainers.image.version"] == versions["beam-ensembles"]
    assert said["io.github.beamensembles.beam"] == versions["Beam"]
    assert said["io.github.beamensembles.python"] == versions["Python"]


def test_the_worker_has_every_framework(engine: Engine, worker_image: str) -> None:
    listed = json.loads(inside(engine, worker_image, "sh", "-c", "beam-ensembles list --json | tr -d '\\n'"))
    assert {"sklearn", "pytorch", "tensorflow", "huggingface"} <= {kind["name"] for kind in listed}
    assert [kind["name"] for kind in listed if not kind["installed"]] == []


def test_the_worker_has_the_locale_of_onnx_text_models(engine: Engine, worker_image: str) -> None:
    code = "import locale; print(locale.setlocale(locale.LC_ALL, 'en_US.UTF-8'))"
    assert inside(engine, worker_image, "python", "-c", code) == "en_US.UTF-8"


def test_the_health_check_is_the_services_own(engine: Engine, service_image: str) -> None:
    with service(engine, service_image, ()) as (container, address):
        assert container.run("beam-ensembles", "health") == f"{address} SERVING" or not engine.network
        wait_until(lambda: container.health != "starting")
        assert container.health == "healthy"


def test_workers_count_their_metrics_from_elsewhere(engine: Engine, worker_image: str) -> None:
    code = (
        "from apache_beam.runners.worker.sdk_worker import SHORT_ID_CACHE as ids; print(ids._last_short_id)"
    )
    assert int(inside(engine, worker_image, "python", "-c", code)) > 1 << 20


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


def test_the_worker_with_a_gpu_has_the_frameworks_for_it(engine: Engine, gpu_image: str) -> None:
    code = (
        "import importlib.metadata as m, onnxruntime, torch, cuda.bindings;"
        "print(torch.version.cuda is not None, 'CUDAExecutionProvider' in onnxruntime.get_available_providers(),"
        " bool(m.version('tensorrt-cu13-bindings')))"
    )
    assert inside(engine, gpu_image, "python", "-c", code) == "True True True"
