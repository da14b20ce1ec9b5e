"""What SQL says of nulls, of operators beside each other, and of parts of texts; Python says the same."""

import itertools

from tests.support.conformance import write_pairs


def both(one, other):
    """AND of truths of which some are null."""
    return False if one is False or other is False else None if one is None or other is None else True


def either(one, other):
    """OR of truths of which some are null."""
    return True if one is True or other is True else None if one is None or other is None else False


def answers(a, b, n, t, x):
    """What SQL answers for a row."""
    positive = None if n is None else n > 0
    scored = a is not True or (b is not False and x > 0)
    none = n is None or t is None
    return {
        "not_true": a is not True,
        "is_false": positive is False,
        "changed": both(a is not b, positive),
        "one_of_two": (positive is True) != (x > 0),
        "known": either(None if n is None else n in (1, 5), a),
        "left": None if none else t[:n],
        "right": None if none else t[-abs(n) :] if n else "",
        "part": None if none else t[max(n - 1, 0) : max(n + 2, 0)],
        "cut": int(x),
        "twice": x * 2 if scored else None,
    }


truths, numbers, texts, fractions = (
    (None, True, False),
    (None, -2, 0, 1, 9),
    (None, "", "abcdef"),
    (-2.7, 2.7),
)
rows = itertools.product(truths, truths, numbers, texts, fractions)
write_pairs((dict(zip("abntx", row, strict=True)), answers(*row)) for row in rows)
