"""LightGBM's objectives for numbers: squares, roots, quantiles, counts, costs; functions of one's own."""

import lightgbm as lgb
import numpy as np
import pandas as pd

from tests.support.conformance import write

draw = np.random.default_rng(1)
frame = pd.DataFrame(
    {"a": draw.normal(size=300), "b": draw.normal(size=300).astype("float32"), "c": draw.integers(0, 9, 300)}
)
target = np.abs(frame.a * 2 + frame.c)


def squares(guess, data):
    return guess - data.get_label(), np.ones(len(guess))


def twice(guess, data):
    return guess - data.get_label()[:, None], np.ones(guess.shape)


params = {
    "square": {},
    "root": {"objective": "regression", "reg_sqrt": True},
    "high": {"objective": "quantile", "alpha": 0.9},
    "count": {"objective": "poisson"},
    "cost": {"objective": "tweedie", "tweedie_variance_power": 1.3},
    "own": {"objective": squares},
    "pair": {"objective": twice, "num_class": 2},
}
said = {}
for name, own in params.items():
    data = lgb.Dataset(frame.to_numpy(), target)
    model = lgb.train({"verbose": -1, "num_threads": 1, "num_leaves": 7, **own}, data, 4)
    model.save_model(f"{name}.txt")
    said[name] = model.predict(frame.head(7))
write(frame.head(7), **said)
