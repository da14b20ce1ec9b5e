"""LightGBM models without trees, with trees of one leaf, and of one split."""

import lightgbm as lgb
import numpy as np

from tests.support.conformance import write

draw = np.random.default_rng(9)
x = draw.normal(size=(100, 2))
small = {"verbose": -1, "num_threads": 1}
leaf = lgb.train({"min_data_in_leaf": 99, **small}, lgb.Dataset(x, x[:, 0] + 5), 2)
stump = lgb.train({"num_leaves": 2, **small}, lgb.Dataset(x, x[:, 0] + 5), 1)
none = lgb.Booster(small, lgb.Dataset(x, x[:, 0]))
none.save_model("none.txt")
leaf.save_model("leaf.txt")
stump.save_model("stump.txt")
rows = x[:1]
write(
    {"x": rows},
    leaf=leaf.predict(rows),
    stump=stump.predict(rows),
    none=lgb.Booster(model_file="none.txt").predict(rows),
)
