"""CatBoost's text features beside a category and a number, by name."""

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier

from tests.support.conformance import write

draw = np.random.default_rng(4)
words = ["good", "bad", "so", "very", "day", "ärger"]
frame = pd.DataFrame(
    {
        "said": pd.Series([" ".join(draw.choice(words, 4)) for _ in range(200)], dtype=object),
        "town": pd.Series(draw.choice(["Köln", "Bonn"], 200), dtype=object),
        "n": draw.normal(size=200),
    }
)
mood = np.where(frame.said.str.contains("good"), "glad", "sad")
small = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
model = CatBoostClassifier(cat_features=["town"], text_features=["said"], **small).fit(frame, mood)
model.save_model("m.cbm")
rows = frame.head(7).copy()
rows.loc[3, "said"] = ""
write(rows, mood=model.predict(rows), odds=model.predict_proba(rows))
