"""The examples, one line each."""

from __future__ import annotations

from scripts.example import Example
from scripts.examples.streams import Stream
from scripts.layout import BUILD, ROOT

EXAMPLES = (
    Example("ab_test", java="abtest.AbTest", scored=1200, summary=True),
    Example(
        "times_five",
        java="timesfive.TimesFive",
        scored=200,
        rows="rows.csv",
        sources=("train.py", "times_five.py"),
        allow_code=("times_five.*",),
    ),
    Example(
        "own_handler",
        java="ownhandler.OwnHandler",
        scored=540,
        ensemble="neighbours.yaml",
        allow_code=("neighbours.*",),
        flags={
            "typed": str(BUILD / "examples" / "own_handler" / "typed.jsonl"),
            "review": str(ROOT / "examples" / "own_handler" / "review.yaml"),
        },
    ),
)
STREAMS = (
    Stream(
        Example(
            "times_five_stream",
            java="timesfive.TimesFiveStream",
            scored=22,
            of="times_five",
            ensemble="times_five.yaml",
            script="stream.py",
            rows="rows.csv",
            sources=("train.py", "times_five.py"),
            allow_code=("times_five.*",),
        ),
        first="line-1.pt",
        newer="line-2.pt",
        seconds=44,
    ),
)
"""Those whose numbers arrive over time; they run in all languages at once."""
