"""Truth values beside numbers, in a DataFrame and in an array: scikit-learn, XGBoost, LightGBM, CatBoost."""

import catboost
import joblib
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from tests.support.conformance import write

rng = np.random.default_rng(0)
frame = pd.DataFrame(
    {"member": rng.random(60) > 0.5, "age": rng.normal(40, 9, 60), "visits": rng.integers(0, 5, 60)}
)
y = ((frame["member"] & (frame["age"] > 40)) | (frame["visits"] > 3)).astype(int).to_numpy()
array = frame.to_numpy(np.float64)
coded = make_column_transformer((OneHotEncoder(), ["member"]), remainder="passthrough")
by_names = make_pipeline(coded, LogisticRegression(max_iter=500)).fit(frame, y)
by_place = DecisionTreeClassifier(max_depth=3, random_state=0).fit(array, y)
boosted = xgboost.XGBClassifier(n_estimators=5).fit(frame, y)
light = lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=2, verbose=-1).fit(frame, y)
cat = catboost.CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False).fit(frame, y)

joblib.dump(by_names, "frame.joblib")
joblib.dump(by_place, "array.joblib")
boosted.save_model("boosted.json")
light.booster_.save_model("light.txt")
cat.save_model("cat.cbm")
few = frame[:7]
write(
    {name: few[name] for name in few},
    frame=by_names.predict_proba(few),
    array=by_place.predict_proba(array[:7]),
    boosted=boosted.predict_proba(few)[:, 1],
    light=light.predict_proba(few)[:, 1],
    cat=cat.predict_proba(few),
)
