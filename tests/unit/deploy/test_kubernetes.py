"""The manifests fit together, and start our programs with flags that these have. Nothing here needs a cluster."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from beam_ensembles_service import settings
from beam_ensembles_service.callers import flags as access
from beam_ensembles_service.workers import command
from scripts.layout import ROOT
from scripts.release.coordinates import IMAGES, image_name

FOLDER = ROOT / "deploy" / "kubernetes"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
GPU_FOLDER = FOLDER.with_name("kubernetes-gpu")
GPU = yaml.safe_load((GPU_FOLDER / "kustomization.yaml").read_text())
OBJECTS = [
    found for file in KUSTOMIZATION["resources"] for found in yaml.safe_load_all((FOLDER / file).read_text())
]
WORKLOADS = [found for found in OBJECTS if found["kind"] == "Deployment"]


def named(kind: str, name: str) -> Mapping[str, Any]:
    """Returns the object of a kind and name."""
    (found,) = [o for o in OBJECTS if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    return dict(found)


def pod(workload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the pod's specification."""
    return dict(workload["spec"]["template"]["spec"])


def containers(workload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns all containers, sidecars too."""
    return [*pod(workload).get("initContainers", []), *pod(workload)["containers"]]


def container(workload: str, name: str) -> Mapping[str, Any]:
    """Returns one container."""
    (found,) = [one for one in containers(named("Deployment", workload)) if one["name"] == name]
    return found


CONTAINERS = [
    pytest.param(workload, one, id=f"{workload['metadata']['name']}/{one['name']}")
    for workload in WORKLOADS
    for one in containers(workload)
]


def parsed(add_arguments: Any, args: list[str]) -> argparse.Namespace:
    """Parses flags as the program does."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_arguments(parser)
    return parser.parse_args(args)


def test_every_file_is_a_resource() -> None:
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert files == set(KUSTOMIZATION["resources"])


@pytest.mark.parametrize(("workload", "one"), CONTAINERS)
def test_a_container_has_no_rights_that_it_does_not_need(workload: Any, one: Any) -> None:
    """What the pod security standard "restricted" asks for, which the namespace enforces."""
    whole = {**pod(workload)["securityContext"], **one["securityContext"]}
    assert whole["runAsNonRoot"] is True
    assert whole["runAsUser"] > 0
    assert whole["allowPrivilegeEscalation"] is False
    assert whole["capabilities"] == {"drop": ["ALL"]}
    assert whole["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod(workload)["automountServiceAccountToken"] is False


@pytest.mark.parametrize(("workload", "one"), CONTAINERS)
def test_a_container_is_looked_after(workload: Any, one: Any) -> None:
    ports = {port["name"] for port in one["ports"]}
    for probe in ("startupProbe", "livenessProbe"):
        (kind,) = set(one[probe]) & {"grpc", "tcpSocket", "httpGet"}
        port = one[probe][kind]["port"]
        assert kind == "grpc" or port in ports
    assert one["resources"]["limits"]["memory"]
    assert one["resources"]["requests"]


@pytest.mark.parametrize(("workload", "one"), CONTAINERS)
def test_what_a_container_mounts_is_there(workload: Any, one: Any) -> None:
    volumes = {volume["name"]: volume for volume in pod(workload)["volumes"]}
    for mount in one.get("volumeMounts", []):
        volume = volumes[mount["name"]]
        if "persistentVolumeClaim" in volume:
            named("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
        if "configMap" in volume:
            named("ConfigMap", volume["configMap"]["name"])


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda found: found["metadata"]["name"])
def test_pods_are_found(workload: Any) -> None:
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert workload["spec"]["selector"]["matchLabels"].items() <= labels.items()
    for service in (found for found in OBJECTS if found["kind"] == "Service"):
        if service["spec"]["selector"].items() <= labels.items():
            offered = {p["name"] for one in containers(workload) for p in one["ports"]}
            assert {port["name"] for port in service["spec"]["ports"]} <= offered


def test_ours_are_the_images_of_the_dockerfile() -> None:
    ours = {one["image"] for workload in WORKLOADS for one in containers(workload) if ":" not in one["image"]}
    assert ours == {image["name"] for image in KUSTOMIZATION["images"]}
    assert ours <= {image_name(target) for target in IMAGES}
    assert GPU["images"][0]["newName"] == image_name("worker-gpu")


def test_others_are_pinned() -> None:
    others = {one["image"] for workload in WORKLOADS for one in containers(workload)} - {
        image["name"] for image in KUSTOMIZATION["images"]
    }
    assert len(others) == 2
    assert all(re.search(r":\d+\.\d+\.\d+", image) for image in others)


def test_the_service_names_the_sidecar_as_workers() -> None:
    one, workers = container("expansion-service", "service"), container("flink-taskmanager", "python-workers")
    assert one["command"] == ["beam-ensembles", "serve"]
    flags = settings.settings_of(parsed(settings.add_arguments, [*one["args"][:-1]]))
    assert (flags.environment_type, flags.environment_config) == ("EXTERNAL", "localhost:50000")
    assert flags.port == one["ports"][0]["containerPort"] == one["readinessProbe"]["grpc"]["port"]
    assert flags.port == named("Service", "expansion-service")["spec"]["ports"][0]["port"]
    pool_flags = parsed(command.add_arguments, workers["args"])
    assert workers["command"] == ["beam-ensembles", "workers"]
    assert pool_flags.port == workers["ports"][0]["containerPort"] == workers["livenessProbe"]["grpc"]["port"]
    assert flags.environment_config == f"localhost:{pool_flags.port}"


def test_the_workers_serve_the_user_of_the_task_manager() -> None:
    workers, manager = (container("flink-taskmanager", name) for name in ("python-workers", "taskmanager"))
    users = access.access_of(parsed(command.add_arguments, workers["args"])).users
    assert users == (manager["securityContext"]["runAsUser"],)


def test_a_local_path_of_the_service_is_one_of_the_workers() -> None:
    one, workers = container("expansion-service", "service"), container("flink-taskmanager", "python-workers")
    assert "--shared-files" in one["args"]
    (models,) = [mount for mount in one["volumeMounts"] if mount["name"] == "models"]
    assert models in workers["volumeMounts"]
    assert one["args"][-1] == f"--trust={models['mountPath']}"


def test_a_task_manager_that_hangs_on_a_lost_worker_is_started_again() -> None:
    workers, manager = (container("flink-taskmanager", name) for name in ("python-workers", "taskmanager"))
    flags = parsed(command.add_arguments, workers["args"])
    assert flags.when_a_worker_dies == command.STOP_RUNNER
    (outlives,) = (
        mount for mount in workers["volumeMounts"] if flags.state.startswith(f"{mount['mountPath']}/")
    )
    volumes = {volume["name"]: volume for volume in pod(named("Deployment", "flink-taskmanager"))["volumes"]}
    assert volumes[outlives["name"]] == {"name": outlives["name"], "emptyDir": {}}
    assert manager["livenessProbe"]["grpc"] == {"port": flags.port, "service": "runner"}
    flink = yaml.safe_load(named("ConfigMap", "flink-configuration")["data"]["config.yaml"])
    assert flink["restart-strategy"]["type"] == "fixed-delay"


def test_flinks_parts_find_each_other() -> None:
    flink = yaml.safe_load(named("ConfigMap", "flink-configuration")["data"]["config.yaml"])
    manager = named("Service", flink["jobmanager"]["rpc"]["address"])
    offered = {port["name"]: port["port"] for port in manager["spec"]["ports"]}
    assert offered == {
        "rpc": flink["jobmanager"]["rpc"]["port"],
        "blob": flink["blob"]["server"]["port"],
        "rest": flink["rest"]["port"],
    }
    server = container("job-server", "job-server")
    flags = dict(flag.removeprefix("--").split("=") for flag in server["args"])
    assert flags["flink-master"] == f"{manager['metadata']['name']}:{flink['rest']['port']}"
    assert flags["job-host"] == named("Service", "job-server")["metadata"]["name"]
    assert flags["job-host"] == pod(named("Deployment", "job-server"))["hostname"]
    ports = {port["name"]: str(port["port"]) for port in named("Service", "job-server")["spec"]["ports"]}
    assert ports == {"jobs": flags["job-port"], "artifacts": flags["artifact-port"]}


def test_task_managers_read_the_artifacts_that_the_job_server_writes() -> None:
    server, manager = container("job-server", "job-server"), container("flink-taskmanager", "taskmanager")
    (path,) = [mount["mountPath"] for mount in server["volumeMounts"] if mount["name"] == "artifacts"]
    assert f"--artifacts-dir={path}" in server["args"]
    assert {"name": "artifacts", "mountPath": path} in manager["volumeMounts"]


def test_the_gpu_is_given_to_the_workers() -> None:
    """The base must not hold what is built on it: kustomize calls that a cycle."""
    (base,) = GPU["resources"]
    assert (GPU_FOLDER / base).resolve() == FOLDER
    assert not GPU_FOLDER.is_relative_to(FOLDER)
    patch = yaml.safe_load(GPU["patches"][0]["patch"])
    workload = named("Deployment", patch["metadata"]["name"])
    (patched,) = pod(patch)["initContainers"]
    assert patched["name"] in {one["name"] for one in pod(workload)["initContainers"]}
    assert patched["resources"]["limits"]["nvidia.com/gpu"] == 1
