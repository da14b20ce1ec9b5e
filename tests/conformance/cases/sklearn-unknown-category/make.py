"""Encoders that fail for a category that they do not know, and others that do not."""

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from tests.support.conformance import write_pairs

draw = np.random.default_rng(3)
frame = pd.DataFrame(
    {
        "colour": pd.Series(draw.choice(["red", "green", "blue"], 200), dtype=object),
        "doors": draw.choice([2, 3, 5], 200),
        "n": draw.normal(size=200),
    }
)
target = (frame.colour == "red") * 3.0 + frame.n + frame.doors
strict = make_column_transformer(
    (OneHotEncoder(), ["colour"]), (OrdinalEncoder(), ["doors"]), ("passthrough", ["n"])
)
lax = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["colour"]),
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["doors"]),
    ("passthrough", ["n"]),
)
strict, lax = (
    make_pipeline(strict, Ridge()).fit(frame, target),
    make_pipeline(lax, Ridge()).fit(frame, target),
)
joblib.dump(strict, "strict.joblib")
joblib.dump(lax, "lax.joblib")

rows = pd.DataFrame(
    {
        "colour": pd.Series(["red", "", "blue", "violet", "green"], dtype=object),
        "doors": [2, 3, 4, 5, 3],
        "n": [0.5, 0.0, -1.0, 2.0, 0.25],
    }
)
said = []
for at, row in enumerate(rows.to_dict("records")):
    one = rows[at : at + 1]
    try:
        score = strict.predict(one)[0]
        answer = {"strict": score, "lax": lax.predict(one)[0], "last": score}
    except ValueError:
        answer = {"error": "last unknown_category"}
    said.append((row, answer))
write_pairs(said)
