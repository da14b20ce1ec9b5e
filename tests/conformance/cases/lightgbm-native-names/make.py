"""LightGBM's features with names: columns are listed in another order, or named by odd ones."""

import lightgbm as lgb
import numpy as np
import pandas as pd

from tests.support.conformance import write

draw = np.random.default_rng(6)
frame = pd.DataFrame(
    {
        "a": draw.normal(size=200),
        "b": draw.normal(size=200),
        "c": draw.integers(0, 9, 200),
        "d": draw.integers(0, 2, 200) > 0,
    }
)
target = frame.a + 10 * frame.b + 100 * frame.c + 7 * frame.d
small = {"n_estimators": 6, "verbose": -1, "n_jobs": 1}
plain = frame[["a", "b", "c"]]
listed = lgb.LGBMRegressor(**small).fit(plain, target)
listed.booster_.save_model("m.txt")
odd = frame.rename(columns={"a": "a/b", "b": "ß", "c": "the c", "d": "x=y="})
mapped = lgb.LGBMRegressor(**small).fit(odd, target)
mapped.booster_.save_model("odd.txt")
write(frame.head(7), listed=listed.predict(plain.head(7)), mapped=mapped.predict(odd.head(7)))
