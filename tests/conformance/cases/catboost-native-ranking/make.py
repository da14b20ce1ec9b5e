"""CatBoost's ranking, with the columns in another order."""

import numpy as np
import pandas as pd
from catboost import CatBoostRanker

from tests.support.conformance import write

draw = np.random.default_rng(2)
frame = pd.DataFrame({"clicks": draw.uniform(size=160), "age": draw.integers(1, 60, 160)})
small = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
model = CatBoostRanker(loss_function="YetiRank", **small)
model.fit(frame, (frame.clicks * 3).astype(int), group_id=np.arange(160) // 8)
model.save_model("rank.cbm")
model.save_model("rank.json", format="json")
rows = frame.head(8)
write(rows, ranked=model.predict(rows), other=model.predict(rows))
