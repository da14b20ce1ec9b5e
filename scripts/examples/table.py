"""The examples, one line each."""

from __future__ import annotations

from scripts.example import Example
from scripts.examples.streams import Stream
from scripts.layout import BUILD, ROOT
from scripts.members import DIGITS

_PICTURES = str(BUILD / "examples" / "detection" / "images" / "*")

_OF_CAPTIONS = ("train.py", "pictures.py")
_PICTURES_BELOW = {"pictures": str(BUILD / "examples" / "captions")}

EXAMPLES = (
    DIGITS,
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
    Example("calls", java="calls.Calls", scored=96, failed=1, summary=True),
    Example("fraud", java="fraud.Fraud", scored=20_000, sources=("train.py", "payments.py"), summary=True),
    Example(
        "detection",
        java="detection.Detection",
        scored=3,
        failed=1,
        parquet=True,
        key="file",
        rows="images",
        flags={"input": _PICTURES},
    ),
    Example(
        "detection_keyed",
        java="detection.DetectionKeyed",
        scored=3,
        failed=1,
        of="detection",
        script="keyed.py",
        ensemble="detection.yaml",
        key="file",
        rows="images",
        flags={"input": _PICTURES},
        beam_yaml=False,
    ),
    Example(
        "captions",
        java="captions.Captions",
        scored=120,
        failed=2,
        sources=_OF_CAPTIONS,
        flags=_PICTURES_BELOW,
        summary=True,
    ),
    Example(
        "captions_questions",
        java="captions.Questions",
        scored=120,
        of="captions",
        ensemble="questions.yaml",
        script="questions.py",
        rows="questions.jsonl",
        sources=_OF_CAPTIONS,
        flags=_PICTURES_BELOW,
        summary=True,
    ),
    Example(
        "captions_retrieval",
        java="captions.Retrieval",
        scored=48,
        of="captions",
        ensemble="retrieval.yaml",
        script="retrieval.py",
        rows="retrieval.jsonl",
        sources=_OF_CAPTIONS,
        flags=_PICTURES_BELOW,
        summary=True,
    ),
    Example("text", java="text.Text", scored=84, sources=("train.py", "texts.py"), summary=True),
    Example(
        "text_labels",
        java="text.Text",
        scored=84,
        of="text",
        ensemble="text.yaml",
        sources=("train.py", "texts.py"),
        flags={"off": "summary,translation,keywords"},
        summary=True,
    ),
    Example(
        "triage",
        java="triage.Triage",
        scored=120,
        sources=("train.py", "tickets.py", "triage.yaml"),
        served="reader",
        summary=True,
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
