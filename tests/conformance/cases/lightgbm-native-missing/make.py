"""LightGBM's text files of models trained on missing numbers and categories, also where zeros are missing."""

import lightgbm as lgb
import numpy as np
import pandas as pd

from tests.support.conformance import write

draw = np.random.default_rng(4)
frame = pd.DataFrame(
    {
        "colour": draw.choice(["red", "green", "blue"], 400).astype(object),
        "n": draw.normal(size=400).round(),
        "k": draw.integers(0, 5, 400).astype(float),
    }
)
target = (frame.colour == "red") * 3 + frame.n * frame.k
frame.loc[::7, "colour"] = None
frame.loc[::5, "n"] = np.nan
frame.loc[::3, "k"] = np.nan
frame["colour"] = frame.colour.astype("category")
small = {"n_estimators": 9, "verbose": -1, "n_jobs": 1}
model = lgb.LGBMRegressor(**small).fit(frame, target)
model.booster_.save_model("m.txt")
numbers = frame[["n", "k"]]
zero = lgb.LGBMRegressor(zero_as_missing=True, **small).fit(numbers, target)
zero.booster_.save_model("zero.txt")
rows = frame.head(15)
plain = rows.astype({"colour": object}).where(rows.notna(), None)
write(
    {name: plain[name].tolist() for name in plain},
    price=model.predict(rows),
    zero=zero.predict(rows[["n", "k"]]),
)
