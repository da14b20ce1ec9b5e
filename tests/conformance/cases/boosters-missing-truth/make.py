"""LightGBM and XGBoost trained on truth values that may be missing, alone and inside another estimator."""

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.compose import TransformedTargetRegressor

from tests.support.conformance import write

draw = np.random.default_rng(8)
known = pd.Series(draw.choice([True, False], 90)).astype("boolean").mask(draw.random(90) < 0.3)
frame = pd.DataFrame({"known": known, "size": draw.normal(size=90)})
target = frame["size"] + known.fillna(False).astype(float) * 3 - known.isna() * 2
light = lgb.LGBMRegressor(n_estimators=5, min_child_samples=4, verbose=-1, n_jobs=1)
models = {
    "light": light,
    "within": TransformedTargetRegressor(light),
    "extreme": xgb.XGBRegressor(n_estimators=4, n_jobs=1),
}
for name, model in models.items():
    joblib.dump(model.fit(frame, target), f"{name}.joblib")
rows = frame.head(12)
given = {"known": [None if one is pd.NA else bool(one) for one in rows.known], "size": rows["size"].tolist()}
write(given, **{name: model.predict(rows) for name, model in models.items()})
