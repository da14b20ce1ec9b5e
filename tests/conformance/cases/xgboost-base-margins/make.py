"""Base margins of XGBoost: of two classes by features' names, of counts, of three classes, and left out."""

import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.datasets import load_iris

from tests.support.conformance import write

x, y = load_iris(return_X_y=True)
random, some = np.random.default_rng(0), slice(None, None, 13)
base, bases = random.normal(size=len(x)), random.normal(size=(len(x), 3))
frame = pd.DataFrame(x, columns=list("abcd"))
binary = xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(frame, y > 0, base_margin=base), 5)
counts = xgb.train({"objective": "count:poisson"}, xgb.DMatrix(x, y, base_margin=np.abs(base)), 5)
kinds = xgb.train({"objective": "multi:softprob", "num_class": 3}, xgb.DMatrix(x, y, base_margin=bases), 5)
binary.save_model("binary.json")
counts.save_model("counts.ubj")
kinds.save_model("kinds.json")
write(
    {**frame[some], "base": base[some], "bases": bases[some], "x": x[some]},
    binary=binary.predict(xgb.DMatrix(frame[some], base_margin=base[some])),
    counts=counts.predict(xgb.DMatrix(x[some], base_margin=base[some])),
    kinds=kinds.predict(xgb.DMatrix(x[some], base_margin=bases[some])),
    without=counts.predict(xgb.DMatrix(x[some])),
)
