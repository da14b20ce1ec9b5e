"""Boosters and objectives of every kind: the default class answers as the trained object does."""

import numpy as np
import xgboost as xgb

from tests.support.conformance import write

draw = np.random.default_rng(5)
x = draw.normal(size=(200, 3)).astype(np.float32)
level = np.digitize(x[:, 0], [-0.5, 0.5])
said = {}
for booster in ("gbtree", "dart", "gblinear"):
    model = xgb.XGBClassifier(n_estimators=6, booster=booster).fit(x, level)
    model.save_model(f"{booster}.json")
    said[booster] = model.predict_proba(x)
said["level"] = xgb.XGBClassifier(n_estimators=6).fit(x, level).predict(x)
models = {
    "poisson": xgb.XGBRegressor(n_estimators=6, objective="count:poisson", base_score=2.5),
    "forest": xgb.XGBRFRegressor(n_estimators=6),
    "quantiles": xgb.XGBRegressor(n_estimators=6, objective="reg:quantileerror", quantile_alpha=[0.1, 0.9]),
}
for name, model in models.items():
    model.fit(x, np.abs(x[:, 1] * 5).round()).save_model(f"{name}.json")
    said[name] = model.predict(x)
write({"x": x[:6]}, **{name: answers[:6] for name, answers in said.items()})
