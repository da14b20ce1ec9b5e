"""Histogram gradient boosting of a DataFrame's categories: missing and unknown ones are alike to it."""

import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

from tests.support.conformance import write

draw = np.random.default_rng(7)
colour = pd.Series(draw.choice(["red", "green", "blue"], 300), dtype=object)
doors, n = draw.choice([2, 3, 5], 300), draw.normal(size=300).astype(np.float32)
target = (colour == "red") * 3.0 + n + doors
colour[::8] = None
frame = pd.DataFrame({"colour": colour, "doors": doors, "n": n}).astype(
    {"colour": "category", "doors": "category"}
)
frame.loc[::6, "n"] = np.nan
model = HistGradientBoostingRegressor(max_iter=9, categorical_features="from_dtype", random_state=0)
model.fit(frame, target)
joblib.dump(model, "m.joblib")

rows = [
    ("red", 2, 0.5),
    (None, 3, 0.0),
    ("violet", 5, -1.0),
    ("blue", None, 2.0),
    ("", 4, None),
    (None, None, None),
]
colours, numbers, sizes = zip(*rows, strict=True)
typed = pd.DataFrame(
    {
        "colour": pd.Categorical(colours, frame.colour.cat.categories),
        "doors": pd.Categorical(numbers, frame.doors.cat.categories),
        "n": np.array(sizes, dtype=np.float32),
    }
)
write({"colour": colours, "doors": numbers, "n": sizes}, score=model.predict(typed))
