"""Learns y = 5x twice, the second time for longer, and writes numbers to multiply.

The weights are ``models/line-1.pt``, after a few steps, and ``models/line-2.pt``, which is newer and right.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from times_five import LinearRegression  # type: ignore[import-not-found]

HERE = Path(__file__).resolve().parent
ROWS = Path("build", "examples", "times_five", "rows.csv")
NUMBERS = 200
STEPS = {"line-1.pt": 2, "line-2.pt": 1000}


def learned(steps: int) -> torch.nn.Module:
    """Returns a model that has seen the numbers from 0 to 4 so many times."""
    torch.manual_seed(5)
    model: torch.nn.Module = LinearRegression(input_dim=1, output_dim=1)
    x = torch.linspace(0, 4, 50).reshape(-1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), 5 * x).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model


def main() -> None:
    """Trains, saves the weights, and writes the numbers as CSV and, for Beam YAML, as Parquet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--models", type=Path, default=HERE / "models", help="folder of the models (%(default)s)"
    )
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the numbers (%(default)s)")
    flags = parser.parse_args()

    flags.models.mkdir(parents=True, exist_ok=True)
    for name, steps in STEPS.items():
        model = learned(steps)
        torch.save(model.state_dict(), flags.models / name)
        print(f"{name} says that 5 x 7 is {model(torch.tensor([[7.0]])).item():.4f}")

    numbers = {"id": np.arange(NUMBERS), "x": np.arange(NUMBERS, dtype=np.float32) / 4}
    flags.rows.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{id_},{id_ / 4}\n" for id_ in range(NUMBERS))
    flags.rows.write_text(f"id,x\n{lines}", encoding="utf-8")
    pq.write_table(pa.table(numbers), flags.rows.with_suffix(".parquet"))


if __name__ == "__main__":
    main()
