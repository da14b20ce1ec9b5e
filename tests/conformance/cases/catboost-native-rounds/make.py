"""A CatBoost model whose training stopped early, and some of its trees."""

import numpy as np
from catboost import CatBoostClassifier

from tests.support.conformance import write

draw = np.random.default_rng(6)
x = draw.normal(size=(300, 4))
y = (x[:, 0] + draw.normal(size=300) > 0).astype(int)
model = CatBoostClassifier(
    iterations=80,
    learning_rate=0.4,
    early_stopping_rounds=9,
    verbose=0,
    allow_writing_files=False,
    thread_count=1,
)
model.fit(x[:200], y[:200], eval_set=(x[200:], y[200:]))
assert 3 < model.tree_count_ < 80
model.save_model("stopped.cbm")
rows = x[:6]
write(
    {"x": rows},
    stopped=model.predict_proba(rows),
    first=model.predict_proba(rows, ntree_end=3),
    middle=model.predict(rows, prediction_type="RawFormulaVal", ntree_start=1, ntree_end=3),
)
