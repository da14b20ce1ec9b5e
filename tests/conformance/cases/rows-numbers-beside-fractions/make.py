"""Whole numbers beside fractions in expressions: Python's own comparisons of the two, which are exact."""

import json

PAIRS = [
    (2**53 + 1, 2.0**53),
    (2**53, 2.0**53),
    (-(2**53) - 1, -(2.0**53)),
    (2**63 - 1, 2.0**63),
    (-(2**63), -(2.0**63)),
    (7, 7.5),
    (7, 1e300),
]
with open("rows.jsonl", "w") as rows, open("expected.jsonl", "w") as expected:
    for n, x in PAIRS:
        rows.write(json.dumps({"n": n, "x": x}) + "\n")
        answers = {"same": n == x, "less": n < x, "at_most": n <= x, "greatest": float(max(n, x))}
        if max(n, x) != answers["greatest"]:
            answers = {"error": "chosen expression_failed"}
        expected.write(json.dumps(answers) + "\n")
