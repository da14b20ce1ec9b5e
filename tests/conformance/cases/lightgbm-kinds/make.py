"""LightGBM for ranks, quantiles, classes of two; columns with odd names, in another order; a booster in a pipeline."""

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.support.conformance import write

draw = np.random.default_rng(4)
small = {"n_estimators": 12, "num_leaves": 7, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
frame = pd.DataFrame(
    {
        "floor area": draw.uniform(20, 200, 300),
        "rooms": draw.integers(1, 6, 300),
        "Straße": draw.integers(0, 4, 300),
    }
)
price = frame["floor area"] * 3 + frame.rooms * 10 + (frame["Straße"] == 2) * 90
models = {
    "ranked": lgb.LGBMRanker(**small).fit(frame, frame.rooms // 2, group=[10] * 30),
    "high": lgb.LGBMRegressor(objective="quantile", alpha=0.9, **small).fit(
        frame, price, categorical_feature=["Straße"]
    ),
    "expensive": lgb.LGBMClassifier(boosting_type="dart", **small).fit(frame, price > 400),
    "scaled": make_pipeline(StandardScaler(), lgb.LGBMRegressor(linear_tree=True, **small)).fit(frame, price),
    "counted": lgb.LGBMRegressor(objective="poisson", **small).fit(frame.to_numpy(), frame.rooms),
}
valid = [(frame[200:], price[200:] > 300)]
stop = [lgb.early_stopping(2, verbose=False)]
stopped = lgb.LGBMClassifier(**{**small, "n_estimators": 60, "learning_rate": 0.9})
models["stopped"] = stopped.fit(frame[:200], price[:200] > 300, eval_set=valid, callbacks=stop)
assert stopped.best_iteration_ < 60
for name, model in models.items():
    joblib.dump(model, f"{name}.joblib")
rows = frame.head(9)
given = rows.rename(columns={"floor area": "area", "Straße": "street"})
said = {name: model.predict(rows) for name, model in models.items() if name not in ("stopped", "counted")}
counted = models["counted"].predict(rows.to_numpy())
write(
    given,
    **said,
    counted=counted,
    odds=models["expensive"].predict_proba(rows),
    stopped=stopped.predict_proba(rows),
)
