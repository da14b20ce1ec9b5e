"""LightGBM's own text files of three text classes: the file has numbers, the node names them for a vote."""

import lightgbm as lgb
from sklearn.datasets import load_iris

from tests.support.conformance import write

data = load_iris()
x, names = data.data.astype("float32"), data.target_names[data.target]
small = {"n_estimators": 5, "num_leaves": 5, "verbose": -1, "n_jobs": 1}
model = lgb.LGBMClassifier(**small).fit(x, names)
model.booster_.save_model("m.txt")
ova = lgb.LGBMClassifier(objective="multiclassova", **small).fit(x, names)
ova.booster_.save_model("ova.txt")
rows = x[::17]
write(
    {"x": rows.astype(float)},
    odds=model.predict_proba(rows),
    code=model.predict_proba(rows).argmax(axis=1),
    raw=model.predict_proba(rows, raw_score=True),
    each=ova.predict_proba(rows),
    voted=model.predict(rows),
)
