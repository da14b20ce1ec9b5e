"""XGBoost's own Booster in a joblib file."""

import joblib
import numpy as np
import xgboost

joblib.dump(xgboost.train({}, xgboost.DMatrix(np.eye(2), label=[0, 1]), 2), "booster.joblib")
