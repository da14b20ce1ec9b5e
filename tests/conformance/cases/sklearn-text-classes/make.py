"""A pipeline of a scaler and a classifier whose classes are texts; one of the rows lacks a number."""

import json

import joblib
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

data = load_iris(as_frame=True)
x = data.data[["petal length (cm)", "petal width (cm)"]]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, data.target_names[data.target])
joblib.dump(model, "kind.joblib")
rows = x.iloc[::13]
with open("rows.jsonl", "w") as out, open("expected.jsonl", "w") as expected:
    for (length, width), species, odds in zip(
        rows.to_numpy().tolist(),
        model.predict(rows).tolist(),
        model.predict_proba(rows).tolist(),
        strict=True,
    ):
        out.write(json.dumps({"length": length, "width": width}) + "\n")
        expected.write(json.dumps({"species": species, "odds": odds}) + "\n")
    out.write(json.dumps({"length": 1.0, "width": None}) + "\n")
    expected.write(json.dumps({"error": "kind null_value"}) + "\n")
