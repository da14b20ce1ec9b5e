"""``make fuzz``: repeats the attacks of tests/security with other seeds, for as long as it is told.

Each round runs all attacks with a seed of its own, in an order of its own. A round that is left unfinished when the
time is over still counts with what it has done. What fails is kept below build/fuzz:

  SEED.log    what pytest said, with the smallest input that fails
  examples    that input; it is tried first in all later runs, also without its seed

Whoever reads the output may close it, as head does: that ends it after the round.

exit code: 0 nothing failed, 1 something did, 2 the call is wrong, 130 interrupted by Ctrl-C
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from scripts.layout import BUILD, ROOT, relative
from scripts.processes import READY_SECONDS

KEPT: Final = BUILD / "fuzz"
TESTS: Final = ROOT / "tests" / "security"
_COUNT: Final = re.compile(r"^ *- (\d+) passing, (\d+) failing, and \d+ invalid", re.MULTILINE)
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_NO_TESTS: Final = 5
"""Exit code of pytest."""
_CANNOT_START: Final = 2
"""Exit code of pytest where a module of tests cannot be imported: none of the others is run."""
_WRONG_CALL: Final = 2
_INTERRUPTED: Final = 130
"""How long an attack in work may take to end when the time is over."""


@dataclasses.dataclass(frozen=True, slots=True)
class Round:
    """What came of a round.

    Attributes:
        seed: Its seed.
        attacks: How many attacks were made.
        failed: The tests that failed.
        code: Exit code of pytest; None where it was ended when the time was over.
    """

    seed: int
    attacks: int
    failed: tuple[str, ...]
    code: int | None

    @property
    def log(self) -> Path:
        """What pytest said."""
        return KEPT / f"{self.seed}.log"

    @property
    def went_well(self) -> bool:
        """Whether nothing failed."""
        return not self.failed and self.code in (0, None)


def main(arguments: list[str] | None = None) -> int:
    """Attacks; returns the exit code."""
    args = _parser().parse_args(arguments)
    ends = time.monotonic() + args.seconds
    rounds: list[Round] = []
    try:
        while not rounds or (args.seed is None and time.monotonic() < ends):
            seed = random.SystemRandom().randrange(2**32) if args.seed is None else args.seed
            found = run_round(seed, args.examples, args.only, None if args.seed is not None else ends)
            if found.code == _NO_TESTS:
                print(
                    f"no attack has '{args.only}' in its name"
                    if args.only
                    else f"no attacks in {relative(TESTS)}"
                )
                return _WRONG_CALL
            rounds.append(found)
            _say(found, len(rounds), args)
            if found.code == _CANNOT_START:
                break
        return 1 if _sum_up(rounds) else 0
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        return 1 if _sum_up(rounds) else _INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python fails again when it exits
        return 1 if _failed(rounds) else 0


def run_round(seed: int, examples: int, only: str, ends: float | None) -> Round:
    """Runs all attacks once.

    Args:
        seed: What they are drawn by.
        examples: How many attacks each test makes.
        only: Words of the names of those that are run, as pytest's ``-k`` takes them; empty: all.
        ends: When it is ended at the latest, on the monotonic clock.

    Raises:
        KeyboardInterrupt: Ctrl-C; the attacks have ended.
    """
    KEPT.mkdir(parents=True, exist_ok=True)
    files = sorted(TESTS.glob("test_*.py"))
    # In another order each time: where the time is too short for all, all get their turn.
    random.Random(seed).shuffle(files)  # noqa: S311 - no secret
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-m",
        "fuzz",
        "-q",
        "--timeout=3600",
        "--hypothesis-show-statistics",
    ]
    command += [f"--hypothesis-seed={seed}", *(["-k", only] if only else []), *map(str, files)]
    env = {**os.environ, "FUZZ_EXAMPLES": str(examples), "HYPOTHESIS_PROFILE": "fuzz"}
    log = KEPT / f"{seed}.log"
    with log.open("wb") as out:
        code = _run(command, env, out.fileno(), ends)
    said = log.read_text(encoding="utf-8", errors="replace")
    attacks = sum(int(passed) + int(failed) for passed, failed in _COUNT.findall(said))
    found = Round(seed, attacks, tuple(dict.fromkeys(_FAILED.findall(said))), code)
    if found.went_well or code == _NO_TESTS:
        log.unlink()
    return found


def _run(command: list[str], env: dict[str, str], out: int, ends: float | None) -> int | None:
    """Runs pytest and gives its exit code; None where the time was over first."""
    # A session of its own: Ctrl-C reaches it once, from here.
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=out, stderr=out, start_new_session=True
    ) as process:
        try:
            return process.wait(None if ends is None else max(0.0, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None if _end(process) else process.returncode
        except KeyboardInterrupt:
            _end(process)
            raise


def _end(process: subprocess.Popen[bytes]) -> bool:
    """Ends pytest; returns whether it ended when it was asked to."""
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(READY_SECONDS)
        return True
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return False


def _say(found: Round, number: int, args: argparse.Namespace) -> None:
    what = "nothing failed" if found.went_well else f"FAILED, see {relative(found.log)}"
    unfinished = ", unfinished" if found.code is None else ""
    print(f"round {number}, seed {found.seed}: {found.attacks:,} attacks{unfinished}, {what}", flush=True)
    for test in found.failed:
        print(f"  {test}")
    if not found.went_well:
        only = f" --only {args.only!r}" if args.only else ""
        print(
            f"  again: python -m scripts.fuzz --seed {found.seed} --examples {args.examples}{only}",
            flush=True,
        )


def _sum_up(rounds: list[Round]) -> int:
    failed = _failed(rounds)
    attacks = sum(found.attacks for found in rounds)
    print(f"{attacks:,} attacks in {len(rounds)} rounds, {failed} of them with failures", flush=True)
    return failed


def _failed(rounds: list[Round]) -> int:
    return sum(not found.went_well for found in rounds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--seconds", type=float, default=600.0, help="how long to go on (default: %(default)s)"
    )
    parser.add_argument(
        "--examples", type=int, default=1000, help="attacks of each test and round (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, help="run one round, whole, with the seed of a round that failed")
    parser.add_argument("--only", default="", metavar="WORDS", help="which tests, as pytest's -k takes them")
    return parser


if __name__ == "__main__":
    sys.exit(main())
