"""A pipeline that takes texts, not rows of features."""

import joblib
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from tests.support.conformance import write

texts = [
    "the cat sat",
    "a dog and a cat",
    "stocks fell again",
    "the market rose",
    "a cat market",
    "dogs bark",
]
model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(
    texts, ["pets", "pets", "money", "money", "money", "pets"]
)
joblib.dump(model, "topic.joblib")
rows = [*texts, "", "größer als", "the the the cat"]
write({"text": rows}, topic=model.predict(rows), odds=model.predict_proba(rows))
