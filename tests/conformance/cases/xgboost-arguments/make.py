"""XGBoost's other boosters and classes, and arguments of its predict."""

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_iris

from tests.support.conformance import write

x, y = load_iris(return_X_y=True)
rows = x[::17]
models = {
    "linear": xgb.XGBRegressor(booster="gblinear", n_estimators=20),
    "dart": xgb.XGBRegressor(booster="dart", rate_drop=0.5, n_estimators=10, random_state=1),
    "forest": xgb.XGBRFRegressor(n_estimators=10, random_state=1),
}
answers = {}
for name, model in models.items():
    model.fit(x, y).save_model(f"{name}.json")
    answers[name] = model.predict(rows)
ranker = xgb.XGBRanker(n_estimators=5).fit(x, y, qid=np.arange(150) // 15)
ranker.save_model("rank.json")
odds = xgb.XGBClassifier(n_estimators=5).fit(x, y == 2)
odds.save_model("odds.json")
write(
    {"x": rows},
    **answers,
    rank=ranker.predict(rows),
    margin=odds.predict(rows, output_margin=True),
    first=odds.predict_proba(rows, iteration_range=(0, 2))[:, 1],
)
