"""A regressor of a text and a whole number as categories: those that it does not know fail, "" among them."""

import numpy as np
import pandas as pd
import xgboost as xgb

from tests.support.conformance import write_pairs

draw = np.random.default_rng(0)
colour, number = draw.choice(["red", "green", "blue"], 300), draw.normal(size=300)
doors = draw.choice([2, 3, 5], 300)
text = pd.Series(colour, dtype="object")
text[::10] = np.nan
frame = pd.DataFrame(
    {"colour": text.astype("category"), "doors": pd.Series(doors, dtype="category"), "n": number}
)
model = xgb.XGBRegressor(n_estimators=10, enable_categorical=True)
model.fit(frame, (colour == "red") * 3.0 + number + doors)
model.save_model("m.json")

rows = [
    ("blue", 3, 0.0),
    ("green", 5, 0.1),
    ("", 3, 0.0),
    ("violet", 3, 0.0),
    ("red", 4, 0.0),
    ("red", 2, 0.5),
    ("Red", 2, 0.5),
]
plain = pd.DataFrame(rows, columns=["colour", "doors", "n"])
typed = plain.assign(
    colour=pd.Categorical(plain.colour, frame.colour.cat.categories),
    doors=pd.Categorical(plain.doors, frame.doors.cat.categories),
)
failed = {"error": "price unknown_category"}
answers = zip(plain.to_dict("records"), model.predict(typed), typed.notna().all(axis=1), strict=True)
write_pairs((row, {"price": price, "again": price} if known else failed) for row, price, known in answers)
