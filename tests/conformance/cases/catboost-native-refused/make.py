"""The errors before the run of CatBoost's files: wrong columns, classes, labels, arguments and formats."""

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor

draw = np.random.default_rng(0)
small = {"iterations": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
x = draw.normal(size=(60, 2))
CatBoostRegressor(**small).fit(x, x[:, 0]).save_model("lines.cbm")
frame = pd.DataFrame(
    {"town": pd.Series(draw.choice(["a", "b"], 60), dtype=object), "n": draw.normal(size=60)}
)
kinds = np.where(frame.n > 0, "high", "low")
CatBoostClassifier(cat_features=["town"], **small).fit(frame, kinds).save_model("m.cbm")
