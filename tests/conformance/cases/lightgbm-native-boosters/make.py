"""LightGBM's other boosters: linear models in the leaves (some rows have NaN), dart, a random forest; contributions."""

import lightgbm as lgb
import numpy as np

from tests.support.conformance import write

draw = np.random.default_rng(8)
x = draw.normal(size=(300, 3))
y = x[:, 0] * 3 + np.sign(x[:, 1])
params = {
    "lines": {"linear_tree": True},
    "dart": {"boosting": "dart", "drop_rate": 0.5},
    "forest": {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
}
models = {}
for name, own in params.items():
    data = lgb.Dataset(x, y, params={"verbose": -1, **own})
    models[name] = lgb.train({"verbose": -1, "num_threads": 1, "num_leaves": 7, **own}, data, 6)
    models[name].save_model(f"{name}.txt")
rows = x[:8]
said = {name: model.predict(rows) for name, model in models.items()}
write({"x": rows}, **said, parts=models["dart"].predict(rows, pred_contrib=True))
