"""CatBoost's own files of models trained on missing numbers, below or above all others, also beside a category."""

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor

from tests.support.conformance import write

draw = np.random.default_rng(5)
frame = pd.DataFrame(
    {
        "n": draw.normal(size=240),
        "m": draw.integers(0, 9, 240).astype(float),
        "town": pd.Series(draw.choice(["Köln", "Bonn"], 240), dtype=object),
    }
)
target = frame.n + frame.m + (frame.town == "Bonn")
frame.loc[::5, "n"] = np.nan
frame.loc[::3, "m"] = np.nan
small = {"iterations": 9, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
low = CatBoostRegressor(**small).fit(frame[["n", "m"]], target)
high = CatBoostRegressor(nan_mode="Max", cat_features=["town"], **small).fit(frame, target)
low.save_model("low.cbm")
high.save_model("high.json", format="json")
rows = frame.head(16)
read = CatBoostRegressor().load_model("high.json", format="json")
write(rows, low=low.predict(rows[["n", "m"]]), high=read.predict(rows))
