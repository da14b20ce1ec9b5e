"""Compares what tickets cost and how many are sorted right: the classifier alone, the ensemble, all of them read.

    python examples/triage/costs.py --server http://127.0.0.1:8000/v1

The three differ in the parameter ``cut`` only: no row is below 0, and each one below 1.01.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from summary import read, share  # type: ignore[import-not-found]

HERE = Path(__file__).resolve().parent
ROWS = Path("build", "examples", "triage", "rows.jsonl")
CUTS: Mapping[str, str | None] = {"classifier alone": "0", "ensemble": None, "all tickets read": "1.01"}
"""The cut-off of each; None: that of the file."""
COUNTED = ("calls", "tokens_in", "tokens_out")


class Cost(NamedTuple):
    """How good the answers are, and what they took.

    Attributes:
        right: For how many of the rows the category is right.
        counts: What the language model's nodes have counted, by name.
    """

    right: float
    counts: Mapping[str, int]


def cost(cut: str | None, rows: Path, parameters: Sequence[str]) -> Cost:
    """Sorts the tickets with a cut-off, by ``beam-ensembles run``."""
    output = rows.with_name("costs.jsonl")
    given = [*parameters, *([] if cut is None else [f"cut={cut}"])]
    command = [str(Path(sys.executable).with_name("beam-ensembles")), "run", str(HERE / "triage.yaml")]
    command += ["--input", str(rows), "--output", str(output), "--metrics", "--json"]
    command += [word for parameter in given for word in ("--parameter", parameter)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)  # noqa: S603  # of the caller's own words
    found = json.loads(done.stdout)
    right = share(read(output), read(rows.with_name("right.jsonl")), "category", "category")
    output.unlink()
    return Cost(right, {name: counted(found, name) for name in COUNTED})


def counted(found: Any, name: str) -> int:
    """Returns what all nodes have counted under a name."""
    (metrics,) = found["metrics"]
    return sum(node["usage"].get(name, 0) for node in metrics["nodes"])


def main() -> None:
    """Prints a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", required=True, help="the language model's server: http://HOST:PORT/v1")
    parser.add_argument("--model", default="reader", help="the model's name there (%(default)s)")
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the tickets (%(default)s)")
    flags = parser.parse_args()
    print(f"{'':<18}{'right':>8}{'calls':>8}{'tokens in':>12}{'tokens out':>12}")
    for name, cut in CUTS.items():
        found = cost(cut, flags.rows, [f"server={flags.server}", f"model={flags.model}"])
        calls, sent, received = (found.counts[one] for one in COUNTED)
        print(f"{name:<18}{found.right:>8.4f}{calls:>8}{sent:>12}{received:>12}")


if __name__ == "__main__":
    main()
