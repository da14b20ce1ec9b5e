"""CatBoost with whole numbers as categories that may be missing: floating point in pandas, which it never takes."""

import joblib
import pandas as pd
from catboost import CatBoostRegressor

frame = pd.DataFrame({"code": [5, 10, 20] * 9, "size": [1.0, 2.0, 3.0] * 9})
settings = {"iterations": 4, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
model = CatBoostRegressor(cat_features=["code"], **settings).fit(frame, frame["size"])
joblib.dump(model, "m.joblib")
