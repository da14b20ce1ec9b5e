"""Pipelines of scikit-learn as its converter writes them: trees, an ensemble in another, several targets, clusters."""

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, IsolationForest, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from tests.support.conformance import write

data = load_iris()
x, names = data.data.astype(np.float32), data.target_names[data.target]
boosts = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)
network = MLPClassifier((4,), max_iter=20, random_state=0)
vote = VotingClassifier(
    [("line", LogisticRegression()), ("net", network)], voting="soft", flatten_transform=False
)
models = {
    "boosts": make_pipeline(StandardScaler(), boosts).fit(x, names),
    "vote": vote.fit(x, data.target * 10 - 7),
    "two": MultiOutputRegressor(DecisionTreeRegressor(max_depth=3)).fit(x, np.c_[x[:, 0] * 2, -x[:, 1]]),
    "odd": IsolationForest(n_estimators=5, random_state=0).fit(x),
    "groups": KMeans(3, n_init=1, random_state=0).fit(x),
    "binary": make_pipeline(PolynomialFeatures(2), LogisticRegression()).fit(x, names == "virginica"),
}
rows, said = x[::13], {}
for name, model in models.items():
    options = {"zipmap": name == "vote"} if name in ("boosts", "vote", "binary") else {}
    target = {"": 17, "ai.onnx.ml": 3}
    made = to_onnx(model, x[:1], options={id(model): options} if options else None, target_opset=target)
    with open(f"{name}.onnx", "wb") as out:
        out.write(made.SerializeToString())
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    said[name] = session.run(None, {"X": rows})
write(
    {"x": rows},
    kind=said["boosts"][0],
    odds=said["boosts"][1],
    code=said["vote"][0],
    by_code=[[one[code] for code in sorted(one)] for one in said["vote"][1]],
    two=said["two"][0],
    outlier=said["odd"][0][:, 0],
    score=said["odd"][1][:, 0],
    group=said["groups"][0],
    away=said["groups"][1],
    is_virginica=said["binary"][0],
    share=said["binary"][1],
)
