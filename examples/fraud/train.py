"""Generates payments, trains the ensemble's models on some, and writes the others and the facts of accounts.

    python examples/fraud/train.py

The accounts go to an SQLite file beside the models, or to the database that ``--database`` names. The ensemble's lock,
for ``beam-ensembles check`` and ``diff``, goes beside the ensemble file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from payments import (  # type: ignore[import-not-found]
    in_database,
    make_accounts,
    make_payments,
    write_accounts,
)
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from beam_ensembles.cli.main import main as beam_ensembles

HERE = Path(__file__).resolve().parent
ENSEMBLE, MODELS = HERE / "fraud.yaml", HERE / "models"
ROWS = Path("build", "examples", "fraud", "rows.jsonl")
SEED = 7
ACCOUNTS, KNOWN, TO_SCORE = 3_000, 15_000, 20_000

# What each model reads, in the order of the ensemble file.
LINEAR = ["category", "amount", "hour", "online"]
BOOST = ["amount", "hour", "online"]
HISTORY = ["ratio", "abroad", "age", "disputed"]


def with_history(payments: pd.DataFrame, accounts: pd.DataFrame) -> pd.DataFrame:
    """Adds the columns of ``history`` and ``compare`` in the ensemble file."""
    rows = payments.merge(accounts, how="left", on="account")
    rows["ratio"] = np.log((rows["amount"] + 1) / (rows["typical_amount"].fillna(40.0) + 1))
    rows["abroad"] = rows["home"].notna() & (rows["country"] != rows["home"])
    rows["age"] = rows["age_days"].fillna(0).astype(int)
    rows["disputed"] = rows["disputes"].fillna(0).astype(int)
    return rows


def encoded(numbers: Any) -> Any:
    """Creates a column for each category; ``numbers`` says what becomes of the other columns."""
    return make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["category"]), remainder=numbers)


def learn(rows: pd.DataFrame, models: Path) -> None:
    """Trains the four models, and saves them."""
    fraud = rows["fraud"]
    linear = make_pipeline(encoded(StandardScaler()), LogisticRegression(max_iter=1000))
    boost = XGBClassifier(n_estimators=40, max_depth=4, learning_rate=0.2, n_jobs=1, random_state=SEED)
    # A meta-model learns from what its members say of payments that they have not seen.
    members = [
        cross_val_predict(model, rows[columns], fraud, cv=4, method="predict_proba")[:, 1]
        for model, columns in ((linear, LINEAR), (boost, BOOST))
    ]
    meta = make_pipeline(StandardScaler(), LogisticRegression())
    meta.fit(np.column_stack([*members, rows[HISTORY]]), fraud)
    forest = make_pipeline(
        encoded("passthrough"),
        RandomForestClassifier(100, min_samples_leaf=4, random_state=SEED),
    )
    forest.fit(rows[[*LINEAR, *HISTORY]], fraud)
    joblib.dump(linear.fit(rows[LINEAR], fraud), models / "linear.joblib")
    boost.fit(rows[BOOST], fraud).save_model(models / "boost.json")
    joblib.dump(meta, models / "meta.joblib")
    joblib.dump(forest, models / "forest.joblib")


def write_rows(payments: pd.DataFrame, path: Path) -> None:
    """Writes payments as JSON lines and, for Beam YAML, as Parquet."""
    rows = payments.to_dict("records")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"))


def lock(rows: Path, database: str | None) -> None:
    """Locks what the ensemble answers for some of the payments."""
    flags = ["--rows", str(rows), *(["--parameter", f"database={database}"] if database else [])]
    if beam_ensembles(["lock", str(ENSEMBLE), *flags]):
        sys.exit(1)


def main() -> None:
    """Generates, trains and writes everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of the models (%(default)s)")
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the payments to score (%(default)s)")
    parser.add_argument("--database", help="URL of the database of accounts (accounts.db beside the models)")
    flags = parser.parse_args()
    flags.models.mkdir(parents=True, exist_ok=True)

    random = np.random.default_rng(SEED)
    accounts = make_accounts(random, ACCOUNTS)
    known = in_database(accounts)
    learn(with_history(make_payments(random, accounts, KNOWN), known), flags.models)
    payments = make_payments(random, accounts, TO_SCORE)
    write_rows(payments, flags.rows)
    write_accounts(known, flags.database or f"sqlite:///{flags.models.resolve() / 'accounts.db'}")
    print(f"{len(payments)} payments, {payments['fraud'].sum()} of them fraud; {len(known)} accounts")
    if flags.models.resolve() == MODELS:  # those that the ensemble file names
        lock(flags.rows.with_suffix(".parquet"), flags.database)


if __name__ == "__main__":
    main()
