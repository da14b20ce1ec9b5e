"""CatBoost for several labels of a row, and for shares (cross entropy)."""

import numpy as np
from catboost import CatBoostClassifier

from tests.support.conformance import write

draw = np.random.default_rng(8)
x = draw.normal(size=(200, 3))
small = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
model = CatBoostClassifier(loss_function="MultiLogloss", **small).fit(x, (x[:, :2] > 0).astype(int))
model.save_model("m.cbm")
share = CatBoostClassifier(loss_function="CrossEntropy", **small).fit(x, (np.tanh(x[:, 0]) + 1) / 2)
share.save_model("share.cbm")
rows = x[:6]
write({"x": rows}, which=model.predict(rows), odds=model.predict_proba(rows), share=share.predict_proba(rows))
