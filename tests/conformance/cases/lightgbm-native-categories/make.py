"""A DataFrame's categories in LightGBM's text file, texts and whole numbers; some rows have categories it never saw."""

import lightgbm as lgb
import numpy as np
import pandas as pd

from tests.support.conformance import write_pairs

draw = np.random.default_rng(3)
frame = pd.DataFrame(
    {
        "colour": pd.Categorical(draw.choice(["red", "grün", "", "a b"], 400)),
        "n": draw.normal(size=400),
        "level": pd.Categorical(draw.choice([10, 5, 70], 400)),
    }
)
target = (frame.colour == "grün") * 3 + frame.n + (frame.level == 5) * 5
model = lgb.LGBMRegressor(n_estimators=12, min_child_samples=5, verbose=-1, n_jobs=1).fit(frame, target)
model.booster_.save_model("m.txt")
rows = frame.head(10)
said = [
    ({"colour": colour, "n": n, "level": level}, {"price": price})
    for colour, n, level, price in zip(rows.colour, rows.n, rows.level, model.predict(rows), strict=True)
]
unknown = {"error": "price unknown_category"}
write_pairs(
    [
        *said[:5],
        ({"colour": "violet", "n": 0.0, "level": 5}, unknown),
        *said[5:],
        ({"colour": "red", "n": 0.0, "level": 6}, unknown),
    ]
)
