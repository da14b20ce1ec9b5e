"""CatBoost's own files of two classes: labels, chances, raw values; truth values as classes."""

import numpy as np
from catboost import CatBoostClassifier

from tests.support.conformance import write

draw = np.random.default_rng(0)
x = draw.normal(size=(200, 3))
small = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
model = CatBoostClassifier(class_weights=[1, 4], **small).fit(x, (x[:, 0] > 0.3).astype(int) + 5)
model.save_model("m.cbm")
model.save_model("m.json", format="json")
truth = CatBoostClassifier(**small).fit(x, x[:, 1] > 0)
truth.save_model("truth.cbm")
rows = x[:8]
raw = model.predict(rows, prediction_type="RawFormulaVal")
write(
    {"x": rows},
    side=model.predict(rows),
    both=model.predict_proba(rows),
    raw=raw,
    same=raw,
    log=model.predict_log_proba(rows),
    truth=CatBoostClassifier().load_model("truth.cbm").predict(rows).astype(bool),
)
