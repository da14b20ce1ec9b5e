"""CatBoost trained on numbers of which some are missing."""

import joblib
import numpy as np
import pandas as pd
from catboost import CatBoostRegressor

from tests.support.conformance import write

draw = np.random.default_rng(2)
frame = pd.DataFrame({"n": draw.normal(size=300), "m": draw.normal(size=300)})
target = frame.n + frame.m
frame.loc[::5, "n"] = np.nan
model = CatBoostRegressor(iterations=20, verbose=0, allow_writing_files=False, thread_count=1).fit(
    frame, target
)
joblib.dump(model, "cb.joblib")
write(frame.head(8), y=model.predict(frame.head(8)))
