"""XGBoost trained on whole numbers as categories, behind 'passthrough': it took them for the categories' places."""

import joblib
import pandas as pd
import xgboost as xgb
from sklearn.pipeline import make_pipeline

frame = pd.DataFrame({"level": pd.Categorical([20, 5, 10, 5] * 9), "size": [1.0, 2.0, 3.0] * 12})
trees = xgb.XGBRegressor(n_estimators=3, n_jobs=1, enable_categorical=True)
joblib.dump(make_pipeline("passthrough", trees).fit(frame, list(range(36))), "steps.joblib")
