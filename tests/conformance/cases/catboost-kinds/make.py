"""CatBoost with texts as categories, whole numbers as categories, text classes, ranks, two targets, uncertainty."""

import joblib
import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRanker, CatBoostRegressor

from tests.support.conformance import write

draw = np.random.default_rng(2)
small = {"iterations": 12, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
frame = pd.DataFrame(
    {
        "home town": pd.Series(draw.choice(["Köln", "Bonn", ""], 240), dtype=object),
        "code": draw.choice([5, 10, 20], 240),
        "n": draw.normal(size=240),
    }
)
target = (frame["home town"] == "Köln") * 3 + (frame.code == 10) * 2 + frame.n
kinds = np.array(["größer", "equal", "Less"])[np.digitize(target, [0.5, 3])]
texts = ["home town", "code"]
numbers = frame[["n", "code"]]
models = {
    "value": CatBoostRegressor(cat_features=texts, **small).fit(frame, target),
    "kind": CatBoostClassifier(cat_features=["home town"], **small).fit(frame, kinds),
    "rank": CatBoostRanker(loss_function="YetiRank", **small).fit(
        numbers, frame.code // 5, group_id=np.arange(240) // 8
    ),
    "both": CatBoostRegressor(loss_function="MultiRMSE", **small).fit(numbers, np.c_[target, -target]),
    "range": CatBoostRegressor(loss_function="MultiQuantile:alpha=0.1,0.9", **small).fit(numbers, target),
    "over": CatBoostClassifier(class_weights=[1, 5], **small).fit(numbers, (target > 2).astype(int)),
}
stopped = CatBoostClassifier(**{**small, "iterations": 80, "learning_rate": 0.9}, early_stopping_rounds=2)
models["stopped"] = stopped.fit(numbers[:160], kinds[:160], eval_set=(numbers[160:], kinds[160:]))
assert stopped.tree_count_ < 80
for name, model in models.items():
    joblib.dump(model, f"{name}.joblib")
rows = pd.concat([frame.head(8), pd.DataFrame({"home town": ["Ulm"], "code": [7], "n": [0.5]})])
few = rows[["n", "code"]]
write(
    rows.rename(columns={"home town": "town"}),
    value=models["value"].predict(rows),
    kind=models["kind"].predict(rows)[:, 0],
    odds=models["kind"].predict_proba(rows),
    rank=models["rank"].predict(few),
    both=models["both"].predict(few),
    range=models["range"].predict(few),
    over=models["over"].predict(few),
    stopped=stopped.predict_proba(few),
)
