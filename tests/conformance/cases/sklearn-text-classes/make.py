"""A pipeline of a scaler and a classifier whose classes are texts; one of the rows lacks a number."""

import joblib
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.support.conformance import write_pairs

data = load_iris(as_frame=True)
x = data.data[["petal length (cm)", "petal width (cm)"]]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, data.target_names[data.target])
joblib.dump(model, "kind.joblib")
rows = x.iloc[::13]
said = [
    ({"length": length, "width": width}, {"species": species, "odds": odds})
    for (length, width), species, odds in zip(
        rows.to_numpy(), model.predict(rows), model.predict_proba(rows), strict=True
    )
]
write_pairs([*said, ({"length": 1.0, "width": None}, {"error": "kind null_value"})])
