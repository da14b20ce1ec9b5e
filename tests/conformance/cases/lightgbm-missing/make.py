"""LightGBM trained on a DataFrame's categories and numbers, some of them missing; one row has an unseen category."""

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd

from tests.support.conformance import write_pairs

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
said = [
    ({"colour": colour, "n": n}, {"price": price})
    for colour, n, price in zip(rows.colour, rows.n, model.predict(rows), strict=True)
]
write_pairs([*said, ({"colour": "violet", "n": 0.0}, {"error": "price unknown_category"})])
