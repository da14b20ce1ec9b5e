"""Numbers as Go, C++ and JavaScript write them; what each is, Python's own fractions say."""

import json
import struct
from fractions import Fraction


def single(number):
    """Rounds to the nearest number of 32 bits."""
    return struct.unpack("f", struct.pack("f", number))[0]


ROWS = [
    ("100000000000000000000", "3", "0.1", ["1", "2.5"], "1"),
    ("1", "3.0", "3", ["100000000000000000000"], "2.0"),
    ("-100000000000000000000", "1e3", "16777217", [], "-1E2"),
    ("9007199254740993", "9007199254740993", "1e-50", ["0.10000000000000001"], "9.007199254740992e15"),
    ("1e308", "-9223372036854775808", "-0.0", ["-0", "3"], "9223372036854775807"),
]
with open("rows.jsonl", "w") as rows, open("expected.jsonl", "w") as expected:
    for x, n, f, many, count in ROWS:
        row = f'{{"x": {x}, "n": {n}, "f": {f}, "many": [{", ".join(many)}], "counts": {{"k": {count}}}}}'
        rows.write(row + "\n")
        answers = {
            "y": float(Fraction(x)),
            "m": int(Fraction(n)),
            "g": single(float(Fraction(f))),
            "all": [float(Fraction(one)) for one in many],
            "c": {"k": int(Fraction(count))},
        }
        expected.write(json.dumps(answers) + "\n")
