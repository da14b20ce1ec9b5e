"""What transformers give: arrays, sparse matrices, DataFrames."""

import joblib
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.support.conformance import write

x, _ = load_iris(return_X_y=True)
colours = np.array([["red"], ["green"]], dtype=object)
parts, groups = PCA(2).fit(x), KMeans(3, n_init=1, random_state=0).fit(x)
hot, framed = (
    OneHotEncoder(handle_unknown="ignore").fit(colours),
    StandardScaler().set_output(transform="pandas").fit(x),
)
for name, model in {"parts": parts, "groups": groups, "hot": hot, "framed": framed}.items():
    joblib.dump(model, f"{name}.joblib")
rows, colour = x[::17], ["red", "green", "blue"] * 3
write(
    {"x": rows, "colour": colour},
    parts=parts.transform(rows),
    far=groups.transform(rows),
    group=groups.predict(rows),
    hot=hot.transform(np.array(colour, dtype=object).reshape(-1, 1)).toarray(),
    framed=framed.transform(rows).to_numpy(),
)
