"""An encoder that knows a missing text as None, behind a step that makes another number of columns."""

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from tests.support.conformance import write

draw = np.random.default_rng(0)
contract = draw.choice(["month", "year", None], 200).astype(object)
frame = pd.DataFrame({"days": draw.integers(0, 3000, 200), "contract": contract})
gone = np.where(
    frame.contract.isna() * 1.5 + frame.days / 2500 + draw.normal(0, 0.5, 200) > 1, "leaves", "stays"
)
doubled = FunctionTransformer(pd.DataFrame.assign, kw_args={"twice": 2})
encode = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["contract"]), ("passthrough", ["days"])
)
model = make_pipeline(doubled, encode, SelectKBest(k=3), LogisticRegression()).fit(frame, gone)
joblib.dump(model, "m.joblib")
write(frame.head(12), m=model.predict_proba(frame.head(12)))
