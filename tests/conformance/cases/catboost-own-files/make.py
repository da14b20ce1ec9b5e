"""Files that CatBoost and LightGBM write themselves, given to other kinds: it says which kind reads them."""

import lightgbm as lgb
import numpy as np
from catboost import CatBoostRegressor

x = np.random.default_rng(0).normal(size=(60, 2))
lines = lgb.train({"verbose": -1, "num_threads": 1}, lgb.Dataset(x, x[:, 0]), num_boost_round=2)
lines.save_model("lines.txt")
model = CatBoostRegressor(iterations=2, verbose=0, allow_writing_files=False, thread_count=1).fit(x, x[:, 0])
model.save_model("own.cbm")
model.save_model("own.json", format="json")
