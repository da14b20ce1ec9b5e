"""Processes of this Python that run a module of this package, such as those that hold a model for workers."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import select
import signal
import subprocess
import threading
import time
from multiprocessing.connection import Connection
from typing import Final, TypeAlias

import threadpoolctl

from beam_ensembles.errors import EnsembleError
from beam_ensembles.processes.column_pipe import ColumnPipe
from beam_ensembles.processes.fork_client import HERE, ForkedProcess, own_environment, python

Process: TypeAlias = subprocess.Popen[bytes] | ForkedProcess

_STANDARD_ERROR: Final = 2
"""Where a process writes that may go on longer than this one: whoever reads our output is not to wait for it."""

_CORES_VARIABLE: Final = "BEAM_ENSEMBLES_CORES"
"""Names the environment variable that tells a process that this one starts how many cores it is to use."""
_THREAD_VARIABLES: Final = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
"""Those by which PyTorch, scikit-learn, XGBoost and TensorFlow are told so. onnxruntime has none."""
_BLAS_VARIABLE: Final = "OPENBLAS_NUM_THREADS"
"""Sets it for numpy's linear algebra alone; takes precedence over the others."""
_GRACE_SECONDS: Final = 2.0
"""How long a process may go on when nobody waits for its answers any more."""


def start(
    module: str, *words: str, own_session: bool = False, cores: int | None = None
) -> tuple[Process, ColumnPipe]:
    """Starts a module, with a pipe to it: forked, where this process was.

    What multiprocessing starts would import the user's main script, and run it once more where it lacks
    ``if __name__ == "__main__"``.

    Args:
        module: Its name; the number of its end of the pipe is its first argument (``pipe_of``).
        words: Its other arguments.
        own_session: Whether it may go on when this process ends, also where a signal to its whole group ends it.
            Such a process is for several others, and uses all cores.
        cores: How many cores it is to use; None: as many as this process.

    Returns:
        The process and our end of the pipe.

    Raises:
        EnsembleError: The system cannot have another process.
    """
    try:
        return _started(module, words, own_session, cores)
    except OSError as error:
        raise EnsembleError(
            f"the system refuses to start another process: {error.strerror or error}"
        ) from error


def _started(
    module: str, words: tuple[str, ...], own_session: bool, cores: int | None
) -> tuple[Process, ColumnPipe]:
    pipe, theirs = multiprocessing.Pipe()
    with theirs, contextlib.ExitStack() as stack:
        stack.callback(pipe.close)
        env = _environment(None if own_session else cores or own_cores())
        fork_server = None if own_session else HERE.get()  # what is forked ends with the fork server
        process: Process | None = fork_server.start(module, words, env, theirs) if fork_server else None
        if process is None:
            descriptor = theirs.fileno()
            process = subprocess.Popen(  # noqa: S603 - this Python, with a module of this package
                [*python(), "-m", module, str(descriptor), *words],
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                stdout=_STANDARD_ERROR if own_session else None,
                env=env,
                start_new_session=own_session,
            )
        stack.pop_all()
    return process, ColumnPipe(pipe)


def pipe_of(descriptor: str) -> ColumnPipe:
    """Returns such a process's end of the pipe, whose number is its first argument.

    No process that a model starts holds it open: whoever waits at the other end learns of this process's end.
    """
    os.set_inheritable(int(descriptor), False)
    pipe = ColumnPipe(Connection(int(descriptor)))
    os.register_at_fork(after_in_child=pipe.close)
    return pipe


def end_with(pipe: ColumnPipe) -> None:
    """Ends this process soon after the other end of its pipe is gone, also where a model is busy or hangs."""
    threading.Thread(target=_end_with, args=(pipe.fileno(),), daemon=True, name="end").start()


def _end_with(descriptor: int) -> None:
    hang_up = select.poll()
    hang_up.register(descriptor, 0)  # which leaves what is always told: errors and a hang-up
    hang_up.poll()
    time.sleep(_GRACE_SECONDS)  # a process that is idle ends by itself
    os._exit(0)


def own_cores() -> int | None:
    """Returns how many cores this process is to use; None: all that its operating system gives it."""
    said = os.environ.get(_CORES_VARIABLE, "")
    is_count = said.isascii() and said.isdecimal() and 0 < len(said) < 10 and int(said) > 0
    return int(said) if is_count else None


def _environment(cores: int | None) -> dict[str, str]:
    """Returns the environment of a process that is to use some cores; the user's own settings of threads hold."""
    found = own_environment()
    ours = found.pop(_CORES_VARIABLE, None)
    for name in _THREAD_VARIABLES:
        if ours is not None and found.get(name) == ours:
            del found[name]
        if cores is not None:
            found.setdefault(name, str(cores))
    return found if cores is None else {**found, _CORES_VARIABLE: str(cores)}


def limit_threads() -> None:
    """Sets the threads of numpy's linear algebra to what the environment says, where it is loaded already."""
    said = os.environ.get(_THREAD_VARIABLES[0], "")
    if said.isdecimal() and _BLAS_VARIABLE not in os.environ:  # it has read that itself
        threadpoolctl.threadpool_limits(int(said), "blas")


def end(process: Process, pipe: ColumnPipe) -> None:
    """Kills a process, and closes our end of the pipe to it."""
    pipe.close()
    process.kill()
    process.wait()


def let_go(process: Process, pipe: ColumnPipe) -> None:
    """End a process that nobody uses any more; Python may call this wherever it collects garbage.

    A forked process is not killed, since that needs a lock that the code which Python interrupts may hold: it ends by
    itself when its pipe is closed.
    """
    if isinstance(process, ForkedProcess):
        pipe.close()
    else:
        end(process, pipe)


def how_it_ended(process: Process) -> str:
    """Returns how a process ended, as the end of a sentence; nothing where it goes on for a second."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1)
    code = process.returncode
    if code is None:
        return ""
    if code == -signal.SIGKILL:
        return f" of signal {-code} (the system sends it when memory runs out)"
    return f" of signal {-code}" if code < 0 else f" with exit code {code}"
