"""Containers of the project's images, on the engine that ``make test-image`` found or started."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from beam_ensembles_service.callers.listeners import is_listening
from scripts.containers.engine import Engine
from scripts.containers.tests import IMAGES_VARIABLE
from scripts.shell import log_path, run
from tests.support.patience import wait_until
from tests.support.ports import free_ports

HOST_NETWORK = ("--network=host",)
"""Runners on this machine, such as Prism, name their own addresses as ``localhost``."""


def engine_of_tests() -> Engine:
    """Returns the engine, or skips the test where there are no images."""
    where = os.environ.get(IMAGES_VARIABLE)
    if where is None:
        pytest.skip("make test-image builds the images, and runs this")
    return Engine(dict(os.environ), None if where == "-" else Path(where))


@dataclasses.dataclass(frozen=True)
class Container:
    """A container that runs.

    Attributes:
        engine: Where.
        id: Its id.
    """

    engine: Engine
    id: str

    def run(self, *words: str) -> str | None:
        """Runs a program in it; gives what it prints, or None where it fails."""
        return self.engine.ask("exec", self.id, *words)

    @property
    def log(self) -> str:
        """What it has printed so far."""
        return self.engine.ask("logs", self.id) or ""

    @property
    def health(self) -> str:
        """What its health check says."""
        return self.engine.ask("inspect", "--format", "{{.State.Health.Status}}", self.id) or ""

    def wait_until(self, *check: str) -> None:
        """Waits until a program in it ends with 0."""

        def is_ready() -> bool:
            running = self.engine.ask("inspect", "--format", "{{.State.Running}}", self.id)
            assert running == "true", f"the container has ended:\n{self.log}"
            return self.run(*check) is not None

        wait_until(is_ready, lambda: f"the container is ready:\n{self.log}")


def wait_for_address(address: str) -> None:
    """Waits until somebody takes connections at ``host:port``."""
    wait_until(lambda: is_listening(address), f"somebody listens at {address}")


@contextlib.contextmanager
def running(engine: Engine, flags: tuple[str, ...], image: str, *words: str) -> Iterator[Container]:
    """Runs a container for as long as the block lasts.

    Args:
        engine: Where.
        flags: Flags of ``docker run``.
        image: Of what.
        words: Its arguments.
    """
    started = engine.ask("run", "--detach", "--init", *flags, image, *words)
    assert started, f"{image} cannot be run"
    container = Container(engine, started.splitlines()[-1])
    try:
        yield container
    finally:
        log_path(f"container-{image.partition(':')[0]}").write_text(container.log, encoding="utf-8")
        engine.ask("rm", "--force", container.id)


@contextlib.contextmanager
def service(
    engine: Engine, image: str, folders: tuple[Path, ...], *words: str
) -> Iterator[tuple[Container, str]]:
    """Runs the service in a container that sees folders of this machine under their own names.

    Yields:
        It, and its address on this machine.
    """
    port = free_ports(1)[0]
    address = f"127.0.0.1:{port}"
    seen = tuple(word for folder in folders for word in ("--volume", f"{folder}:{folder}:ro"))
    flags: tuple[str, ...] = ("--publish", f"{address}:8097")
    listen: tuple[str, ...] = ()
    if engine.network:
        flags, listen = (*engine.network, "--env", f"BEAM_ENSEMBLES_ADDR={address}"), ("--port", str(port))
    with running(engine, (*flags, *seen), image, *listen, "--insecure", *words) as container:
        container.wait_until("beam-ensembles", "health")
        yield container, address


@contextlib.contextmanager
def worker_pool(engine: Engine, image: str, folders: tuple[Path, ...]) -> Iterator[str]:
    """Runs a pool of workers in a container of a worker image.

    Yields:
        Its address, on this machine; it takes connections.
    """
    port = str(free_ports(1)[0])
    seen = tuple(word for folder in folders for word in ("--volume", f"{folder}:{folder}:ro"))
    pool = ("workers", "--boot", "/opt/apache/beam/boot", "--port", port)
    with running(engine, (*HOST_NETWORK, *seen, "--entrypoint", "beam-ensembles"), image, *pool):
        wait_for_address(f"localhost:{port}")
        yield f"localhost:{port}"


def derived(engine: Engine, name: str, folder: Path, *lines: str) -> str:
    """Builds an image of a few lines; gives its name.

    Args:
        engine: Where.
        name: Its name.
        folder: What it is made of.
        lines: Those of its Dockerfile.
    """
    (folder / "Dockerfile").write_text("\n".join((*lines, "")), encoding="utf-8")
    run(
        ["docker", "build", *engine.network, "--tag", name, folder],
        log=log_path(f"image-{name}"),
        env=engine.env,
    )
    return name
