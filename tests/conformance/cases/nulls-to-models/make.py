"""Models that were trained for missing values, among them a pipeline that knows a missing text as None."""

import joblib
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tests.support.conformance import write

draw = np.random.default_rng(1)
colour, number = draw.choice(["red", "green", "blue"], 400), draw.normal(size=400)
target = (colour == "red") * 3.0 + number
text, n = pd.Series(colour, dtype="object"), pd.Series(number)
text[::9], n[::7] = None, np.nan
frame = pd.DataFrame({"colour": text.astype("category"), "n": n})
boost = xgb.XGBRegressor(n_estimators=10, enable_categorical=True).fit(frame, target)
boost.save_model("boost.json")
hist = HistGradientBoostingRegressor(max_iter=9, random_state=0).fit(n.to_numpy().reshape(-1, 1), target)
joblib.dump(hist, "hist.joblib")
plain = pd.DataFrame({"colour": text, "n": n})
words = make_pipeline(
    SimpleImputer(strategy="constant", fill_value="none", missing_values=None),
    OneHotEncoder(handle_unknown="ignore"),
)
pipe = make_pipeline(make_column_transformer((words, ["colour"]), (SimpleImputer(), ["n"])), Ridge())
pipe.fit(plain, target)
joblib.dump(pipe, "pipe.joblib")

rows = pd.DataFrame(
    {
        "colour": pd.Series(["red", None, "blue", None, "green"], dtype="object"),
        "n": [0.5, 0.5, None, None, -1.25],
    }
)
typed = rows.assign(colour=pd.Categorical(rows.colour, categories=frame.colour.cat.categories))
boosted = boost.predict(typed)
write(
    rows,
    boost=boosted,
    classes=boosted,
    hist=hist.predict(rows.n.to_numpy(float).reshape(-1, 1)),
    pipe=pipe.predict(rows),
)
