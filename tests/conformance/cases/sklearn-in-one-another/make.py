"""Ensembles of scikit-learn's own, a support vector machine, and a network of 32 bits."""

import joblib
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tests.support.conformance import write

data = load_iris()
x, names = data.data, data.target_names[data.target]
members = [("tree", DecisionTreeClassifier(max_depth=2, random_state=0)), ("bayes", GaussianNB())]
voting = VotingClassifier(members).fit(x, names)
calibrated = [*members, ("margins", CalibratedClassifierCV(LinearSVC(random_state=0), cv=2))]
stacked = StackingClassifier(calibrated, LogisticRegression(), cv=2).fit(x, names)
machine = SVC().fit(x, names)
network = MLPClassifier((5,), max_iter=30, random_state=0).fit(x.astype(np.float32), names)
for name, model in {"voting": voting, "stacked": stacked, "machine": machine, "network": network}.items():
    joblib.dump(model, f"{name}.joblib")
rows = x[::17]
write(
    {"x": rows},
    voting=voting.predict(rows),
    stacked=stacked.predict_proba(rows),
    margins=machine.decision_function(rows),
    network=network.predict_proba(rows),
)
