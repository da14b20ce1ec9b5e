"""Writes the images that the handler knows, ``known.npz``, and others to score, ``build/neighbours.jsonl``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build"


def main() -> None:
    """Writes both files."""
    pixels, digits = load_digits(return_X_y=True)
    known, held_out, known_digits, held_out_digits = train_test_split(
        pixels, digits, test_size=0.3, stratify=digits, random_state=0
    )
    np.savez_compressed(HERE / "known.npz", pixels=known, digits=known_digits)
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "neighbours.jsonl", "w", encoding="utf-8") as file:
        for image, digit in zip(held_out.tolist(), held_out_digits.tolist(), strict=True):
            file.write(json.dumps({"pixels": image, "truth": digit}) + "\n")
    print(f"{len(known)} known images, {len(held_out)} to score in {BUILD / 'neighbours.jsonl'}")


if __name__ == "__main__":
    main()
