"""CatBoost's own files of three text classes, which the file names; a vote lists them in another order."""

from catboost import CatBoostClassifier
from sklearn.datasets import load_iris

from tests.support.conformance import write

data = load_iris()
x, names = data.data.astype("float32"), data.target_names[data.target]
small = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
model = CatBoostClassifier(**small).fit(x, names)
model.save_model("m.cbm")
model.save_model("m.json", format="json")
ova = CatBoostClassifier(loss_function="MultiClassOneVsAll", **small).fit(x, names)
ova.save_model("ova.cbm")
rows = x[::17]
kind = model.predict(rows)[:, 0]
write(
    {"x": rows.astype(float)},
    kind=kind,
    odds=model.predict_proba(rows),
    raw=model.predict(rows, prediction_type="RawFormulaVal"),
    each=ova.predict_proba(rows),
    voted=kind,
)
