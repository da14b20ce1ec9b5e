"""CatBoost's categories, texts and whole numbers, in its own files; it has answers for those that it never saw."""

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor

from tests.support.conformance import write

draw = np.random.default_rng(3)
frame = pd.DataFrame(
    {
        "town": pd.Series(draw.choice(["Köln", "Bonn", "", "a b"], 240), dtype=object),
        "n": draw.normal(size=240),
        "code": draw.choice([5, 10, 20], 240),
    }
)
target = (frame.town == "Köln") * 3 + (frame.code == 10) * 2 + frame.n
small = {"iterations": 12, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
model = CatBoostRegressor(cat_features=["town", "code"], **small).fit(frame, target)
model.save_model("m.cbm")
model.save_model("m.json", format="json")
placed = CatBoostRegressor(cat_features=[0], **small).fit(frame[["town", "n"]].to_numpy(object), target)
placed.save_model("placed.cbm")
rows = pd.concat([frame.head(8), pd.DataFrame({"town": ["Ulm"], "n": [0.5], "code": [7]})])
write(
    rows,
    value=model.predict(rows),
    read=CatBoostRegressor().load_model("m.json", format="json").predict(rows),
    placed=placed.predict(rows[["town", "n"]].to_numpy(object)),
)
