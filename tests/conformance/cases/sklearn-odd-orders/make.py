"""A model of a DataFrame, its columns in another order or other columns, and one that knows no names."""

import joblib
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from tests.support.conformance import write

names = ["height", "width", "depth"]
x = pd.DataFrame(np.random.default_rng(5).normal(size=(60, 3)), columns=names)
y = x @ [1.0, 10.0, 100.0]
boxes, sizes = LinearRegression().fit(x, y), LinearRegression().fit(x.to_numpy(), y)
joblib.dump(boxes, "boxes.joblib")
joblib.dump(sizes, "sizes.joblib")
rows = x.iloc[:12]
swapped = rows.rename(columns={"width": "depth", "depth": "width"})[names]
write(
    rows,
    by_name=boxes.predict(rows),
    swapped=boxes.predict(swapped),
    by_position=sizes.predict(rows.to_numpy()),
)
