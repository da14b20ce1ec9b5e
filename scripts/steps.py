"""Steps that wait for one another and else run side by side, each with a line for its start and its end."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from scripts.program import say, step_line, styled
from scripts.shell import CommandFailed, Missing, allow_commands, stopped_together

HEARTBEAT_SECONDS = 20.0


@dataclasses.dataclass(frozen=True)
class Step:
    """One piece of work.

    Attributes:
        name: A word or two, unique.
        doing: What it does, for the line that announces it.
        work: Does it; gives a note on the result. Raises `Missing` or `CommandFailed`.
        after: Names of the steps that must have ended well first.
        behind: Names of the steps that must have ended first, well or not.
    """

    name: str
    doing: str
    work: Callable[[], str]
    after: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a step ended: at most one of the two reasons is set."""

    missing: str | None = None
    failed: str | None = None

    @property
    def well(self) -> bool:
        """Whether it did what it should."""
        return self.missing is None and self.failed is None


def run_steps(steps: Sequence[Step]) -> dict[str, Outcome]:
    """Runs all steps, listed in an order in which they could run one by one, as far as they can be run.

    Where this is left by an exception, such as that of Ctrl-C, the commands that they run are ended.
    """
    allow_commands()
    outcomes: dict[str, Future[Outcome]] = {}
    with ThreadPoolExecutor(max_workers=max(1, len(steps))) as pool, stopped_together():
        for step in steps:
            before, behind = ([outcomes[name] for name in names] for names in (step.after, step.behind))
            outcomes[step.name] = pool.submit(_after, before, behind, step)
        return {name: outcome.result() for name, outcome in outcomes.items()}


def _after(before: Sequence[Future[Outcome]], behind: Sequence[Future[Outcome]], step: Step) -> Outcome:
    wait(behind)
    for outcome in [future.result() for future in before]:
        if not outcome.well:
            return Outcome(missing=outcome.missing or f"needs a step that failed: {', '.join(step.after)}")
    return _run(step)


def _run(step: Step) -> Outcome:
    start = time.monotonic()
    step_line("..", "dim", step.name, step.doing)
    ended = threading.Event()
    threading.Thread(target=_heartbeat, args=(step, start, ended), daemon=True).start()
    try:
        note = step.work()
    except Missing as exc:
        step_line("--", "yellow", step.name, str(exc), time.monotonic() - start)
        return Outcome(missing=str(exc))
    except CommandFailed as exc:
        step_line("FAIL", "red", step.name, "", time.monotonic() - start)
        return Outcome(failed=str(exc))
    finally:
        ended.set()
    step_line("ok", "green", step.name, note, time.monotonic() - start)
    return Outcome()


def _heartbeat(step: Step, start: float, ended: threading.Event) -> None:
    while not ended.wait(HEARTBEAT_SECONDS):
        step_line("..", "dim", step.name, step.doing, time.monotonic() - start)


def show_failures(outcomes: dict[str, Outcome]) -> bool:
    """Prints why steps failed; gives whether any did."""
    failures = {name: outcome.failed for name, outcome in outcomes.items() if outcome.failed}
    for name, reason in failures.items():
        say(f"\n{styled(f'{name} failed:', 'red')} {reason}")
    return bool(failures)
