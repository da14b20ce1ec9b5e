"""A pipeline as people write it: missing values are NaN, as read_csv gives them, imputed or a category of their own."""

import json

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

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
with open("rows.jsonl", "w") as out, open("expected.jsonl", "w") as expected:
    answers = zip(rows.to_dict("records"), model.predict(rows), model.predict_proba(rows), strict=True)
    for row, survived, p in answers:
        plain = {name: None if pd.isna(value) else value for name, value in row.items()}
        plain["pclass"] = None if plain["pclass"] is None else int(plain["pclass"])
        out.write(
            json.dumps(
                {name: float(v) if name == "fare" and v is not None else v for name, v in plain.items()}
            )
            + "\n"
        )
        expected.write(json.dumps({"survived": survived, "p": p.tolist()}) + "\n")
