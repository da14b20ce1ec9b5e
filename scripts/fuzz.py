"""``make fuzz``: repeats the attacks of tests/security with other seeds, for as long as it is told.

Each round is a run of pytest with a seed of its own. What fails is kept: its output in ``build/fuzz/SEED.log``, the
smallest input that hypothesis found in ``build/fuzz/examples``, and it is tried again first in the next run.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

_KEPT: Final = Path("build/fuzz")


def main() -> int:
    """Returns 0 where nothing failed, 1 where something did."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to go on (%(default)s)")
    parser.add_argument("--examples", type=int, default=1000, help="attacks a test and round (%(default)s)")
    parser.add_argument("--seed", type=int, help="run one round with this seed: that of a log that was kept")
    parser.add_argument("--only", default="", metavar="WORDS", help="which tests, as pytest's -k takes them")
    args = parser.parse_args()
    _KEPT.mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + args.seconds
    rounds = failed = 0
    while rounds == 0 or (args.seed is None and time.monotonic() < ends):
        seed = args.seed if args.seed is not None else random.SystemRandom().randrange(2**32)
        passed = _round(seed, args.examples, args.only)
        rounds, failed = rounds + 1, failed + (not passed)
        left = max(0, round(ends - time.monotonic()))
        what = "nothing failed" if passed else f"FAILED: {_KEPT / f'{seed}.log'}"
        print(f"round {rounds}, seed {seed}: {what}; {left} s left", flush=True)
    print(f"{rounds} rounds of {args.examples} attacks a test, {failed} failed")
    return 1 if failed else 0


def _round(seed: int, examples: int, only: str) -> bool:
    log = _KEPT / f"{seed}.log"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "tests/security",
        "-m",
        "fuzz",
        "-q",
        f"--hypothesis-seed={seed}",
    ]
    environment = {**os.environ, "FUZZ_EXAMPLES": str(examples), "HYPOTHESIS_PROFILE": "fuzz"}
    with log.open("wb") as file:
        options = ["--timeout=3600", *(["-k", only] if only else [])]
        code = subprocess.run(
            [*command, *options], env=environment, stdout=file, stderr=file, check=False
        ).returncode
    if code == 0:
        log.unlink()
    return code == 0


if __name__ == "__main__":
    sys.exit(main())
