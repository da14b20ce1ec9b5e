"""LightGBM trained on a DataFrame's categories and numbers, some of them missing; one row has an unseen category."""

import json

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd

draw = np.random.default_rng(4)
frame = pd.DataFrame(
    {"colour": draw.choice(["red", "green", "blue"], 400).astype(object), "n": draw.normal(size=400)}
)
target = (frame.colour == "red") * 3 + frame.n
frame.loc[::7, "colour"] = None
frame.loc[::5, "n"] = np.nan
frame["colour"] = frame.colour.astype("category")
model = lgb.LGBMRegressor(n_estimators=15, verbose=-1, n_jobs=1).fit(frame, target)
joblib.dump(model, "price.joblib")
rows = frame.head(10)
with open("rows.jsonl", "w") as out, open("expected.jsonl", "w") as expected:
    for colour, n, price in zip(rows.colour, rows.n, model.predict(rows).tolist(), strict=True):
        row = {"colour": colour if isinstance(colour, str) else None, "n": None if np.isnan(n) else n}
        out.write(json.dumps(row) + "\n")
        expected.write(json.dumps({"price": price}) + "\n")
    out.write(json.dumps({"colour": "violet", "n": 0.0}) + "\n")
    expected.write(json.dumps({"error": "price unknown_category"}) + "\n")
