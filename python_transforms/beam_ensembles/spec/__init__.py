"""Text of an ensemble file to frozen values."""

from __future__ import annotations

from beam_ensembles.spec.load import examine_text, load_file, load_text
from beam_ensembles.spec.model import EnsembleSpec, Inputs, NodeSpec, OutputSpec

__all__ = ["EnsembleSpec", "Inputs", "NodeSpec", "OutputSpec", "examine_text", "load_file", "load_text"]
