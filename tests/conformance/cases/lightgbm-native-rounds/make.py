"""LightGBM models that stopped early: saved up to the best round, or whole; and some of the rounds."""

import lightgbm as lgb
import numpy as np

from tests.support.conformance import write

draw = np.random.default_rng(5)
x = draw.normal(size=(300, 4))
y = (x[:, 0] + draw.normal(size=300) * 2 > 0).astype(int)
train, test = lgb.Dataset(x[:200], y[:200]), lgb.Dataset(x[200:], y[200:])
booster = lgb.train(
    {"objective": "binary", "learning_rate": 0.5, "verbose": -1, "num_threads": 1},
    train,
    60,
    valid_sets=[test],
    callbacks=[lgb.early_stopping(9, verbose=False)],
    keep_training_booster=True,
)
assert booster.best_iteration < booster.current_iteration()
booster.save_model("stopped.txt")
booster.save_model("every.txt", num_iteration=-1)
rows = x[:6]
write(
    {"x": rows},
    stopped=booster.predict(rows),
    every=booster.predict(rows, num_iteration=-1),
    first=booster.predict(rows, num_iteration=3),
    middle=booster.predict(rows, start_iteration=2, num_iteration=4, raw_score=True),
    beyond=booster.predict(rows, start_iteration=3, num_iteration=999),
)
