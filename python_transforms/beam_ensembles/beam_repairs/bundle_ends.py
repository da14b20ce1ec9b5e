"""Bundles that end as soon as they have given all their rows. Written for Beam 2.77 (``statesampler``)."""

from __future__ import annotations

from typing import Any, Final

from apache_beam.runners.worker import statesampler

_SAMPLING_MILLISECONDS: Final = 10
"""How often Beam looks what a bundle is doing, for its metrics of time. At the end of a bundle it waits for the next
look: with its own 200 up to a fifth of what the bundle took, in which Prism, which has all rows, keeps a core busy."""


def install() -> None:
    """Set the period of the samplers that Beam's harness makes; nothing else sets it."""
    make: Any = statesampler.StateSampler.__init__
    make.__defaults__ = (_SAMPLING_MILLISECONDS,)
