"""A pipeline as people write it: missing values are NaN, as read_csv gives them, imputed or a category of their own."""

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.support.conformance import write

draw, count = np.random.default_rng(2), 300
frame = pd.DataFrame(
    {
        "pclass": draw.choice([1, 2, 3, np.nan], count),
        "sex": pd.Series(draw.choice(["male", "female"], count), dtype=object),
        "age": draw.normal(30, 12, count),
        "fare": draw.gamma(2.0, 20.0, count).astype(np.float32),
        "alone": pd.Series(draw.choice([True, False], count), dtype=object),
    }
)
frame.loc[::7, "sex"], frame.loc[::5, "age"], frame.loc[::11, "alone"] = np.nan, np.nan, np.nan
numbers = Pipeline(
    [("impute", SimpleImputer(strategy="median", add_indicator=True)), ("scale", StandardScaler())]
)
words = Pipeline([("impute", SimpleImputer(strategy="most_frequent")), ("code", OneHotEncoder())])
model = Pipeline(
    [
        (
            "columns",
            ColumnTransformer(
                [
                    ("numbers", numbers, ["age", "fare"]),
                    ("words", words, ["sex"]),
                    ("kinds", OneHotEncoder(), ["pclass", "alone"]),
                ]
            ),
        ),
        ("classify", LogisticRegression()),
    ]
)
model.fit(frame, np.where((frame.sex == "female") | (frame.age < 15), "yes", "no"))
joblib.dump(model, "m.joblib")

rows = pd.concat(
    [
        frame[:20],
        frame[:1].assign(pclass=np.nan, sex=np.nan, age=np.nan, fare=np.float32("nan"), alone=np.nan),
    ]
)
given = rows.astype({"pclass": "Int64"}).astype(object).where(rows.notna(), None)
write(given, survived=model.predict(rows), p=model.predict_proba(rows))
