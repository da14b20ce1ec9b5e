"""The diagram of costs: round numbers at its axes, and names that one can read."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from beam_ensembles.evaluation.charts import cost_chart

NAME = re.compile(r'<text class="name" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">(\w+)<')


def test_names_of_equal_points_do_not_cover_each_other() -> None:
    points = [(f"member_{at}", 1.0 + at / 1000, 0.9) for at in range(6)]
    found = NAME.findall(cost_chart("cost", "accuracy", [("all", 5.0, 0.95), *points]))
    assert len(found) == 7
    for one, other in combinations(found, 2):
        same_side = one[2] == other[2] and abs(float(one[0]) - float(other[0])) < 20
        assert not same_side or abs(float(one[1]) - float(other[1])) >= 12, (one, other)


@pytest.mark.parametrize(
    ("costs", "qualities", "expected"),
    [
        ((0.0, 1.12), (0.17, 0.0534), "0 0.5 1 0.05 0.1 0.15"),
        ((1.0, 1.0), (1.0, 1.0), "0 0.5 1 0.96 0.98 1 1.02 1.04"),
        ((3.0, 250.0), (-40.0, 60.0), "0 100 200 -50 0 50"),
    ],
)
def test_the_axes_have_round_numbers(
    costs: tuple[float, float], qualities: tuple[float, float], expected: str
) -> None:
    drawn = cost_chart("cost", "quality", list(zip("ab", costs, qualities, strict=True)))
    assert re.findall(r'text-anchor="(?:middle|end)">(-?[\d.]+)<', drawn) == expected.split()
