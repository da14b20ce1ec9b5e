"""Models that stopped early: the trained object answers with the best rounds, and so must the default class."""

import numpy as np
import xgboost as xgb

from tests.support.conformance import write

draw = np.random.default_rng(0)
x = draw.normal(size=(300, 4))
y = (x[:, 0] + draw.normal(size=300) * 2 > 0).astype(int)
model = xgb.XGBClassifier(n_estimators=80, early_stopping_rounds=20, learning_rate=0.5, max_depth=4)
model.fit(x[:200], y[:200], eval_set=[(x[200:], y[200:])], verbose=False)
model.save_model("m.json")
model.save_model("m.ubj")

train, test = xgb.DMatrix(x[:200], x[:200, 1]), xgb.DMatrix(x[200:], draw.normal(size=100))
native = xgb.train({}, train, 60, evals=[(test, "test")], early_stopping_rounds=9, verbose_eval=False)
native.save_model("native.json")
regressor = xgb.XGBRegressor()
regressor.load_model("native.json")

every = xgb.Booster(model_file="m.json").predict(xgb.DMatrix(x))
assert abs(every - model.predict_proba(x)[:, 1]).max() > 0.1
best, rows = model.predict_proba(x[:5])[:, 1], x[:5]
write({"x": rows}, p=best, q=best, all=every[:5], score=regressor.predict(rows))
