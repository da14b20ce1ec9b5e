"""CatBoost's features with names: columns are listed in another order, or named by odd ones."""

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor

from tests.support.conformance import write

draw = np.random.default_rng(7)
frame = pd.DataFrame({"a": draw.normal(size=200), "b": draw.normal(size=200), "c": draw.integers(0, 9, 200)})
target = frame.a + 10 * frame.b + 100 * frame.c
small = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
listed = CatBoostRegressor(**small).fit(frame, target)
listed.save_model("m.cbm")
odd = frame.rename(columns={"a": "a/b", "b": "ß", "c": "the c"})
mapped = CatBoostRegressor(**small).fit(odd, target)
mapped.save_model("odd.cbm")
write(frame.head(7), listed=listed.predict(frame.head(7)), mapped=mapped.predict(odd.head(7)))
