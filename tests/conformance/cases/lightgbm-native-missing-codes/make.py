"""LightGBM's own file with whole numbers and truth values as a DataFrame's categories, some of them missing."""

import lightgbm
import numpy as np
import pandas as pd

from tests.support.conformance import write

random = np.random.default_rng(1)
count = 300
gone, sizes = random.random(count) < 0.15, random.integers(2, 7, count)
vip = random.random(count) < 0.5
frame = pd.DataFrame(
    {
        "z": np.where(random.random(count) < 0.1, np.nan, random.normal(size=count)),
        "size": pd.Categorical([None if no else int(one) for one, no in zip(sizes, gone, strict=True)]),
        "vip": pd.Categorical([None if no else bool(one) for one, no in zip(vip, gone[::-1], strict=True)]),
    }
)
truth = sizes * ~gone + frame.z.fillna(1) * 2 + vip > 5
model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, min_child_samples=3, n_jobs=1).fit(frame, truth)
model.booster_.save_model("model.txt")
rows = frame[:40]
answers = model.predict_proba(rows)
write({name: [None if pd.isna(one) else one for one in rows[name]] for name in rows}, odds=answers)
