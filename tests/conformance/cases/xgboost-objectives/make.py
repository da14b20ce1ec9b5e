"""What XGBoost's objectives give."""

import xgboost as xgb
from sklearn.datasets import load_iris

from tests.support.conformance import write

x, y = load_iris(return_X_y=True)
rows = x[::17]


def booster(target, file, **parameters):
    model = xgb.train(parameters, xgb.DMatrix(x, target), 5)
    model.save_model(file)
    return model.predict(xgb.DMatrix(rows))


odds = booster(y, "softprob.json", objective="multi:softprob", num_class=3)
kind = booster(y, "softmax.ubj", objective="multi:softmax", num_class=3)
count = booster(y, "poisson.json", objective="count:poisson", base_score=2.5)
shares = booster(x[:, :2], "two.json", multi_strategy="multi_output_tree", tree_method="hist")
classifier = xgb.XGBClassifier(n_estimators=5, scale_pos_weight=3.0).fit(x, y == 2)
classifier.save_model("logistic.json")
both = classifier.predict_proba(rows)
write(
    {"x": rows},
    odds=odds,
    kind=kind,
    count=count,
    shares=shares,
    chance=both[:, 1],
    both=both,
    side=classifier.predict(rows),
)
