"""CatBoost's losses for numbers: squares, counts, costs, two targets, quantiles, a mean with its variance."""

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor

from tests.support.conformance import write

draw = np.random.default_rng(1)
frame = pd.DataFrame(
    {"a": draw.normal(size=200), "b": draw.normal(size=200).astype("float32"), "c": draw.integers(0, 9, 200)}
)
target = np.abs(frame.a * 2 + frame.c)
small = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
losses = {
    "square": "RMSE",
    "count": "Poisson",
    "cost": "Tweedie:variance_power=1.4",
    "both": "MultiRMSE",
    "range": "MultiQuantile:alpha=0.1,0.9",
    "spread": "RMSEWithUncertainty",
}
said = {}
for name, loss in losses.items():
    given = np.c_[target, -target] if name == "both" else target
    model = CatBoostRegressor(loss_function=loss, **small).fit(frame.to_numpy(), given)
    kind = "json" if name == "cost" else "cbm"
    model.save_model(f"{name}.{kind}", format=kind)
    said[name] = (
        CatBoostRegressor().load_model(f"{name}.{kind}", format=kind).predict(frame.head(7).to_numpy())
    )
write(frame.head(7), **said)
