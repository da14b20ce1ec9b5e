"""What a pool of workers keeps in a folder: which workers it has, for the pool that is started after it has died.

A pool that dies takes its workers along, and nobody is left to see to a runner that hangs on them. The next pool in the
same folder finds them there, and treats them as workers that died just now.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import threading
from pathlib import Path
from typing import Final

from beam_ensembles.tables.whole_file import whole_file
from beam_ensembles_service.callers.listeners import Runner, identity, is_running, process_on
from beam_ensembles_service.workers.pool import LostWorker, RunningWorker

_LOGGER: Final = logging.getLogger(__name__)
WORKERS: Final = "workers.json"
RUNNER_HANGS: Final = "runner-hangs"
"""A file that is there while a runner hangs on a worker that is gone: for whoever can restart that runner."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Noted:
    """A worker of the pool.

    Attributes:
        worker_id: The runner's name for it.
        control: ``host:port`` where its runner waits for workers.
        runner: Which process that is, so that no other one is taken for it later; None where it cannot be seen.
        process: Which process it is.
    """

    worker_id: str
    control: str
    runner: str | None
    process: str | None


class PoolState:
    """The folder of one pool.

    Args:
        folder: One that is there, and no other pool's.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._lock = threading.Lock()
        self._noted: list[_Noted] = []

    def left(self) -> tuple[LostWorker, ...]:
        """Returns the workers of the pool before this one whose runner is still there; they stay noted."""
        self.hangs(False)
        noted = self._read()
        with self._lock:
            self._noted = [one for one in noted if one.runner == _runner(one.control)]
            self._write()
            how = "with the pool that had started it"
            return tuple(
                LostWorker(one.worker_id, one.control, Runner(one.runner), how) for one in self._noted
            )

    def lives(self, worker: RunningWorker) -> bool:
        """Whether a worker of the pool before this one has outlived it."""
        with self._lock:
            processes = [one.process for one in self._noted if _same(one, worker)]
        return any(one is not None and is_running(one) for one in processes)

    def started(self, worker: RunningWorker, pid: int) -> None:
        """Notes a worker and its process, where its runner is known."""
        if worker.runner is None:
            return
        noted = _Noted(worker.worker_id, worker.control, worker.runner.process, identity(pid))
        with self._lock:
            self._noted.append(noted)
            self._write()

    def ended(self, worker: RunningWorker) -> None:
        """Forgets a worker that nobody waits for."""
        with self._lock:
            for one in self._noted:
                if _same(one, worker):
                    self._noted.remove(one)
                    break
            self._write()

    def hangs(self, does: bool) -> None:
        """Records in a file whether a runner hangs."""
        mark = self._folder / RUNNER_HANGS
        if does:
            mark.touch()
        else:
            mark.unlink(missing_ok=True)

    def _read(self) -> list[_Noted]:
        try:
            with (self._folder / WORKERS).open(encoding="utf-8") as file:
                if os.fstat(file.fileno()).st_uid not in (0, os.geteuid()):
                    raise ValueError("it belongs to another user")
                return [_Noted(**one) for one in json.load(file)]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError) as error:
            _LOGGER.warning(
                "'%s' was not written by a pool, and is not read: %s", self._folder / WORKERS, error
            )
            return []

    def _write(self) -> None:
        """Replaces the file, so that one who dies meanwhile leaves a whole one."""
        text = json.dumps([dataclasses.asdict(one) for one in self._noted])
        with whole_file(str(self._folder / WORKERS)) as file:
            file.write(text.encode())


def _same(noted: _Noted, worker: RunningWorker) -> bool:
    return (noted.worker_id, noted.control) == (worker.worker_id, worker.control)


def _runner(control: str) -> str | None:
    pid = process_on(control)
    return None if pid is None else identity(pid)
