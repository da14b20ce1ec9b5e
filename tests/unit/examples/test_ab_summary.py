"""The intervals of the A/B test's summary."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from examples.ab_test.summary import arms, difference, main, share


def test_a_share_has_wilsons_interval() -> None:
    """81 of 263: Newcombe, Statistics in Medicine 17 (1998), pages 857 to 872, table I, method 3."""
    assert share(81, 263)[2:] == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_a_difference_has_newcombes_interval() -> None:
    """56 of 70 and 48 of 80: Newcombe, pages 873 to 890, table II, method 10."""
    assert difference(share(56, 70), share(48, 80)) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_rows_are_counted_by_arm() -> None:
    rows = [("champion", 1), ("champion", 2), ("challenger", 1)]
    found = arms(json.dumps({"id": 0, "arm": arm, "digit": digit, "truth": 1}) for arm, digit in rows)
    assert {arm: one[:2] for arm, one in found.items()} == {"champion": (1, 2), "challenger": (1, 1)}


@pytest.mark.parametrize(
    ("right", "verdict"),
    [((900, 990), "better"), ((990, 900), "worse"), ((950, 951), "not shown to be another")],
)
def test_the_verdict_is_that_of_the_interval(
    right: tuple[int, int],
    verdict: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [
        json.dumps({"id": at, "arm": arm, "digit": int(at < count), "truth": 1})
        for arm, count in zip(("champion", "challenger"), right, strict=True)
        for at in range(1000)
    ]
    (tmp_path / "scored.jsonl").write_text("\n".join(lines))
    monkeypatch.setattr(sys, "argv", ["summary.py", str(tmp_path / "scored.jsonl")])
    main()
    assert capsys.readouterr().out.splitlines()[-1].endswith(f": {verdict}")
