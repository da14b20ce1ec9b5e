"""Writes the images that the handler knows, others to score, and what a clerk typed for these."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = Path(__file__).resolve().parent
ROWS = Path("build", "examples", "own_handler", "rows.jsonl")
MISTYPED_EVERY = 20


def typed(id_: int, digit: int) -> int:
    """Returns what the clerk typed: sometimes the next digit."""
    return (digit + 1) % 10 if id_ % MISTYPED_EVERY == 0 else digit


def write(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Writes rows as JSON lines and, for Beam YAML, as Parquet."""
    table = list(rows)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in table), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(table), path.with_suffix(".parquet"))


def main() -> None:
    """Writes all files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--models", type=Path, default=HERE / "models", help="folder of what is known (%(default)s)"
    )
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the images to score (%(default)s)")
    flags = parser.parse_args()
    pixels, digits = load_digits(return_X_y=True)
    known, images, known_digits, image_digits = train_test_split(
        pixels, digits, test_size=0.3, stratify=digits, random_state=0
    )
    flags.models.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(flags.models / "known.npz", pixels=known, digits=known_digits)
    flags.rows.parent.mkdir(parents=True, exist_ok=True)
    write(flags.rows, ({"id": id_, "pixels": image.tolist()} for id_, image in enumerate(images)))
    by_hand = ({"id": id_, "typed": typed(id_, int(digit))} for id_, digit in enumerate(image_digits))
    write(flags.rows.with_name("typed.jsonl"), by_hand)
    print(f"{len(known)} known images, {len(images)} to score in {flags.rows}")


if __name__ == "__main__":
    main()
