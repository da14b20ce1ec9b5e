"""A standalone Flink cluster: a job manager and task managers, each a process of its own, and Beam's job server.

All of it listens on this machine's loopback address only, on ports that were free.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.flink.install import Jars
from scripts.flink.rest import Rest
from scripts.processes import address, free_ports, running
from scripts.shell import Command, CommandFailed, log_path, tail
from scripts.toolchains import java

HOST = "localhost"
RESTART = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "1 s",
}
"""A batch job that fails is not run again unless Flink is told so."""
_JOB_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
_TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
_JOB_SERVER = "org.apache.beam.runners.flink.FlinkJobServerDriver"
_READY_SECONDS = 600.0
_PATIENT = {"pekko.ask.timeout": "2 min", "web.timeout": "120000", "heartbeat.timeout": "120000"}
"""A machine may have much else to do. A process that is dead is noticed by its connection, not by these."""
_REGISTERED = "Successful registration at resource manager"
_OPENED = (
    "java.lang", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.text", "java.time", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks", "sun.nio.ch",
)  # fmt: skip
JAVA_OPTIONS = (
    "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
    "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
)
"""Java 17 and newer let Flink look into these packages only when told so; Flink's own scripts do the same."""
_STARTS_SLOWLY = "-Dpekko.remote.classic.startup-timeout=300s"
"""Flink 1.19 sets another name from its options, so that what connects its processes has 10 seconds to start."""
_JAVA: Command = ["java", "-Xmx512m", _STARTS_SLOWLY, *JAVA_OPTIONS]
_MEMORY = {
    "taskmanager.cpu.cores": "1.0",
    "taskmanager.memory.framework.heap.size": "128m",
    "taskmanager.memory.framework.off-heap.size": "128m",
    "taskmanager.memory.task.heap.size": "256m",
    "taskmanager.memory.task.off-heap.size": "0m",
    "taskmanager.memory.network.min": "96m",
    "taskmanager.memory.network.max": "96m",
    "taskmanager.memory.managed.size": "128m",
    "taskmanager.memory.jvm-metaspace.size": "256m",
    "taskmanager.memory.jvm-overhead.min": "192m",
    "taskmanager.memory.jvm-overhead.max": "192m",
}
"""What Flink's scripts compute and hand over on the command line: without it a task manager does not start."""
LOGGING = """\
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = Console
appender.console.name = Console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss,SSS} %-5p %-60c %x - %m%n
"""
"""Flink's log, to standard output."""


@dataclasses.dataclass(frozen=True)
class Options:
    """How large a cluster is.

    Attributes:
        task_managers: How many there are at the start.
        slots: How many tasks one of them runs at once.
        settings: Flink's own, beside ours.
        java: Flags of all of its Javas, beside ours.
        logs: What the names of its logs begin with, so that two clusters of a checkout have logs of their own.
    """

    task_managers: int = 2
    slots: int = 2
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    java: tuple[str, ...] = ()
    logs: str = "flink"


@dataclasses.dataclass(frozen=True)
class Program:
    """A part of the cluster."""

    process: subprocess.Popen[bytes]
    log: Path


class Cluster:
    """A cluster that runs.

    Attributes:
        rest: Its REST interface.
        job_server: Address of Beam's job service, ``host:port``.
        task_managers: Those that were started, dead ones too until they are replaced.
    """

    def __init__(
        self, jars: Jars, folder: Path, options: Options, running_until: contextlib.ExitStack
    ) -> None:
        self._jars = jars
        self._folder = folder
        self._logs = options.logs
        self._java_flags = options.java
        self._running = running_until
        rpc, rest = free_ports(2)
        self.rest = Rest(f"http://{HOST}:{rest}")
        _configure(folder, _settings(options, folder, rpc, rest))
        self.task_managers: list[Program] = []
        self._started = 0
        self._job_manager = self._java("jobmanager", jars.flink, _JOB_MANAGER, "--configDir", folder)
        for _ in range(options.task_managers):
            self._start_task_manager()
        self._wait_for_task_managers()
        self.job_server = self._start_job_server()

    def replace_dead_task_managers(self) -> None:
        """Starts another one for each that has ended, as whoever runs a cluster does; waits until they take tasks."""
        dead = [program for program in self.task_managers if program.process.poll() is not None]
        for program in dead:
            self.task_managers.remove(program)
            self._start_task_manager()
        if dead:
            self._wait_for_task_managers()

    def _start_task_manager(self) -> None:
        memory: Command = [word for name, size in _MEMORY.items() for word in ("-D", f"{name}={size}")]
        self._started += 1
        name = f"taskmanager-{self._started}"
        words: Command = [_TASK_MANAGER, "--configDir", self._folder, *memory]
        self.task_managers.append(self._java(name, self._jars.flink, *words))

    def _wait_for_task_managers(self) -> None:
        """Waits until each says that it takes tasks; Flink's own count has the dead ones in it for a while."""
        deadline = time.monotonic() + _READY_SECONDS
        while not all(map(_registered, self.task_managers)):
            for program in (self._job_manager, *self.task_managers):
                if program.process.poll() is not None or time.monotonic() > deadline:
                    raise CommandFailed(f"Flink does not start; the end of its log:\n{tail(program.log)}")
            time.sleep(0.2)

    def _start_job_server(self) -> str:
        ports = [f"--job-host={HOST}", "--job-port=0", "--artifact-port=0", "--expansion-port=-1"]
        place = [f"--flink-master={self.rest.address}", f"--artifacts-dir={self._folder / 'artifacts'}"]
        server = self._java("jobserver", self._jars.job_server, _JOB_SERVER, *ports, *place)
        return address(server.process, re.compile(r"JobService started on (\S+:\d+)"), server.log)

    def _java(self, name: str, class_path: str, *words: str | Path) -> Program:
        logging = f"-Dlog4j.configurationFile=file:{self._folder / 'log4j.properties'}"
        command: Command = [*_JAVA, *self._java_flags, logging, "-cp", class_path, *words]
        log = log_path(f"{self._logs}-{name}")
        process = self._running.enter_context(running(command, log=log, env=java.environment()))
        return Program(process, log)


def _registered(program: Program) -> bool:
    return _REGISTERED in program.log.read_text(encoding="utf-8", errors="replace")


@contextlib.contextmanager
def cluster(jars: Jars, folder: Path, options: Options | None = None) -> Iterator[Cluster]:
    """Runs a cluster until the block ends; logs are in build/logs.

    Args:
        jars: What ``install`` gives.
        folder: An empty folder for its files.
        options: How large it is.

    Raises:
        CommandFailed: A part of it ended, or did not get ready in time.
    """
    with contextlib.ExitStack() as until_the_end:
        yield Cluster(jars, folder, options or Options(), until_the_end)


def _settings(options: Options, folder: Path, rpc: int, rest: int) -> dict[str, str]:
    hosts = ("jobmanager.rpc.address", "jobmanager.bind-host", "taskmanager.host", "taskmanager.bind-host")
    return {
        **dict.fromkeys((*hosts, "rest.address", "rest.bind-address"), HOST),
        "jobmanager.rpc.port": str(rpc),
        "rest.port": str(rest),
        "taskmanager.numberOfTaskSlots": str(options.slots),
        # Of 32 KiB each, a shuffle. 512 where nothing is said: a task manager this small has not as many.
        "taskmanager.network.sort-shuffle.min-buffers": "64",
        "io.tmp.dirs": str(folder / "tmp"),
        **_PATIENT,
        **RESTART,
        **options.settings,
    }


def _configure(folder: Path, settings: Mapping[str, str]) -> None:
    (folder / "tmp").mkdir()
    lines = [f"{name}: {value}\n" for name, value in settings.items()]
    (folder / "config.yaml").write_text("".join(lines), encoding="utf-8")
    (folder / "log4j.properties").write_text(LOGGING, encoding="utf-8")
