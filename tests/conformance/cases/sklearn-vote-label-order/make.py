"""Two members whose text classes are sorted, and a vote that lists them in another order."""

import joblib
import skops.io
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from tests.support.conformance import write

data = load_iris()
names = data.target_names[data.target]
vote = VotingClassifier([("a", LogisticRegression(max_iter=500)), ("b", GaussianNB())], voting="soft")
vote.fit(data.data, names)
# The vote's own encoder gives its members numbers: members that are trained alone know the texts.
a, b = (member.fit(data.data, names) for member in (LogisticRegression(max_iter=500), GaussianNB()))
joblib.dump(a, "a.joblib")
skops.io.dump(b, "b.skops")
rows = data.data[::10]
write({"petals": rows}, species=vote.predict(rows), confidence=vote.predict_proba(rows).max(axis=1))
