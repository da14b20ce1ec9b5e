"""A pipeline on a DataFrame of text, truth values, whole and other numbers; the node lists them in another order."""

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.support.conformance import write

draw = np.random.default_rng(3)
frame = pd.DataFrame(
    {
        "city": draw.choice(["Bonn", "Köln", "Aachen"], 200),
        "rooms": draw.integers(1, 6, 200),
        "new": draw.random(200) > 0.5,
        "size": draw.uniform(20, 200, 200),
    }
)
price = frame["size"] * 3 + frame.rooms * 10 + frame.new * 50 + (frame.city == "Bonn") * 30
columns = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["city"]),
    (StandardScaler(), ["size", "rooms"]),
    remainder="passthrough",
)
model = make_pipeline(columns, Ridge()).fit(frame, price)
joblib.dump(model, "price.joblib")
rows = pd.concat(
    [
        frame.head(7),
        pd.DataFrame({"city": ["Ulm", ""], "rooms": [2, 3], "new": [True, False], "size": [0.0, 1e6]}),
    ]
)
write(rows, price=model.predict(rows))
