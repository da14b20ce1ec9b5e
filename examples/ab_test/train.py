"""Trains three models of handwritten digits, and writes images of 400 users to score.

scikit-learn's digits are 1,797 real images of 8 x 8 pixels. A third of them trains the models; the others are what the
users send, three images each.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

HERE = Path(__file__).resolve().parent
ROWS = Path("build", "examples", "ab_test", "rows.jsonl")
SEED = 4
IMAGES, PER_USER = 1200, 3
MODELS = {
    "champion": LogisticRegression(C=0.001, max_iter=1000),
    "challenger": RandomForestClassifier(n_estimators=60, random_state=SEED),
    "shadow": KNeighborsClassifier(n_neighbors=3),
}


def main() -> None:
    """Trains, saves, and writes the rows as JSON lines and, for Beam YAML, as Parquet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--models", type=Path, default=HERE / "models", help="folder of the models (%(default)s)"
    )
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the images to score (%(default)s)")
    flags = parser.parse_args()

    pixels, digits = load_digits(return_X_y=True)
    ids = np.arange(len(digits))
    known, sent = train_test_split(ids, test_size=IMAGES, random_state=SEED, stratify=digits)
    flags.models.mkdir(parents=True, exist_ok=True)
    for name, model in MODELS.items():
        joblib.dump(model.fit(pixels[known], digits[known]), flags.models / f"{name}.joblib")
        print(f"{name:10} right about {model.score(pixels[sent], digits[sent]):.4f} of all images")

    rows = [
        {
            "id": at,
            "user": f"user-{at // PER_USER}",
            "pixels": pixels[id_].tolist(),
            "truth": int(digits[id_]),
        }
        for at, id_ in enumerate(sent)
    ]
    flags.rows.parent.mkdir(parents=True, exist_ok=True)
    flags.rows.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), flags.rows.with_suffix(".parquet"))


if __name__ == "__main__":
    main()
