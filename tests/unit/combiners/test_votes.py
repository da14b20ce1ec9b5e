"""Votes give what scikit-learn's VotingClassifier gives, value for value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from tests.support.nodes import load_node, types_of

Values = np.ndarray[Any, np.dtype[Any]]
HERE = Path(__file__).parent
BALLOT = {"label": "string", "confidence": "double"}
WEIGHTS = [None, [1, 2, 1], [0.5, 0.25, 0.25], [1, 0, 0]]


def voting(data: Any, names: list[str], kind: str, weights: list[float] | None) -> tuple[Any, Values]:
    """Trains scikit-learn's own vote of three members on text labels; gives it and what it was trained on."""
    members = [
        ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
        ("bayes", GaussianNB()),
        ("forest", RandomForestClassifier(3, max_depth=2, random_state=0)),
    ]
    model = VotingClassifier(members, voting=kind, weights=weights)
    return model.fit(data.data, np.array(names)[data.target]), data.data


DATA = [
    (load_digits(), ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]),
    (load_iris(), ["setosa", "versicolor", "virginica"]),
    (load_breast_cancer(), ["malignant", "benign"]),
]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize(("data", "names"), DATA, ids=["digits", "iris", "cancer"])
def test_a_soft_vote_is_scikit_learns(data: Any, names: list[str], weights: list[float] | None) -> None:
    model, x = voting(data, names, "soft", weights)
    columns = {f"p{at}": member.predict_proba(x) for at, member in enumerate(model.estimators_)}
    node = {
        "combine": "soft_vote",
        "inputs": list(columns),
        "labels": model.classes_.tolist(),
        "outputs": BALLOT | {"shares": {"from": "probabilities"}},
    } | ({"weights": weights} if weights else {})
    inputs = dict.fromkeys(columns, f"array<double>[{len(names)}]")
    answer = load_node(HERE, inputs, node)(columns)
    wanted = model.predict_proba(x)
    np.testing.assert_array_equal(answer["shares"], wanted, strict=True)
    np.testing.assert_array_equal(answer["confidence"], wanted.max(axis=1), strict=True)
    assert answer["label"].tolist() == model.predict(x).tolist()


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize(("data", "names"), DATA, ids=["digits", "iris", "cancer"])
def test_a_hard_vote_is_scikit_learns(data: Any, names: list[str], weights: list[float] | None) -> None:
    model, x = voting(data, names, "hard", weights)
    texts = [model.le_.inverse_transform(member.predict(x)) for member in model.estimators_]
    columns = {f"m{at}": text.astype(object) for at, text in enumerate(texts)}
    node = {"combine": "hard_vote", "inputs": list(columns), "outputs": BALLOT}
    node |= {"weights": weights} if weights else {}
    answer = load_node(HERE, dict.fromkeys(columns, "string"), node)(columns)
    assert answer["label"].tolist() == model.predict(x).tolist()
    listed = load_node(HERE, dict.fromkeys(columns, "string"), node | {"labels": sorted(names)})(columns)
    assert listed["label"].tolist() == answer["label"].tolist()
    np.testing.assert_array_equal(listed["confidence"], answer["confidence"])


class Fixed(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose answers are given: the row's feature says which."""

    def __init__(self, answers: Any = None) -> None:
        self.answers = answers

    def fit(self, x: Any, y: Any) -> Fixed:
        """Remembers the classes."""
        self.classes_ = np.unique(y)
        self.n_features_in_ = x.shape[1]
        return self

    def predict(self, x: Any) -> Values:
        """Returns the answer of each row."""
        found: Values = np.asarray(self.answers)[x[:, 0].astype(int)]
        return found

    def predict_proba(self, x: Any) -> Values:
        """Returns the answer of each row."""
        return self.predict(x)


WEIGHT = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0])


@st.composite
def ballots(draw: st.DrawFn) -> tuple[Values, list[float] | None]:
    """Votes of some members for four classes on some rows, with many ties, and weights or none."""
    members, rows = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    votes = draw(arrays(np.int64, (members, rows), elements=st.integers(0, 3)))
    weights = draw(
        st.none() | st.lists(WEIGHT, min_size=members, max_size=members).filter(lambda w: sum(w) > 0)
    )
    return votes, weights


def theirs(kind: str, answers: Values, weights: list[float] | None) -> tuple[Any, Values]:
    """Returns scikit-learn's vote over given answers, and its features."""
    x = np.arange(answers.shape[1])[:, None]
    members = [(f"m{at}", Fixed(list(one))) for at, one in enumerate(answers)]
    model = VotingClassifier(members, voting=kind, weights=weights)
    return model.fit(np.arange(4)[:, None], np.arange(4)), x


@given(ballots())
def test_ties_of_hard_votes_go_where_scikit_learn_lets_them_go(
    ballot: tuple[Values, list[float] | None],
) -> None:
    votes, weights = ballot
    columns = {f"m{at}": vote for at, vote in enumerate(votes)}
    node = {
        "combine": "hard_vote",
        "inputs": list(columns),
        "outputs": {"label": "int64", "confidence": "double"},
    }
    node |= {"weights": weights} if weights else {}
    answer = load_node(HERE, dict.fromkeys(columns, "int64"), node)(columns)
    model, x = theirs("hard", votes, weights)
    assert answer["label"].tolist() == model.predict(x).tolist()
    assert np.all((answer["confidence"] > 0) & (answer["confidence"] <= 1 + 1e-12))


@given(ballots(), st.booleans())
def test_ties_of_soft_votes_go_where_scikit_learn_lets_them_go(
    ballot: tuple[Values, list[float] | None], single: bool
) -> None:
    votes, weights = ballot
    probabilities = np.eye(4, dtype=np.float32 if single else np.float64)[votes]
    columns = {f"m{at}": one for at, one in enumerate(probabilities)}
    element = "float" if single else "double"
    outputs = {"label": None, "shares": {"from": "probabilities", "type": f"array<{element}>[4]"}}
    node = {"combine": "soft_vote", "inputs": list(columns), "outputs": outputs}
    node |= {"weights": weights} if weights else {}
    answer = load_node(HERE, dict.fromkeys(columns, f"array<{element}>[4]"), node)(columns)
    model, x = theirs("soft", probabilities, weights)
    assert answer["label"].tolist() == model.predict(x).tolist()
    np.testing.assert_array_equal(answer["shares"], model.predict_proba(x).astype(probabilities.dtype))


@given(ballots(), st.integers(0, 11))
def test_a_rows_answer_does_not_depend_on_its_batch(
    ballot: tuple[Values, list[float] | None], at: int
) -> None:
    votes, weights = ballot
    columns = {f"m{member}": vote for member, vote in enumerate(votes)}
    node = {
        "combine": "hard_vote",
        "inputs": list(columns),
        "outputs": {"label": "int64", "confidence": "double"},
    }
    node |= {"weights": weights} if weights else {}
    member = load_node(HERE, dict.fromkeys(columns, "int64"), node)
    at %= votes.shape[1]
    whole, alone = member(columns), member({name: vote[at : at + 1] for name, vote in columns.items()})
    assert {name: values[at] for name, values in whole.items()} == {name: v[0] for name, v in alone.items()}


@given(st.tuples(st.integers(1, 5), st.integers(20, 40)), st.randoms(use_true_random=False))
def test_many_labels_are_counted_as_few_are(shape: tuple[int, int], random: Any) -> None:
    votes = np.array(
        [[random.choice([random.randrange(9999), 7]) for _ in range(shape[1])] for _ in range(shape[0])]
    )
    columns = {f"m{at}": vote for at, vote in enumerate(votes)}
    node = {"combine": "hard_vote", "inputs": list(columns), "outputs": {"label": None, "confidence": None}}
    answer = load_node(HERE, dict.fromkeys(columns, "int64"), node)(columns)
    for row, label, share in zip(votes.T, answer["label"], answer["confidence"], strict=True):
        counts = np.bincount(row)
        assert label == np.argmax(counts)
        assert share == counts.max() / len(row)


def test_labels_say_who_wins_a_tie_and_give_every_share() -> None:
    columns = {name: np.array([vote], dtype=object) for name, vote in {"a": "no", "b": "yes"}.items()}
    node = {
        "combine": "hard_vote",
        "inputs": ["a", "b"],
        "labels": ["yes", "no", "maybe"],
        "outputs": {"label": None, "confidence": "float", "probabilities": None},
    }
    texts = dict.fromkeys(columns, "string")
    assert types_of(HERE, texts, node)["probabilities"] == "array<double>[3]"
    answer = load_node(HERE, texts, node)(columns)
    assert answer["label"].tolist() == ["yes"]
    assert answer["probabilities"].tolist() == [[0.5, 0.5, 0]]
    assert answer["confidence"].dtype == np.float32


def test_without_labels_a_soft_vote_gives_the_index_and_one_member_is_enough() -> None:
    node = {"combine": "soft_vote", "inputs": ["p"], "outputs": {"label": "int32", "confidence": None}}
    answer = load_node(HERE, {"p": "array<float>[2]"}, node)({"p": np.array([[0.25, 0.75]], np.float32)})
    np.testing.assert_array_equal(answer["label"], np.array([1], np.int32), strict=True)
    np.testing.assert_array_equal(answer["confidence"], np.array([0.75]), strict=True)
