"""One ensemble with every part of the language, and what plain Python says of the same rows.

``write`` makes ``language.yaml``, its models and ``language.json`` in a folder: a list of ``{row, expected}`` or
``{row, error}``, computed by scikit-learn and plain Python, a row at a time. The digest of ``provenance`` is left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import joblib
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from tests.support.models import Array, iris
from tests.support.rendezvous import assign

_NAMES: Final = ("setosa", "versicolor", "virginica")
_CODES: Final = ("setosa", "virginica")
_SURE: Final = 0.95
_ARMS: Final = {"a": 60, "b": 40}

_TEXT: Final = """\
# Every part of the language: routes, conditions, a cascade, failures that do not hurt, nulls, lists of rows.
ensemble: language
inputs:
  user: "string?"
  x: "array<double>[4]"
  amount: double
  note: "string?"
  weight: "int32?"
  code: int64
  guess: string
  second: "string?"
  names: array<string>
nodes:
  arm: {route: split, salt: spring, arms: {a: 60, b: 40}, inputs: [user], outputs: {arm: string}}
  lane:
    route: switch
    cases: [{when: "amount > 100 AND note IS NOT NULL", arm: noted}, {when: "amount > 50", arm: large}]
    default: usual
    outputs: {lane: string}
  computed:
    apply: sql
    select:
      doubled: "amount * 2"
      initial: "UPPER(LEFT(note, 1))"
      is_noted: "note IS NOT NULL"
      heavier: "weight > 2"
  small: {model: sklearn, uri: small.joblib, method: predict_proba, inputs: [x], outputs: {small_p: "array<double>[3]"}}
  twin:
    model: sklearn
    uri: twin.joblib
    method: predict_proba
    shadow_of: small
    inputs: [x]
    outputs: {twin_p: "array<double>[3]"}
  podium: {apply: top_k, k: 2, inputs: [small_p], outputs: {places: {from: indices}, scores: {from: scores}}}
  winner: {apply: argmax, inputs: [small_p], outputs: {index: int64}}
  named: {apply: labels, labels: [setosa, versicolor, virginica], inputs: [index], outputs: {small_label: {}}}
  old: {model: sklearn, uri: old.joblib, when: "arm = 'a'", inputs: [x], outputs: {old_label: string}}
  new: {model: sklearn, uri: new.joblib, when: "arm = 'b'", inputs: [x], outputs: {new_label: string}}
  either: {combine: first, inputs: [old_label, new_label], outputs: {arm_label: string?}}
  big:
    model: sklearn
    uri: big.joblib
    method: predict_proba
    when: "scores[1] < 0.95"
    inputs: [x]
    outputs: {big_p: "array<double>[3]"}
  deep: {apply: argmax, when: "scores[1] < 0.95", inputs: [big_p], outputs: {deep: int64}}
  deep_name:
    apply: labels
    labels: [setosa, versicolor, virginica]
    when: "deep IS NOT NULL"
    inputs: [deep]
    outputs: {deep_label: {}}
  answer: {combine: first, inputs: [deep_label, small_label], outputs: {label: string}}
  coded: {apply: labels, labels: [setosa, virginica], on_error: nullify, inputs: [code], outputs: {coded: {}}}
  kind:
    apply: labels
    labels: [common, rare]
    on_error: {default: {kind: unknown}}
    inputs: [code]
    outputs: {kind: {}}
  vote:
    combine: hard_vote
    quorum: 2
    inputs: [guess, second, coded]
    outputs: {vote: {from: label}, share: {from: confidence}}
  best:
    combine: rank
    k: 2
    inputs: {candidates: names, scores: small_p}
    outputs: {best: "array<row<name: string, score: double>>"}
  second_best:
    combine: rank
    k: 1
    when: "lane = 'large'"
    inputs: {candidates: names, scores: small_p}
    outputs: {second_best: "array<row<name: string, score: double>>"}
  prompt:
    apply: text
    template: "{user}/{arm}: {label}"
    null_text: nobody
    inputs: [user, arm, label]
    outputs: {prompt: {}}
outputs:
- arm
- lane
- doubled
- initial
- is_noted
- heavier
- small_p
- twin_p
- places
- arm_label
- big_p
- deep
- label
- coded
- kind
- vote
- share
- best
- second_best
- prompt
"""


def write(folder: Path) -> None:
    """Writes the ensemble, its models and the rows into a folder."""
    models = _models()
    for name, model in models.items():
        joblib.dump(model, folder / f"{name}.joblib")
    (folder / "language.yaml").write_text(_TEXT, encoding="utf-8")
    rows = [_row(at) for at in range(60)]
    answers = [{"row": row, **_answer(row, models)} for row in rows]
    (folder / "language.json").write_text(json.dumps(answers, ensure_ascii=False), encoding="utf-8")


def _models() -> dict[str, Any]:
    flowers, names = iris(), np.array(_NAMES)
    return {
        "small": LogisticRegression(max_iter=500).fit(flowers.x, flowers.y),
        "twin": GaussianNB().fit(flowers.x, flowers.y),
        "old": RandomForestClassifier(5, random_state=0).fit(flowers.x, names[flowers.y]),
        "new": GaussianNB().fit(flowers.x, names[flowers.y]),
        "big": RandomForestClassifier(10, random_state=0).fit(flowers.x, flowers.y),
    }


def _row(at: int) -> dict[str, Any]:
    x: Array = iris().x[(at * 7) % 150]
    row: dict[str, Any] = {
        "id": at,
        "user": None if at % 11 == 5 else f"användare {at % 9}",
        "x": x.tolist(),
        "amount": at * 2.5,
        "note": None if at % 3 == 0 else ("ä note", "note")[at % 2],
        "weight": None if at % 4 == 0 else at % 5,
        "code": at % 3,
        "guess": _NAMES[at % 3],
        "second": None if at % 5 == 0 else _NAMES[at % 2],
        "names": [f"{name} {at}" for name in _NAMES],
        "tags": {} if at % 2 else {"at": at, "größe": -at},
    }
    if at == 17:
        row["x"] = row["x"][:3]
    if at == 31:
        row["names"] = row["names"][:2]
    return row


def _answer(row: Mapping[str, Any], models: Mapping[str, Any]) -> dict[str, Any]:
    if len(row["x"]) != 4:
        return {"error": {"node": "", "code": "wrong_length"}}
    coded = _CODES[row["code"]] if row["code"] < len(_CODES) else None
    members = [member for member in (row["guess"], row["second"], coded) if member is not None]
    if len(members) < 2:
        return {"error": {"node": "vote", "code": "quorum_missed"}}
    if len(row["names"]) != len(_NAMES):
        return {"error": {"node": "best", "code": "misaligned"}}
    votes = Counter(members)
    vote = min(votes, key=lambda name: (-votes[name], name))
    x = np.array([row["x"]])
    small = models["small"].predict_proba(x)[0].tolist()
    ranked: Sequence[int] = sorted(range(3), key=lambda at: -small[at])
    best = [{"name": row["names"][at], "score": small[at]} for at in ranked[:2]]
    unsure = max(small) < _SURE
    big = models["big"].predict_proba(x)[0].tolist() if unsure else None
    deep = None if big is None else int(np.argmax(big))
    user, note, weight = row["user"], row["note"], row["weight"]
    arm = assign([None if user is None else user.encode()], "spring", _ARMS)
    lane = "noted" if row["amount"] > 100 and note is not None else "large" if row["amount"] > 50 else "usual"
    label = _NAMES[ranked[0] if deep is None else deep]
    return {
        "expected": {
            "arm": arm,
            "lane": lane,
            "doubled": row["amount"] * 2,
            "initial": None if note is None else note[0].upper(),
            "is_noted": note is not None,
            "heavier": None if weight is None else weight > 2,
            "small_p": small,
            "twin_p": models["twin"].predict_proba(x)[0].tolist(),
            "places": ranked[:2],
            "arm_label": str(models["old" if arm == "a" else "new"].predict(x)[0]),
            "big_p": big,
            "deep": deep,
            "label": label,
            "coded": coded,
            "kind": ("common", "rare", "unknown")[row["code"]],
            "vote": vote,
            "share": votes[vote] / len(members),
            "best": best,
            "second_best": best[:1] if lane == "large" else None,
            "prompt": f"{user or 'nobody'}/{arm}: {label}",
            "provenance": {
                "ensemble": "language",
                "route": {"arm": arm, "lane": lane},
                "errors_ignored": [] if coded else ["coded", "kind"],
            },
        }
    }
