"""The options of the pipelines that requests are expanded in."""

from __future__ import annotations

import copy

import pytest
from apache_beam.options.pipeline_options import DebugOptions, PipelineOptions, StandardOptions

from beam_ensembles_service.requests.expansion import _NoFlags

OF_BEAM = [kind for kind in PipelineOptions.__subclasses__() if kind.__module__ == PipelineOptions.__module__]


@pytest.mark.parametrize("kind", OF_BEAM)
def test_a_view_has_the_defaults_of_beams_own(kind: type[PipelineOptions]) -> None:
    ours, beams = _NoFlags(flags=[]).view_as(kind), PipelineOptions(flags=[]).view_as(kind)
    assert type(ours) is kind
    assert ours.get_all_options() == beams.get_all_options()
    assert str(ours) == str(beams)


def test_views_share_their_values() -> None:
    options = _NoFlags(flags=[])
    options.view_as(DebugOptions).experiments = ["one"]
    assert options.view_as(DebugOptions).experiments == ["one"]
    assert options.view_as(StandardOptions).view_as(DebugOptions).experiments == ["one"]


def test_what_one_pipeline_sets_no_other_has() -> None:
    options = _NoFlags(flags=[])
    one, other = copy.deepcopy(options), copy.deepcopy(options)
    one.view_as(StandardOptions).resource_hints.append("min_ram=1GB")
    one.view_as(StandardOptions).streaming = True
    for unchanged in (other, options, _NoFlags(flags=[])):
        assert unchanged.view_as(StandardOptions).resource_hints == []
        assert not unchanged.view_as(StandardOptions).streaming
