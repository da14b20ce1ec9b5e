"""What the service is told when it is started: its flags, for the command line and for ``python -m``.

Cheap to import: the command line reads this for its help text.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import math
import os
import re
from typing import Final

from beam_ensembles.files.ensemble_files import LIBRARY_CODE, Files, local_path
from beam_ensembles.files.uris import AmbiguousUri, canonical, is_host_pattern
from beam_ensembles.logs import LOG_FORMATS, LOG_LEVELS, LOG_ROWS_VARIABLE
from beam_ensembles.processes.process_count import HELP, PROCESSES_VARIABLE, wrong_count
from beam_ensembles_service.callers.flags import Access, access_of, add_access_arguments, check_host
from beam_ensembles_service.usage import UsageError
from beam_ensembles_service.workers.flags import MAX_WORKERS, add_worker_flags, check_workers

__all__ = ["Settings", "UsageError", "add_arguments", "settings_of"]

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8097
ENVIRONMENT_TYPES: Final = ("DOCKER", "EXTERNAL", "PROCESS")

DESCRIPTION: Final = """\
Serve ensembles to Beam pipelines of any language: a gRPC expansion service.

When the service is ready it prints one line, 'beam-ensembles VERSION listening on HOST:PORT', and nothing more on
standard output. Its log goes to standard error. The exit code is 0 after SIGTERM or SIGINT, 1 if the service cannot
run (its port is in use), 2 after wrong usage.

A runner on this machine:   beam-ensembles serve --serve-loopback-worker
A cluster with containers:  beam-ensembles serve --environment-type DOCKER --environment-config IMAGE
"""

_IGNORED: Final = (
    "--fully_qualified_name_glob",
    "--pickle_library",
    "--requirements_file",
    "--requirements_cache",
    "--sdk_location",
    "--experiments",
)
"""Flags that Beam's own starters (Java's PythonService, Go's autopython) pass, which mean nothing here."""

_LEAST_MESSAGE: Final = 64 << 10
_LARGEST_MESSAGE: Final = (1 << 31) - 1
_BUNDLE: Final = re.compile(r"bundle:[0-9a-f]{64}")


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What requests may use of a service.

    Attributes:
        max_requests: How many requests are handled at one time.
        request_seconds: How long a request may take, and how long it may wait before.
        max_message_bytes: How large the message of a request or an answer may be.
    """

    max_requests: int = 8
    request_seconds: float = 120.0
    max_message_bytes: int = 32 << 20

    def __post_init__(self) -> None:
        if self.max_requests < 1:
            raise UsageError(f"--max-requests must be at least 1, not {self.max_requests}")
        if not 0 < self.request_seconds < math.inf:
            raise UsageError(f"--request-seconds must be more than 0, not {self.request_seconds:g}")
        if not _LEAST_MESSAGE <= self.max_message_bytes <= _LARGEST_MESSAGE:
            text = f"--max-message-bytes must be from {_LEAST_MESSAGE} to {_LARGEST_MESSAGE}"
            raise UsageError(f"{text}, not {self.max_message_bytes}")


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """The flags of one service.

    Attributes:
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        serve_loopback_worker: Whether the service starts the workers itself, on this machine.
        environment_type: Where the workers run otherwise: one of ``ENVIRONMENT_TYPES``.
        environment_config: The container image, address or command of those workers.
        shared_files: Whether those workers see this machine's files.
        trust: Folders and URI prefixes whose joblib and pickle files may be loaded.
        allow_folder: Folders whose files ensembles may name if their format holds no code.
        allow_code: Patterns of the importable names that an ensemble may use, beside those of known libraries.
        allow_host: Hosts that workers may read models from and call.
        allow_secret: Patterns of the secrets that an ensemble may name.
        stop_with_stdin: Whether the service ends when its standard input does.
        log_level: One of ``LOG_LEVELS``.
        log_format: One of ``beam_ensembles.logs.LOG_FORMATS``.
        log_rows: Whether values of rows may be in the logs of the workers that the service starts.
        stage_processes: In how many processes the workers that the service starts run an ensemble; empty: not said.
        access: Who may call.
        worker_env: Patterns of the environment variables that the workers that the service starts get from it.
        max_workers: How many workers it starts at most.
        limits: What requests may use.
        ignored: Flags of Beam's starters that were given.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    serve_loopback_worker: bool = False
    environment_type: str = "DOCKER"
    environment_config: str = ""
    shared_files: bool = False
    trust: tuple[str, ...] = ()
    allow_folder: tuple[str, ...] = ()
    allow_code: tuple[str, ...] = ()
    allow_host: tuple[str, ...] = ()
    allow_secret: tuple[str, ...] = ()
    stop_with_stdin: bool = False
    log_level: str = "info"
    log_format: str = "text"
    log_rows: bool = False
    stage_processes: str = ""
    access: Access = dataclasses.field(default_factory=Access)
    worker_env: tuple[str, ...] = ()
    max_workers: int = MAX_WORKERS
    limits: Limits = Limits()
    ignored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise UsageError(f"--port must be from 0 to 65535, not {self.port}")
        for place in self.allow_secret:
            if not place.startswith(("env:", "file:/")):
                raise UsageError(f"--allow-secret takes env:NAME or file:/PATH, not '{place}'")
        for place in self.trust:
            if place.startswith("bundle:") and not _BUNDLE.fullmatch(place):
                text = "--trust takes bundle: and the 64 hexadecimal digits that 'beam-ensembles pack' prints"
                raise UsageError(f"{text}, not '{place}'")
            _check_folder_or_uri("--trust", place)
        for place in self.allow_folder:
            if local_path(place) is None:
                raise UsageError(f"--allow-folder takes a folder of this machine, not '{place}'")
            _check_folder_or_uri("--allow-folder", place)
        for host in self.allow_host:
            if not is_host_pattern(host):
                text = (
                    "--allow-host takes a host (models.example.com, *.example.com, *), or one with its scheme"
                )
                raise UsageError(f"{text} (http://localhost:8080, gs://bucket), not '{host}'")
        if self.stage_processes and (wrong := wrong_count(self.stage_processes)):
            raise UsageError(f"--stage-processes {wrong}")
        if self.serve_loopback_worker and self.environment_config:
            raise UsageError("--serve-loopback-worker and --environment-config exclude each other")
        check_workers(self.max_workers)
        check_host(self.host, self.access, has_pool=self.serve_loopback_worker)

    @property
    def files(self) -> Files:
        """What an ensemble may use of this and other machines."""
        code = (*LIBRARY_CODE, *self.allow_code)
        return Files(
            trusted=self.trust,
            code=code,
            hosts=self.allow_host,
            secrets=self.allow_secret,
            readable=self.allow_folder,
        )

    @property
    def passed_variables(self) -> tuple[str, ...]:
        """Patterns of the environment variables that workers get, beside those that all get."""
        secrets = (place.removeprefix("env:") for place in self.allow_secret if place.startswith("env:"))
        return (*secrets, *self.worker_env)

    @property
    def logging_level(self) -> int:
        """The level as ``logging`` counts it."""
        return logging.getLevelNamesMapping()[self.log_level.upper()]


def _check_folder_or_uri(flag: str, place: str) -> None:
    path = local_path(place)
    if path is not None and not os.path.isdir(path):
        raise UsageError(f"{flag}: there is no folder '{path}'")
    if path is None and not place.startswith("bundle:"):
        try:
            canonical(place)
        except AmbiguousUri as exc:
            raise UsageError(f"{flag}: {exc}") from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the service's flags to a parser."""
    parser.add_argument("--host", default=DEFAULT_HOST, help="listen on this address (default: %(default)s)")
    parser.add_argument(
        "-p",
        "--port",
        type=int,
        default=DEFAULT_PORT,
        help="listen on this port; 0 takes a free one (default: %(default)s)",
    )
    parser.add_argument(
        "--stop-with-stdin",
        action="store_true",
        help="end when standard input ends, for a program that starts the service and holds the pipe",
    )
    _add_ensemble_arguments(
        parser.add_argument_group(
            "ensembles", "what they may read, run and call; each flag may be repeated (default of each: none)"
        )
    )
    add_access_arguments(parser, token=True)
    _add_limit_arguments(parser.add_argument_group("limits", "what requests may use"))
    _add_worker_arguments(parser.add_argument_group("workers", "where the ensembles run"))
    _add_log_arguments(parser.add_argument_group("logs"))
    _add_flags_of_beam(parser)


def _add_ensemble_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="DIR_OR_URI_PREFIX",
        help="load any file under this folder or URI, including joblib and pickle files and the code of bundles; "
        "elsewhere a node must pin such a file by sha256; bundle:SHA256 trusts one bundle",
    )
    group.add_argument(
        "--allow-folder",
        action="append",
        default=_of_environment("BEAM_ENSEMBLES_ALLOW_FOLDER"),
        metavar="DIR",
        help="let ensembles name models under this folder whose format holds no code (ONNX, safetensors); folders of "
        "--trust need no such flag ($BEAM_ENSEMBLES_ALLOW_FOLDER adds more, separated by commas)",
    )
    group.add_argument(
        "--allow-host",
        action="append",
        default=_of_environment("BEAM_ENSEMBLES_ALLOW_HOST"),
        metavar="HOST",
        help="let ensembles read models from this host and call it: models.example.com, *.example.com; add the scheme "
        "for plain http (http://localhost:8080) and storage (gs://bucket, s3://team-*); * is every public host, "
        "but no storage ($BEAM_ENSEMBLES_ALLOW_HOST adds more, separated by commas)",
    )
    group.add_argument(
        "--allow-code",
        action="append",
        default=_of_environment("BEAM_ENSEMBLES_ALLOW_CODE"),
        metavar="PATTERN",
        help="let ensembles import these names (my_team.models.*), besides model classes of torch.nn, "
        "torchvision.models, keras.applications and transformers and Beam's own handlers; env:NAME lets them set an "
        "environment variable of workers ($BEAM_ENSEMBLES_ALLOW_CODE adds more, separated by commas)",
    )
    group.add_argument(
        "--allow-secret",
        action="append",
        default=_of_environment("BEAM_ENSEMBLES_ALLOW_SECRET"),
        metavar="PLACE",
        help="let ensembles send this secret of the workers to the servers that they call: env:NAME, file:/PATH; * "
        "matches any text ($BEAM_ENSEMBLES_ALLOW_SECRET adds more, separated by commas)",
    )


def _add_log_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--log-level",
        choices=LOG_LEVELS,
        default="info",
        help="log messages of this level and above (default: %(default)s)",
    )
    group.add_argument(
        "--log-format",
        choices=LOG_FORMATS,
        default="text",
        help="write each message as text, or as one JSON object per line, also in workers started here "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--log-rows",
        action="store_true",
        help="let values of rows into the logs of the workers started here, where error messages contain some "
        f"(workers elsewhere: set ${LOG_ROWS_VARIABLE}=1)",
    )


def _of_environment(variable: str) -> list[str]:
    """Returns what the environment of a service that a client starts allows."""
    return [part.strip() for part in os.environ.get(variable, "").split(",") if part.strip()]


def _add_limit_arguments(group: argparse._ArgumentGroup) -> None:
    default = Limits()
    group.add_argument(
        "--max-requests",
        type=int,
        default=default.max_requests,
        metavar="N",
        help="handle at most this many requests at one time; others wait (default: %(default)s)",
    )
    group.add_argument(
        "--request-seconds",
        type=float,
        default=default.request_seconds,
        metavar="S",
        help="end a request that takes longer, or waits longer for its turn (default: %(default)g s)",
    )
    group.add_argument(
        "--max-message-bytes",
        type=int,
        default=default.max_message_bytes,
        metavar="N",
        help="refuse larger requests, and send no larger answers (default: %(default)s, 32 MiB)",
    )


def _add_worker_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--serve-loopback-worker",
        action="store_true",
        help="start the workers here, one process each, for a runner on this machine (Prism, local Flink)",
    )
    group.add_argument("--stage-processes", default="", metavar="N", help=HELP)
    add_worker_flags(group)
    group.add_argument(
        "--environment-type",
        type=str.upper,
        choices=ENVIRONMENT_TYPES,
        help="have the runner start this kind of workers otherwise (default: DOCKER)",
    )
    group.add_argument(
        "--environment-config",
        default="",
        metavar="C",
        help="use this image (DOCKER), worker pool at HOST:PORT (EXTERNAL) or command (PROCESS)",
    )
    group.add_argument(
        "--shared-files",
        action="store_true",
        help="let ensembles name local paths, because those workers see this machine's files",
    )


def _add_flags_of_beam(parser: argparse.ArgumentParser) -> None:
    """Adds what Beam's own starters pass, unlisted: known ones as Beam spells them, and others."""
    hidden = argparse.SUPPRESS
    parser.add_argument("--serve_loopback_worker", action="store_true", default=hidden, help=hidden)
    parser.add_argument(
        "--environment_type", type=str.upper, choices=ENVIRONMENT_TYPES, default=hidden, help=hidden
    )
    parser.add_argument("--environment_config", default=hidden, help=hidden)
    for flag in _IGNORED:
        parser.add_argument(flag, help=hidden)


def settings_of(args: argparse.Namespace) -> Settings:
    """Returns the settings of parsed flags.

    Raises:
        UsageError: The flags contradict each other.
    """
    if args.serve_loopback_worker and args.environment_type is not None:
        raise UsageError("--serve-loopback-worker and --environment-type exclude each other")
    if args.stage_processes and not args.serve_loopback_worker:
        text = f"the workers that --serve-loopback-worker starts; to others ${PROCESSES_VARIABLE} says it"
        raise UsageError(f"--stage-processes is for {text}")
    given = [flag for flag in _IGNORED if getattr(args, flag.lstrip("-")) is not None]
    return Settings(
        host=args.host,
        port=args.port,
        serve_loopback_worker=args.serve_loopback_worker,
        environment_type=args.environment_type or "DOCKER",
        environment_config=args.environment_config,
        shared_files=args.shared_files,
        trust=tuple(args.trust),
        allow_folder=tuple(args.allow_folder),
        allow_code=tuple(args.allow_code),
        allow_host=tuple(args.allow_host),
        allow_secret=tuple(args.allow_secret),
        stop_with_stdin=args.stop_with_stdin,
        log_level=args.log_level,
        log_format=args.log_format,
        log_rows=args.log_rows,
        stage_processes=args.stage_processes or os.environ.get(PROCESSES_VARIABLE, ""),
        access=access_of(args),
        worker_env=tuple(args.worker_env),
        max_workers=args.max_workers,
        limits=Limits(args.max_requests, args.request_seconds, args.max_message_bytes),
        ignored=tuple(given),
    )
