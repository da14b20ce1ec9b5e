"""A grid search around a pipeline, saved with skops."""

import skops.io
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.support.conformance import write

data = load_iris()
x, names = data.data, data.target_names[data.target]
search = GridSearchCV(
    make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1]}, cv=2
)
model = search.fit(x, names).best_estimator_
skops.io.dump(model, "kind.skops")
write({"x": x[::17]}, kind=model.predict(x[::17]), odds=model.predict_proba(x[::17]))
