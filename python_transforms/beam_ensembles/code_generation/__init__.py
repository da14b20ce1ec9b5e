"""Source code of an ensemble's rows, for Go, Java and Python."""

from __future__ import annotations

from beam_ensembles.code_generation.files import is_current as is_current
from beam_ensembles.code_generation.files import write as write
from beam_ensembles.code_generation.language import CannotGenerate as CannotGenerate
from beam_ensembles.code_generation.language import Source as Source
from beam_ensembles.code_generation.languages import LANGUAGES as LANGUAGES
from beam_ensembles.code_generation.rows import EnsembleRows as EnsembleRows
from beam_ensembles.code_generation.rows import rows_of as rows_of
