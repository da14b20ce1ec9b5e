"""LightGBM's rankings, both of their objectives, with the columns in another order."""

import lightgbm as lgb
import numpy as np
import pandas as pd

from tests.support.conformance import write

draw = np.random.default_rng(2)
frame = pd.DataFrame({"clicks": draw.uniform(size=240), "age": draw.integers(1, 60, 240)})
grade = (frame.clicks * 3).astype(int)
small = {"n_estimators": 6, "num_leaves": 5, "verbose": -1, "n_jobs": 1}
ranked = lgb.LGBMRanker(**small).fit(frame, grade, group=[12] * 20)
other = lgb.LGBMRanker(objective="rank_xendcg", **small).fit(frame, grade, group=[12] * 20)
ranked.booster_.save_model("rank.txt")
other.booster_.save_model("xendcg.txt")
rows = frame.head(8)
write(rows, ranked=ranked.predict(rows), other=other.predict(rows))
