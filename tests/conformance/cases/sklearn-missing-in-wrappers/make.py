"""Models that wrap several pipelines whose encoders know a missing text as None: to them NaN is an unknown category."""

import joblib
import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tests.support.conformance import write

draw = np.random.default_rng(0)
contract = draw.choice(["month", "year", None], 300).astype(object)
frame = pd.DataFrame({"tenure": draw.uniform(0, 60, 300), "contract": contract})
gone = np.where(
    frame.contract.isna() * 1.5 - frame.tenure / 60 + draw.normal(0, 0.5, 300) > 0, "leaves", "stays"
)


def pipeline():
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["contract"]), remainder="passthrough"
    )
    return make_pipeline(encode, LogisticRegression())


models = {
    "calibrated": CalibratedClassifierCV(pipeline(), cv=2),
    "stacked": StackingClassifier([("a", pipeline()), ("b", pipeline())], cv=2),
    "voting": VotingClassifier([("a", pipeline()), ("b", pipeline())], voting="soft"),
    "one": OneVsRestClassifier(pipeline()),
    "frozen": CalibratedClassifierCV(FrozenEstimator(pipeline().fit(frame, gone))),
}
rows = frame.head(12)
for name, model in models.items():
    joblib.dump(model.fit(frame, gone), f"{name}.joblib")
write(rows, **{name: model.predict_proba(rows) for name, model in models.items()})
