"""A booster that is asked for its margins."""

import xgboost
from sklearn.datasets import load_iris

data = load_iris()
xgboost.XGBClassifier(n_estimators=3).fit(data.data, data.target).save_model("boost.json")
