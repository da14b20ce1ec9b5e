"""The line of log of a request names the ensemble where the pipeline's name for the step says nothing."""

from __future__ import annotations

import logging

import pytest

from beam_ensembles_service.requests.log import RequestLog


@pytest.mark.parametrize(
    ("name", "ensemble", "said"),
    [
        ("external0", "flowers", "expanded 'flowers'"),
        ("External", "flowers", "expanded 'flowers'"),
        ("Score the flowers", "flowers", "expanded 'Score the flowers'"),
        ("external1", None, "expanded 'external1'"),
    ],
)
def test_the_line_names_the_step(
    name: str, ensemble: str | None, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    line = RequestLog(name, None, ensemble)
    with caplog.at_level(logging.INFO, logger="beam_ensembles_service.request_log"):
        line.expanded()
    assert caplog.messages == [said]
