"""A real Flink cluster for all tests of this folder, with a pool of Python workers and the service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scripts import answers, servers
from scripts.flink.cluster import Options, cluster
from scripts.flink.install import install
from scripts.flink.workers import worker_pool
from scripts.members import MODELS
from scripts.pipelines import PROGRAMS, Servers
from scripts.shell import log_path
from scripts.toolchains import java
from tests.support.flink import Flink, digits_in, score


@pytest.fixture(scope="session")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flink]:
    """A cluster with two task managers."""
    settings = {
        # So deep that the frame is seen which a task waits in for its worker.
        "cluster.thread-dump.stacktrace-max-depth": "50",
        # What is killed in one job may end several of its tasks each time.
        "restart-strategy.fixed-delay.attempts": "20",
    }
    jars, options = install(), Options(logs="flink-tests", settings=settings, java=java.SHORT_LIVED)
    log = log_path(f"{options.logs}-workers")
    folder, cache = (tmp_path_factory.mktemp(name) for name in ("flink", "workers"))
    with worker_pool(log, cache) as workers, cluster(jars, folder, options) as running:
        yield Flink(running, workers, log, cache)


@pytest.fixture(scope="session")
def on_flink(flink: Flink) -> Iterator[Servers]:
    """The cluster, its workers, and a service whose ensembles run in them."""
    with servers.service(MODELS, workers=flink.workers) as service:
        yield Servers(service, flink.cluster.job_server, flink.workers)


@pytest.fixture(scope="session")
def of_prism(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[answers.Answer]]:
    """What Prism answers about the digits, from Python; ``make demo`` compares the languages there."""
    example = digits_in(tmp_path_factory.mktemp("on-prism") / "digits")
    with servers.prism() as prism:
        yield score(PROGRAMS[0], example, Servers("", prism), "prism-digits")
