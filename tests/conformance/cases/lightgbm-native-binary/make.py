"""LightGBM's own text files of two classes: chances, raw scores, labels; cross entropy of shares."""

import lightgbm as lgb
import numpy as np

from tests.support.conformance import write

draw = np.random.default_rng(0)
x = draw.normal(size=(300, 4))
small = {"n_estimators": 9, "num_leaves": 7, "verbose": -1, "n_jobs": 1}
model = lgb.LGBMClassifier(scale_pos_weight=3.0, **small).fit(x, x[:, 0] > 0.3)
model.booster_.save_model("m.txt")
share = lgb.train(
    {"objective": "cross_entropy", "verbose": -1, "num_threads": 1}, lgb.Dataset(x, draw.uniform(size=300)), 4
)
share.save_model("cross.txt")
rows = x[:9]
both = model.predict_proba(rows)
write(
    {"x": rows},
    chance=both[:, 1],
    both=both,
    raw=model.predict(rows, raw_score=True),
    side=model.predict(rows).astype(int),
    cross=share.predict(rows),
)
