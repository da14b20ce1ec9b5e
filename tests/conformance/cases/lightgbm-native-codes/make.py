"""Whole numbers as categories in an array: the file keeps no list of them, and LightGBM answers for any other."""

import lightgbm as lgb
import numpy as np

from tests.support.conformance import write

draw = np.random.default_rng(7)
code, n = draw.choice([1, 3, 40, 2000], 300), draw.normal(size=300)
data = lgb.Dataset(np.c_[code, n], (code == 3) * 5 + (code == 40) * 2 + n, categorical_feature=[0])
model = lgb.train({"verbose": -1, "num_threads": 1, "min_data_per_group": 5, "cat_smooth": 1}, data, 9)
model.save_model("m.txt")
codes = np.r_[code[:6], 2, -1, 3_000_000_000, 41]
write({"code": codes, "n": n[:10]}, value=model.predict(np.c_[codes.astype(float), n[:10]]))
