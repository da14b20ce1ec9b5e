"""CatBoost's trees that are not symmetric, scored one row."""

import numpy as np
from catboost import CatBoostRegressor

from tests.support.conformance import write

draw = np.random.default_rng(9)
x = draw.normal(size=(200, 3))
small = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
deep = CatBoostRegressor(grow_policy="Depthwise", **small).fit(x, x[:, 0] * x[:, 1])
leaves = CatBoostRegressor(grow_policy="Lossguide", max_leaves=5, **small).fit(x, x[:, 0] * x[:, 1])
deep.save_model("deep.cbm")
leaves.save_model("leaves.json", format="json")
rows = x[:1]
write({"x": rows}, deep=deep.predict(rows), leaves=leaves.predict(rows))
