"""Gradient boosting that encodes a text category itself; an unseen one is missing to it."""

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from tests.support.conformance import write

draw = np.random.default_rng(5)
frame = pd.DataFrame({"colour": draw.choice(["red", "green", "blue"], 300), "n": draw.normal(size=300)})
encode = make_column_transformer(
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), ["colour"]),
    remainder="passthrough",
)
model = make_pipeline(encode, HistGradientBoostingRegressor(categorical_features=[0], random_state=0))
model.fit(frame, (frame.colour == "red") * 3 + frame.n)
joblib.dump(model, "price.joblib")
rows = pd.concat([frame.head(6), pd.DataFrame({"colour": ["", "violet"], "n": [0.0, 0.0]})])
write(rows, price=model.predict(rows))
