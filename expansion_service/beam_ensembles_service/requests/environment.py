"""Where the workers of an expanded transform run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any, Final, cast

from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.transforms.environments import (
    DockerEnvironment,
    Environment,
    ExternalEnvironment,
    ProcessEnvironment,
    python_sdk_capabilities,
    python_sdk_docker_capabilities,
)

from beam_ensembles import __version__
from beam_ensembles_service.settings import Settings, UsageError

WORKER_IMAGE: Final = f"beam-ensembles-worker:{__version__}"
"""The workers' container image where none is named: this version of the package on Beam's Python image."""


@dataclasses.dataclass(frozen=True, slots=True)
class Workers:
    """The workers that expansions name.

    Attributes:
        environment: Beam's description of them.
        shared_files: Whether they see the service's own files, so that a local path means the same to them.
    """

    environment: Environment
    shared_files: bool

    def environment_with(self, artifacts: Iterable[beam_runner_api_pb2.ArtifactInformation]) -> Environment:
        """Returns the description of such workers that get files before they start."""
        described = self.environment.to_runner_api(None)  # type: ignore[arg-type]
        described.dependencies.extend(artifacts)
        found: Any = Environment.from_runner_api(described, None)  # type: ignore[arg-type]
        return cast(Environment, found)


def workers_of(settings: Settings, port: int) -> Workers:
    """Returns the workers that the flags ask for.

    The loopback worker pool is a plain EXTERNAL environment at an address that can be dialled: offered the
    choice, some runners would take a container.

    Args:
        settings: The service's flags.
        port: The port that the service, and with it the loopback worker pool, listens on.

    Raises:
        UsageError: An environment lacks its configuration.
    """
    if settings.serve_loopback_worker:
        return Workers(_external(f"127.0.0.1:{port}"), shared_files=True)
    environment = _ENVIRONMENTS[settings.environment_type](settings.environment_config)
    return Workers(environment, shared_files=settings.shared_files)


def _docker(image: str) -> Environment:
    return DockerEnvironment(
        container_image=image or WORKER_IMAGE, capabilities=python_sdk_docker_capabilities()
    )


def _external(address: str) -> Environment:
    if not address:
        raise UsageError("--environment-type EXTERNAL needs --environment-config HOST:PORT of a worker pool")
    return ExternalEnvironment(address, capabilities=python_sdk_capabilities())


def _process(config: str) -> Environment:
    if not config:
        raise UsageError("--environment-type PROCESS needs --environment-config COMMAND")
    if not config.startswith("{"):
        return ProcessEnvironment(config, capabilities=python_sdk_capabilities())
    try:
        fields = json.loads(config)
        return ProcessEnvironment(
            fields["command"], env=fields.get("env"), capabilities=python_sdk_capabilities()
        )
    except (ValueError, KeyError, TypeError) as exc:
        example = '{"command": "/opt/boot", "env": {"NAME": "value"}}'
        raise UsageError(
            f"--environment-config of PROCESS is a command, or JSON such as '{example}'"
        ) from exc


_ENVIRONMENTS: Final = {"DOCKER": _docker, "EXTERNAL": _external, "PROCESS": _process}
