"""Whole numbers that were objects in training, as databases give them beside None: None is a category there."""

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from tests.support.conformance import write

random = np.random.default_rng(0)
count = 120


def with_none(values):
    """Numbers of Python's own, some of them None."""
    missing = random.random(count) < 0.2
    return pd.Series(
        [None if gone else int(one) for one, gone in zip(values, missing, strict=True)], dtype=object
    )


frame = pd.DataFrame(
    {
        "kids": with_none(random.integers(0, 4, count)),
        "rooms": with_none(random.integers(1, 4, count)),
        "z": random.normal(size=count),
        "floor": pd.Series(random.integers(0, 3, count).tolist(), dtype=object),
    }
)
encoder = OneHotEncoder(handle_unknown="ignore")
columns = ColumnTransformer(
    [
        ("kids", encoder, ["kids", "floor"]),
        ("rooms", make_pipeline(SimpleImputer(strategy="most_frequent"), encoder), ["rooms"]),
    ],
    remainder="passthrough",
)
truth = (frame.kids.isna() * 2.0 + frame.rooms.isna() + frame.z) > 1
encoded = make_pipeline(columns, RandomForestClassifier(20, random_state=0)).fit(frame, truth)
ordinal = OrdinalEncoder(encoded_missing_value=-5, handle_unknown="use_encoded_value", unknown_value=-9)
places = ColumnTransformer([("ordinal", ordinal, ["kids", "floor"])], remainder="passthrough")
kept = make_pipeline(places, Ridge()).fit(frame[["kids", "z", "floor"]], frame.z)
joblib.dump(encoded, "encoded.joblib")
joblib.dump(kept, "kept.joblib")
rows = frame[:40]
write(rows, encoded=encoded.predict_proba(rows), kept=kept.predict(rows[["kids", "z", "floor"]]))
