"""Features with names: columns are listed in another order, or named by odd ones."""

import numpy as np
import pandas as pd
import xgboost as xgb

from tests.support.conformance import write

draw = np.random.default_rng(0)
frame = pd.DataFrame({"a": draw.normal(size=200), "b": draw.normal(size=200), "c": draw.integers(0, 9, 200)})
target = frame.a + 10 * frame.b + 100 * frame.c
listed = xgb.XGBRegressor(n_estimators=5).fit(frame, target)
listed.save_model("m.json")
odd = frame.rename(columns={"a": "a/b", "b": "ß", "c": "the c"})
mapped = xgb.XGBRegressor(n_estimators=5).fit(odd, target)
mapped.save_model("odd.json")
write(frame.head(7), listed=listed.predict(frame.head(7)), mapped=mapped.predict(odd.head(7)))
