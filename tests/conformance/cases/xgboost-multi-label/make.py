"""What XGBoost's classifiers give: of several labels doubles, of one a whole number."""

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_iris

from tests.support.conformance import write

x, y = load_iris(return_X_y=True)
rows = x[::17]
labels = np.c_[y == 2, x[:, 0] > 6].astype(int)
small = {"n_estimators": 5, "n_jobs": 1}


def fitted(file, target, kind=xgb.XGBClassifier, **parameters):
    model = kind(**small, **parameters).fit(x, target)
    model.save_model(file)
    return model


marks = fitted("labels.ubj", labels)
whole = fitted("whole.json", labels, multi_strategy="multi_output_tree", tree_method="hist")
forest = fitted("forest.ubj", labels, xgb.XGBRFClassifier)
kind = fitted("softmax.json", y, objective="multi:softmax")
pair = fitted("pair.ubj", y == 2, objective="multi:softprob", num_class=2)
raw = fitted("raw.ubj", y == 2, objective="binary:logitraw")
write(
    {"x": rows},
    marks=marks.predict(rows),
    chances=marks.predict_proba(rows),
    whole=whole.predict(rows),
    forest=forest.predict(rows),
    kind=kind.predict(rows),
    kinds=kind.predict_proba(rows),
    flags=pair.predict(rows),
    raw=raw.predict(rows),
)
