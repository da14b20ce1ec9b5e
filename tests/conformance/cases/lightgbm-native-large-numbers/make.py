"""Whole numbers that no float32 holds, and numbers near the thresholds: what a DataFrame's columns are to LightGBM."""

import lightgbm as lgb
import numpy as np
import pandas as pd

from tests.support.conformance import write

draw = np.random.default_rng(10)
frame = pd.DataFrame(
    {
        "id_like": 16_777_216 + draw.integers(0, 8, 300),
        "small": draw.normal(size=300).astype("float32"),
        "big": draw.normal(size=300) * 1e300,
    }
)
target = (frame.id_like % 2) * 3 + frame["small"] + (frame.big > 0)
model = lgb.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1).fit(frame, target)
model.booster_.save_model("m.txt")
write(frame.head(12), value=model.predict(frame.head(12)))
