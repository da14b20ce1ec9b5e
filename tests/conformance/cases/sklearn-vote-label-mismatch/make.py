"""A vote that lists a class which its member does not have."""

import joblib
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

data = load_iris()
joblib.dump(GaussianNB().fit(data.data, data.target_names[data.target]), "a.joblib")
