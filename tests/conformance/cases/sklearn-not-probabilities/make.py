"""A member whose scores are no probabilities."""

import joblib
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

data = load_iris()
names = data.target_names[data.target]
joblib.dump(LinearSVC(random_state=0).fit(data.data, names), "a.joblib")
joblib.dump(LogisticRegression(max_iter=500).fit(data.data, names), "b.joblib")
