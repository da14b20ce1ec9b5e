"""A real PostgreSQL on this machine: the binaries are those of the package pgserver."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator

from tests.support.patience import SECONDS
from tests.support.ports import free_ports

PASSWORD = "pass/w@rd"  # what a URL must quote
USER = "nobody"
"""Who runs the server where root runs the tests: PostgreSQL refuses root."""


def binaries() -> pathlib.Path:
    """Returns the folder of the programs; the package itself is not imported, since it changes the machine."""
    found = importlib.util.find_spec("pgserver")
    if found is None or found.origin is None:
        raise RuntimeError("pgserver is not installed: it is among what 'make setup' installs")
    return pathlib.Path(found.origin).parent / "pginstall" / "bin"


class Postgres:
    """A server that can be killed and started again.

    Args:
        folder: An empty folder for its data, which ``USER`` can reach.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._data = folder / "data"
        (self.port,) = free_ports(1)
        is_root = os.geteuid() == 0
        self._user = USER if is_root else None
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        folder.chmod(0o777)
        self._run(
            "initdb", "-U", "tester", "--auth=scram-sha-256", f"--pwfile={password}", "--no-sync", "--encoding=UTF8",
        )  # fmt: skip

    def url(self, password: str = "pass%2Fw%40rd") -> str:
        """Returns the address of its database."""
        return f"postgresql+psycopg://tester:{password}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        options = f"-p {self.port} -h 127.0.0.1 -k {self._data} -F"
        self._run("pg_ctl", "-w", "-o", options, "-l", str(self._data / "log"), "start")

    def kill(self) -> None:
        """Ends it at once; who is connected sees the connection break."""
        self._run("pg_ctl", "-m", "immediate", "stop")

    def execute(self, *statements: str) -> None:
        """Runs statements."""
        import psycopg

        address = f"host=127.0.0.1 port={self.port} user=tester dbname=postgres"
        with psycopg.connect(address, password=PASSWORD, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def _run(self, program: str, *arguments: str) -> None:
        # Into a file: a server that lives on would keep a pipe open.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                [str(binaries() / program), "-D", str(self._data), *arguments],
                stdout=said,
                stderr=said,
                user=self._user,
                check=False,
                timeout=SECONDS,
                env={**os.environ, "LC_ALL": "C"},
                cwd="/",
            )
            said.seek(0)
            assert done.returncode == 0, said.read().decode()


@contextlib.contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Runs a server."""
    with tempfile.TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        for above in folder.parents:  # so that the server's user gets through
            if above.stat().st_mode & 0o011 != 0o011:
                above.chmod(above.stat().st_mode | 0o011)
        server = Postgres(folder)
        server.start()
        try:
            yield server
        finally:
            with contextlib.suppress(AssertionError):  # a test may have ended it
                server.kill()
