"""Categories that XGBoost 3.2 writes shifted: in the file "L" is the third of them, and was the second in training."""

import numpy as np
import pandas as pd
import xgboost as xgb

cities = ["Köln", "L", "M", "S"]
frame = pd.DataFrame({"city": pd.Categorical(np.repeat(cities, 50), cities)})
model = xgb.XGBRegressor(n_estimators=10, enable_categorical=True, n_jobs=1)
model.fit(frame, frame.city.cat.codes * 10.0)
model.save_model("m.ubj")
