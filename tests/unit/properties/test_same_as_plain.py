"""Any acyclic graph of cheap nodes gives what plain Python gives, on every way that rows can take."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings

from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.registry import KINDS
from tests.unit.properties.graphs import REQUIRED, Case, cases
from tests.unit.properties.plain import Outcome, Row, is_as_plain
from tests.unit.properties.ways import by_arrow, by_rows

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, for infinite numbers
few = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
WAYS: Mapping[str, Callable[[EnsembleGraph, Sequence[Row]], Outcome]] = {
    "rows": by_rows,
    "rows in stages": functools.partial(by_rows, fused=False),
    "arrow": lambda graph, rows: by_arrow(graph, rows)[0],
    "arrow in stages": lambda graph, rows: by_arrow(graph, rows, fused=False)[0],
}


@pytest.mark.parametrize("way", WAYS)
@few
@given(cases())
def test_a_graph_gives_what_plain_python_gives(way: str, case: Case) -> None:
    graph = check_text(case.text, KINDS, Files("/"))
    is_as_plain(case.nodes, case.rows, REQUIRED, WAYS[way](graph, case.rows))
